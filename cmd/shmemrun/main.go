// Shmemrun starts the PEs of an OpenSHMEM program, on this machine or through ssh on others.
//
// This file reads the command line. Package runtime/bootstrap/launch does the work.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"libshmem"
	"libshmem/cmd/internal/manual"
	"libshmem/cmd/internal/options"
	"libshmem/cmd/internal/perf"
	"libshmem/cmd/internal/poller"
	"libshmem/fabric/chaos"
	"libshmem/runtime/bootstrap/launch"
)

var page = manual.Page{
	Name: "shmemrun", Aliases: []string{"oshrun"}, Program: true,
	Summary: "start the PEs of an OpenSHMEM program",
	Usage:   []string{"shmemrun -n N [options] [--] PROG ARGS"},
	Text: `Starts N processing elements (PEs) of PROG on this machine, or by ssh on those
of --host or --hostfile, and waits for them.`,
	Notes: `By default each PE is bound to an equal share of the cores, unless there are too
many PEs or another reason not to; --bind binds PEs in any case, --bind=none never.
The first lines of the log (SHMEM_LOG_LEVEL=info) name the binding, or the reason.

Without -n every slot of --host and --hostfile gets a PE. The library and PROG must
be at the same path on every machine, and ssh must not ask for anything. Without
--host the machines are those of an allocation of Slurm, PBS or LSF.

Standard input goes to PE 0. The exit status is that of the first PE that
fails (128 plus the signal's number if a signal killed it), 124 on a timeout, and
1 if the PEs' output could not be passed on.`,
	Examples: []manual.Example{
		{Command: "shmemrun -n 4 ./ring", Text: "Start four PEs on this machine:"},
		{Command: "shmemrun --host node1:8,node2:8 -x SHMEM_SYMMETRIC_SIZE=4g ./ring", Text: "Start eight PEs on each of two machines, with larger heaps:"},
		{Command: "shmemrun -n 4 --hosts 2 ./ring", Text: "Simulate two hosts on this machine, so that PEs use the network between them:"},
		{Command: "shmemrun -n 4 --report ./ring", Text: "Find out what took the time, and which PE waited for which:"},
	},
	SeeAlso: []string{"oshcc(1)", "shmem-doctor(1)", "shmem-trace(1)", "shmem(7)"},
}

// The errors of command lines that ask for the version, and for the description of the command.
var (
	errVersion   = errors.New("only the version is asked for")
	errDescribed = errors.New("only the description is asked for")
)

func main() { os.Exit(run(os.Args[1:])) }

// asShmemPerf is the first word by which bin/shmem-perf starts this program.
const asShmemPerf = "--as-shmem-perf"

// run does the work of main: it starts a job, or does one of the tasks for which other commands
// start this program (shmem-perf, an agent on another machine, cleaning up), and returns the exit
// status.
func run(args []string) int {
	if len(args) > 0 && args[0] == asShmemPerf {
		return perf.Run(args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	}
	if len(args) == 2 && args[0] == launch.CleanUp {
		if err := launch.Clean(os.Stdin, args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "shmemrun:", err)
			return launch.StatusFailure
		}
		return 0
	}
	if len(args) == 1 && args[0] == launch.AsAgent {
		return launch.Agent(os.Stdin, os.Stdout, os.Environ(), libDir())
	}
	var preload preloadOptions
	var remote hostOptions
	opt, err := parse(args, os.Environ(), &preload, &remote)
	switch {
	case errors.Is(err, pflag.ErrHelp), errors.Is(err, errDescribed):
		return 0
	case errors.Is(err, errVersion):
		fmt.Println(libshmem.Version)
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "shmemrun:", err)
		return launch.StatusUsage
	}
	if err := poller.Check(); err != nil {
		fmt.Fprintln(os.Stderr, "shmemrun:", err)
		return launch.StatusFailure
	}
	opt.Stdin, opt.Stdout, opt.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := launch.Run
	if remote.srun {
		start = func(opt *launch.Options) int { return runSrun(opt, preload.report) }
	}
	if !preload.report {
		return start(opt)
	}
	reporter, err := findReporter()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shmemrun:", err)
		return launch.StatusUsage
	}
	return runReporter(reporter, preload.trace, opt.PEs, start(opt), os.Stdout, os.Stderr)
}

// parse reads a command line into the options of a launch, into `preload`, the options for
// libshmem_preload.so, and into `remote`, the options for other machines.
func parse(args, env []string, preload *preloadOptions, remote *hostOptions) (*launch.Options, error) {
	opt := &launch.Options{Env: env, LibDir: libDir()}
	nvshmrun := len(args) > 0 && args[0] == asNvshmrun
	if nvshmrun {
		var err error
		if args, err = translateHydra(args[1:]); err != nil {
			return nil, err
		}
	}
	var (
		exports   []string
		mapName   string
		chaosText string
		links     string
		bind      string
		seconds   float64
		plan      chaos.Plan
	)
	fs := pflag.NewFlagSet("shmemrun", pflag.ContinueOnError)
	fs.SetInterspersed(false)
	fs.SortFlags = false
	fs.SetOutput(os.Stdout)
	fs.Usage = func() { page.Help(os.Stdout, fs) }
	fs.IntVarP(&opt.PEs, "pes", "n", 0, "number of PEs; -np is the same")
	fs.StringVar(&opt.Hosts, "hosts", "", "simulate `H` hosts, or a list of their sizes such as 3,1")
	remote.addFlags(fs)
	fs.StringVar(&mapName, "map", string(launch.Block), "distribute the PEs over the hosts: `block|cyclic`")
	fs.BoolVar(&opt.Netns, "host-netns", false, "give each simulated host a network namespace (needs root)")
	fs.StringVar(&links, "links", "", "connect those namespaces by `N[,rate=200mbit]` networks, eth0, eth1 and so on, and use them all")
	fs.StringVar(&chaosText, "chaos", "", "make the network misbehave as `SEED[,reorder=SHARE,delay=TIME,drop-peer=PE@TIME]` says, even on one host")
	preload.addFlags(fs)
	fs.StringArrayVarP(&exports, "export", "x", nil, "pass `VAR[=value]` to the PEs")
	fs.BoolVar(&opt.Tag, "tag-output", false, "begin each line of output with [PE]")
	fs.Float64Var(&seconds, "timeout", 0, "end the job after so many `seconds`, with status 124")
	fs.StringVar(&bind, "bind", string(launch.BindAuto), "bind PEs to processors: `HOW` is auto, none, share, core or numa")
	fs.Lookup("bind").NoOptDefVal = string(launch.BindShare)
	version := fs.Bool("version", false, "print the version alone")
	manual.Choices(fs, "bind", "auto", "none", "share", "core", "numa")
	manual.Files(fs, "trace", "hostfile", "prefix", "wdir", "ssh")
	if len(args) == 1 && args[0] == manual.Ask {
		described := page.With(fs)
		if nvshmrun {
			described = nvshmrunPage(described.Options)
		}
		return nil, cmp.Or(described.Describe(os.Stdout), errDescribed)
	}
	if err := fs.Parse(replaceNP(fs, args)); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, err
		}
		return nil, fmt.Errorf("%w (see shmemrun --help)", options.Explain(err))
	}
	if *version {
		return nil, errVersion
	}
	if fs.Changed("hosts") && opt.Hosts == "" {
		return nil, errors.New(`--hosts "": no number of hosts (say 2, or sizes as 3,1; leave it out for none)`)
	}
	if fs.Changed("timeout") {
		const longest = 100 * 365 * 24 * 3600.0 // 100 years, in seconds: a Duration has no room for 300
		if !(seconds > 0 && seconds <= longest) {
			return nil, fmt.Errorf("--timeout %v: not a number of seconds above 0 (leave it out for no timeout)", seconds)
		}
		opt.Timeout = time.Duration(seconds * float64(time.Second))
	}
	if err := remote.addMachines(fs, opt, exports); err != nil {
		return nil, err
	}
	if !fs.Changed("pes") && !strings.Contains(opt.Hosts, ",") && opt.Remote == nil && (!remote.srun || preload.report) {
		return nil, errors.New("the number of PEs is missing (say shmemrun -n N PROG ARGS)")
	}
	opt.Map, opt.Bind = launch.Map(mapName), launch.Bind(bind)
	if fs.Changed("links") {
		var err error
		if opt.Links, err = launch.ParseLinks(links); err != nil {
			return nil, err
		}
	}
	if fs.Changed("chaos") {
		var err error
		if plan, err = chaos.Parse(chaosText); err != nil {
			return nil, fmt.Errorf("--chaos %s: %w", chaosText, err)
		}
		opt.Env = append(opt.Env, "SHMEM_CHAOS="+chaosText)
	}
	for _, x := range exports {
		if err := export(&opt.Env, x); err != nil {
			return nil, err
		}
	}
	words, err := preload.words(fs)
	if err == nil {
		opt.Env, err = preloadEnv(opt.Env, opt.LibDir, words)
	}
	if err != nil {
		return nil, err
	}
	rest := fs.Args()
	// The word before the program: "--bind core" has set --bind without a value, and core would run.
	if last := len(args) - len(rest) - 1; last >= 0 && len(rest) > 0 && args[last] == "--bind" && launch.Bind(rest[0]).Known() {
		return nil, fmt.Errorf("--bind %s: the value stands behind = (say --bind=%s; put -- before a program of that name)", rest[0], rest[0])
	}
	if len(rest) > 0 {
		opt.Program, opt.Args = rest[0], rest[1:]
	}
	if remote.srun {
		return opt, nil // srun checks the number of PEs, and has the machines
	}
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	if err := plan.Check(opt.PEs); err != nil {
		return nil, fmt.Errorf("--chaos %s: %w", chaosText, err)
	}
	return opt, nil
}

// replaceNP replaces -np, the spelling of other launchers, by -n, if it is an option and not a
// value or an argument of the program. The library of options would read it as two letters.
func replaceNP(fs *pflag.FlagSet, args []string) []string {
	args = append([]string(nil), args...)
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" || a == "-" || !strings.HasPrefix(a, "-") {
			break
		}
		if a == "-np" {
			args[i], a = "-n", "-n"
		} else if v, ok := strings.CutPrefix(a, "-np="); ok {
			args[i] = "-n=" + v
			continue
		}
		var f *pflag.Flag
		if name, long := strings.CutPrefix(a, "--"); long {
			f = fs.Lookup(name)
		} else if len(a) == 2 {
			f = fs.ShorthandLookup(a[1:])
		}
		if f != nil && f.NoOptDefVal == "" { // the next argument is its value
			i++
		}
	}
	return args
}

// export adds the variable of -x VAR=value to the environment of the PEs. For -x VAR, which PEs
// inherit, it checks that the variable has a value.
func export(env *[]string, x string) error {
	name, _, hasValue := strings.Cut(x, "=")
	if name == "" {
		return fmt.Errorf("-x %s: there is no name (say -x VAR or -x VAR=value)", x)
	}
	if hasValue {
		*env = append(*env, x)
		return nil
	}
	for _, v := range *env {
		if strings.HasPrefix(v, name+"=") {
			return nil
		}
	}
	return fmt.Errorf("-x %s: it is not set here (say -x %s=value)", name, name)
}

// libDir returns the directory of the libshmem.so that belongs to this shmemrun, or "" if there is
// none beside it.
func libDir() string {
	exe, err := executable()
	if err != nil {
		return ""
	}
	dir := filepath.Join(filepath.Dir(filepath.Dir(exe)), "lib")
	if _, err := os.Stat(filepath.Join(dir, "libshmem.so")); err != nil {
		return ""
	}
	return dir
}

// executable returns the path of this program's file, with links resolved.
func executable() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(exe)
}

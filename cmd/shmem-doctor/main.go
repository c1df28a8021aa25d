// Shmem-doctor finds causes on this machine that keep the library from working, or from working
// well, with their remedies; as PEs of a job, also those between hosts.
//
// This file reads the command line and prints. Package runtime/doctor has the facts of the kernel;
// the other files of this package get the facts of libraries and drivers from the packages that
// call them.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"libshmem"
	"libshmem/cmd/internal/manual"
	"libshmem/cmd/internal/options"
	"libshmem/cmd/internal/poller"
	"libshmem/runtime/config"
	"libshmem/runtime/doctor"
	"libshmem/runtime/job/place"
)

var page = manual.Page{
	Name:    "shmem-doctor",
	Summary: "find what keeps libshmem from working",
	Usage:   []string{"shmem-doctor [option]", "shmemrun -n N shmem-doctor", "shmem-doctor --program=FILE"},
	Text: `Looks for what keeps the library from working here, and prints a line for each finding: ok;
- for a lack that only some jobs notice; no for a fault. As PEs of a job it also tests which
interfaces lead from host to host. With --hosts it names causes: firewalls that silently drop
packets, MTU black holes, asymmetric routes, NAT, duplicate addresses, slow DNS, and hosts that
only have IPv6.`,
	Statuses: []manual.Status{
		{Number: "0", Text: "there is no fault"},
		{Number: "1", Text: "there is a fault"},
		{Number: "2", Text: "a mistake in the command line"},
	},
	Examples: []manual.Example{
		{Command: "shmem-doctor", Text: "Look at this machine:"},
		{Command: "shmem-doctor --hosts=node1,node2,node3", Text: "Find out what is wrong between machines:"},
		{Command: "shmem-doctor --program=./a.out", Text: "See whether a program that was built with NVSHMEM runs with this library:"},
	},
	SeeAlso: []string{"shmem-info(1)", "shmemrun(1)", "shmem(7)"},
}

// The exit statuses.
const (
	statusOK    = 0
	statusWrong = 1
	statusUsage = 2
)

func main() { os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr)) }

// run does the work of main: it reads the command line, makes the checks, and returns
// the exit status.
func run(args, environ []string, stdout, stderr io.Writer) int {
	fs := pflag.NewFlagSet("shmem-doctor", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.SetOutput(stdout)
	fs.Usage = func() { page.Help(stdout, fs) }
	root := fs.String("root", "", "examine a machine whose proc, sys and dev are below `DIR`, without its libraries and drivers")
	timeout := fs.Float64("patience", 5, "as PEs of a job: `seconds` that a connection between hosts may take")
	hosts := fs.String("hosts", "", "run on these machines with shmemrun, `a,b` or a file with a line for each, and test the network between every two; without a value, on the machines of the job or of the allocation")
	fs.Lookup("hosts").NoOptDefVal = theseHosts
	ssh := fs.String("ssh", "ssh", "with --hosts=LIST: the `COMMAND` for ssh, perhaps with options")
	net := fs.Bool("fabric", false, "test each NIC that a job would use, with an endpoint that sends to itself, and write the results to "+reportFile+" in the working folder")
	program := fs.String("program", "", "say what a built `FILE` of NVSHMEM needs, which library it would bind to here, and what would be refused: an executable, a shared library, a cubin, bitcode, or a wheel")
	asJSON := fs.Bool("json", false, "print the findings as JSON, for programs")
	version := fs.Bool("version", false, "print the version alone")
	manual.Files(fs, "root", "program")
	if len(args) == 1 && args[0] == manual.Ask {
		described := page.With(fs)
		if err := described.Describe(stdout); err != nil {
			return fail(stderr, err)
		}
		return statusOK
	}
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return statusOK
	case err != nil:
		return fail(stderr, fmt.Errorf("read the command line: %w (see shmem-doctor --help)", options.Explain(err)))
	case fs.NArg() > 0:
		return fail(stderr, fmt.Errorf("read the command line: there is no argument %q (see shmem-doctor --help)", fs.Arg(0)))
	case !(*timeout > 0 && *timeout <= 3600):
		return fail(stderr, fmt.Errorf("read the command line: --patience %v is not a number of seconds up to 3600", *timeout))
	case fs.Changed("ssh") && (!fs.Changed("hosts") || *hosts == theseHosts):
		return fail(stderr, errors.New("read the command line: --ssh needs --hosts=LIST (see shmem-doctor --help)"))
	case fs.Changed("hosts") && (*net || *root != ""):
		return fail(stderr, errors.New("read the command line: --hosts does not go together with --root or --fabric"))
	case *program != "" && (fs.Changed("hosts") || *net || *root != ""):
		return fail(stderr, errors.New("read the command line: --program does not go together with --hosts, --fabric or --root"))
	case *net && *root != "":
		return fail(stderr, errors.New("read the command line: --root and --fabric do not go together"))
	case *version:
		fmt.Fprintln(stdout, libshmem.Version)
		return statusOK
	}
	if *root != "" {
		if info, err := os.Stat(*root); err != nil || !info.IsDir() {
			return fail(stderr, fmt.Errorf("read the command line: --root %s is not a folder", *root))
		}
	}
	if *program != "" {
		return examine(*program, environ, printer{stdout, *asJSON}, stderr)
	}
	deep := fs.Changed("hosts") // also find the causes of faults between hosts
	if deep && *hosts != theseHosts {
		return fail(stderr, startOn(*hosts, *ssh, *timeout, *asJSON))
	}
	out := printer{stdout, *asJSON}
	cfg, findings := readSettings(environ)
	if *root != "" {
		return out.print(append(findings, doctor.At(*root).Findings(cfg)...))
	}
	if err := poller.Check(); err != nil { // after an error nothing more can be checked
		return out.print(append(findings, doctor.OfError(doctor.Wrong, "system calls", "", err)))
	}
	if *net {
		return testFabric(cfg, findings, environ, out, stderr)
	}
	boot, err := place.OpenBootstrap(cfg, environ, place.Given{}, nil) // nil: no log
	defer place.Depart()
	if err != nil {
		findings = append(findings, doctor.OfError(doctor.Wrong, "bootstrap", "correct how the job was started, or set SHMEM_BOOTSTRAP", err))
	}
	launched := err == nil && boot.Size() > 1
	if deep && !launched && err == nil {
		if err := boot.Close(); err != nil {
			return fail(stderr, err)
		}
		return fail(stderr, startInAllocation(environ, *timeout, *asJSON))
	}
	findings = append(findings, checkMachine(cfg, launched, environ)...)
	if launched {
		return checkJob(boot, cfg, findings, time.Duration(*timeout*float64(time.Second)), deep, out, stderr)
	}
	if err == nil {
		if err := boot.Close(); err != nil {
			return fail(stderr, err)
		}
	}
	return out.print(findings)
}

// checkMachine makes all checks of this machine, and returns their findings. launched: this process
// is a PE of a job.
func checkMachine(cfg *config.Config, launched bool, environ []string) []doctor.Finding {
	return slices.Concat(doctor.At("").Findings(cfg), checkLibraries(cfg, launched, environ), checkNetwork(cfg, environ, false), checkGPUs())
}

// A printer prints findings as lines or as JSON.
type printer struct {
	io.Writer
	json bool
}

// print prints the findings about this machine, and returns the exit status for them.
func (p printer) print(findings []doctor.Finding) int {
	if p.json {
		name, _ := os.Hostname() // "" after an error: the name is only shown
		fmt.Fprintln(p, doctor.JSON([]doctor.Host{{Name: name, Findings: findings}}, nil))
		return status(findings)
	}
	for _, f := range findings {
		fmt.Fprintln(p, f)
	}
	return status(findings)
}

// status returns the exit status for findings: only a fault is an error, not a lack.
func status(findings []doctor.Finding) int {
	if doctor.Worst(findings) == doctor.Wrong {
		return statusWrong
	}
	return statusOK
}

// fail prints an error, and returns the exit status.
func fail(stderr io.Writer, err error) int {
	fmt.Fprintln(stderr, "shmem-doctor:", err)
	return statusUsage
}

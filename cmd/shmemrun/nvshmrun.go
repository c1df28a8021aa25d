package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"libshmem/cmd/internal/manual"
	"libshmem/runtime/bootstrap/launch/ssh"
)

// asNvshmrun is the first argument of the command nvshmrun.
const asNvshmrun = "--nvshmrun"

// A spelling translates an option of NVSHMEM's launcher nvshmrun, which is Hydra.
type spelling struct {
	values int // how many arguments after the option are its values
	// instead is what a user should do in place of an option without a counterpart here; "": the
	// option is accepted.
	instead string
	as      func(values []string) ([]string, error) // shmemrun's options for it; nil: it needs none
	machine func(m *machines, value string) error   // used instead of `as` if the option names the machines on which PEs start
}

// machines collects the options about machines, which may come in any order.
type machines struct {
	hosts []string // in Hydra's form: name or name:N
	each  int      // PEs of a machine without a number; 0: not given
}

// hydra are the options that only Hydra has.
var hydra = map[string]spelling{
	"-ppn":      {values: 1, machine: setPEsOfEach},
	"-perhost":  {values: 1, machine: setPEsOfEach},
	"-hosts":    {values: 1, machine: setHosts},
	"-host":     {values: 1, machine: setHosts},
	"-f":        {values: 1, machine: readHostFile},
	"-hostfile": {values: 1, machine: readHostFile},
	"-genv":     {values: 2, as: exportVariable},
	"-env":      {values: 2, as: exportVariable},
	"-genvall":  {}, "-envall": {}, "-print-all-exitcodes": {},
	"-l":               {as: tagOutput},
	"-prepend-rank":    {as: tagOutput},
	"-launcher":        {values: 1, as: checkLauncher},
	"-bootstrap":       {values: 1, as: checkLauncher},
	"-rmk":             {values: 1, instead: "use -n; there is no resource manager to ask"},
	"-genvlist":        {values: 1, instead: "leave it out: PEs inherit the environment; env -i starts without one"},
	"-envlist":         {values: 1, instead: "leave it out: PEs inherit the environment; env -i starts without one"},
	"-genvnone":        {instead: "start it with env -i: PEs inherit the environment"},
	"-envnone":         {instead: "start it with env -i: PEs inherit the environment"},
	"-bind-to":         {values: 1, as: bindTo},
	"-binding":         {values: 1, as: bindTo},
	"-map-by":          {values: 1, instead: "leave it out: consecutive PEs get neighbouring cores; --bind=numa gives each a NUMA node"},
	"-membind":         {values: 1, instead: "start it by numactl"},
	"-iface":           {values: 1, instead: "set SHMEM_BOOTSTRAP_INTERFACE"},
	"-machinefile":     {values: 1, machine: readHostFile},
	"-launcher-exec":   {values: 1, instead: "say --ssh"},
	"-bootstrap-exec":  {values: 1, instead: "say --ssh"},
	"-configfile":      {values: 1, instead: "say the options here"},
	"-wdir":            {values: 1, instead: "use cd before it"},
	"-outfile-pattern": {values: 1, instead: "redirect the output; --tag-output shows which PE each line comes from"},
	"-errfile-pattern": {values: 1, instead: "redirect the output; --tag-output shows which PE each line comes from"},
	"-gpus-per-proc":   {values: 1, instead: "let the program choose, with nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE)"},
	"-usize":           {values: 1, instead: "leave it out: jobs do not grow"},
	"-v":               {instead: "set SHMEM_LOG_LEVEL=debug"},
	"-verbose":         {instead: "set SHMEM_LOG_LEVEL=debug"},
	"-info":            {instead: "use nvshmem-info"},
	"-version":         {as: func([]string) ([]string, error) { return []string{"--version"}, nil }},
}

// nvshmrunPage describes the command nvshmrun. ours are the options of shmemrun, which it also
// accepts.
func nvshmrunPage(ours []manual.Option) manual.Page {
	p := manual.Page{
		Name: "nvshmrun", Program: true,
		Summary: "start the PEs of an NVSHMEM program",
		Usage:   []string{"nvshmrun -n N [options] [--] PROG ARGS"},
		Text: "Starts N processing elements (PEs) of PROG as shmemrun does. It also takes the options of NVSHMEM's\n" +
			"launcher of this name, which have one dash.",
		Examples: []manual.Example{{Command: "nvshmrun -n 4 -ppn 2 -hosts node1,node2 ./program", Text: "Start two PEs on each of two machines:"}},
		SeeAlso:  []string{"shmemrun(1)", "nvshmem-info(1)", "shmem(7)"},
	}
	for _, name := range slices.Sorted(maps.Keys(hydra)) {
		o := hydra[name]
		if o.instead != "" {
			continue
		}
		text, value := hydraHelp[name], ""
		if o.values > 0 {
			value, text, _ = strings.Cut(text, ": ")
		}
		p.Options = append(p.Options, manual.Option{
			Name: strings.TrimPrefix(name, "-"), Single: true, Value: value, Text: text,
			Files: slices.Contains([]string{"-f", "-hostfile", "-machinefile"}, name),
		})
	}
	p.Options = append(p.Options, ours...)
	return p
}

// hydraHelp has the help of the options: for options with values it begins with the names of the
// values.
var hydraHelp = map[string]string{
	"-ppn": "N: PEs of each machine", "-perhost": "N: PEs of each machine",
	"-hosts": "LIST: the machines, name or name:PEs", "-host": "LIST: the machines, name or name:PEs",
	"-f": "FILE: a file with a machine on each line", "-hostfile": "FILE: a file with a machine on each line",
	"-machinefile": "FILE: a file with a machine on each line",
	"-genv":        "NAME VALUE: set a variable of the PEs", "-env": "NAME VALUE: set a variable of the PEs",
	"-genvall": "PEs inherit the environment, as they do anyway", "-envall": "PEs inherit the environment, as they do anyway",
	"-print-all-exitcodes": "accepted without effect",
	"-l":                   "begin each line of output with [PE]", "-prepend-rank": "begin each line of output with [PE]",
	"-launcher": "HOW: fork, ssh or rsh, accepted without effect", "-bootstrap": "HOW: fork, ssh or rsh, accepted without effect",
	"-bind-to": "WHAT: bind PEs to none, core or numa", "-binding": "WHAT: bind PEs to none, core or numa",
	"-version": "print the version alone",
}

// translateHydra translates the options of Hydra, the launcher of NVSHMEM, on a command line into
// those of shmemrun. Other options, and the program with its arguments, stay as they are.
func translateHydra(args []string) ([]string, error) {
	var out []string
	var m machines
	for i := 0; i < len(args); i++ {
		name := args[i]
		if !strings.HasPrefix(name, "-") || name == "--" {
			if name != "--" && slices.Contains(args[i:], ":") {
				return nil, fmt.Errorf("%q between two programs (all PEs run the same program: start a script that chooses by SHMEM_LAUNCHER_PE; put -- before a program with that argument)", ":")
			}
			return append(append(m.options(), out...), args[i:]...), nil
		}
		// Hydra accepts its options with two dashes, too, but --hosts is an option of shmemrun.
		o, known := hydra[name]
		if !known && strings.HasPrefix(name, "--") && name != "--hosts" {
			o, known = hydra[name[1:]]
		}
		if !known {
			out = append(out, name)
			// The argument after one of these options is its value, and not the program.
			if slices.Contains([]string{"-n", "-np", "--pes", "--hosts", "--map", "--links", "--chaos", "-x", "--export", "--timeout", "-H", "--prefix", "--wdir", "--ssh", "--keepalive"}, name) && i+1 < len(args) {
				i++
				out = append(out, args[i])
			}
			continue
		}
		if o.instead != "" {
			return nil, fmt.Errorf("option %s is not taken (%s)", name, o.instead)
		}
		if len(args)-i-1 < o.values {
			return nil, fmt.Errorf("option %s needs %s", name, map[int]string{1: "a value", 2: "2 values"}[o.values])
		}
		values := args[i+1 : i+1+o.values]
		i += o.values
		if o.machine != nil {
			if err := o.machine(&m, values[0]); err != nil {
				return nil, fmt.Errorf("%s %s: %w", name, values[0], err)
			}
			continue
		}
		if o.as == nil {
			continue
		}
		more, err := o.as(values)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", name, values[0], err)
		}
		out = append(out, more...)
	}
	return append(m.options(), out...), nil
}

// options returns shmemrun's options for the machines that Hydra's options have named. If all of
// them are this machine, there are none: PEs start without ssh, and numbers of PEs after the names
// have no effect.
func (m *machines) options() []string {
	if !slices.ContainsFunc(m.hosts, func(h string) bool { name, _, _ := strings.Cut(h, ":"); return !ssh.Here(name) }) {
		return nil
	}
	all := slices.Clone(m.hosts)
	for i, h := range all {
		if m.each > 0 && !strings.Contains(h, ":") {
			all[i] = h + ":" + strconv.Itoa(m.each)
		}
	}
	return []string{"--host", strings.Join(all, ",")}
}

// setPEsOfEach reads the value of -ppn: the number of PEs of each machine.
func setPEsOfEach(m *machines, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return fmt.Errorf("no number of PEs (say 1 or more, or leave it out)")
	}
	m.each = n
	return nil
}

// exportVariable translates -genv NAME VALUE and -env into -x NAME=VALUE.
func exportVariable(values []string) ([]string, error) {
	return []string{"-x", values[0] + "=" + values[1]}, nil
}

// bindTo translates -bind-to into --bind. It accepts none, core and numa, which both launchers
// have.
func bindTo(values []string) ([]string, error) {
	if !slices.Contains([]string{"none", "core", "numa"}, values[0]) {
		return nil, fmt.Errorf("PEs are bound to none, core or numa (use one of them, or --bind for a share of the processors)")
	}
	return []string{"--bind=" + values[0]}, nil
}

// tagOutput translates -l into --tag-output.
func tagOutput([]string) ([]string, error) { return []string{"--tag-output"}, nil }

// checkLauncher accepts -launcher with the ways in which PEs start here anyway, which need no
// option, and returns an error for all others.
func checkLauncher(values []string) ([]string, error) {
	if !slices.Contains([]string{"fork", "ssh", "rsh"}, values[0]) {
		return nil, fmt.Errorf("PEs are started by ssh (leave it out, or use mpirun, mpiexec.hydra or srun)")
	}
	return nil, nil
}

// setHosts reads the value of -hosts: a list of names, perhaps with numbers of PEs.
func setHosts(m *machines, value string) error {
	m.hosts = strings.Split(value, ",")
	return nil
}

// readHostFile reads a file with a host on each line. It ignores what Hydra allows after the host.
func readHostFile(m *machines, value string) error {
	data, err := os.ReadFile(value)
	if err != nil {
		return fmt.Errorf("%w (say a file with a host on each line)", err)
	}
	m.hosts = nil
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) > 0 {
			m.hosts = append(m.hosts, f[0])
		}
	}
	if len(m.hosts) == 0 {
		return errors.New("the file names no host (say a file with a host on each line)")
	}
	return nil
}

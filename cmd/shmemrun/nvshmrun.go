package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// asNvshmrun is the first argument of the command nvshmrun.
const asNvshmrun = "--nvshmrun"

// A spelling translates an option of NVSHMEM's launcher of that name, which is Hydra.
type spelling struct {
	values int
	// instead is the replacement of an option without a counterpart here; "": it is taken.
	instead string
	as      func(values []string) ([]string, error) // nil: nothing, it is so already
}

// hydra are the options that only Hydra has. All PEs are on this machine and inherit the
// environment, so that hosts may be this one alone, and the number of PEs of each has no effect.
var hydra = map[string]spelling{
	"-ppn":      {values: 1, as: count},
	"-perhost":  {values: 1, as: count},
	"-hosts":    {values: 1, as: hosts},
	"-host":     {values: 1, as: hosts},
	"-f":        {values: 1, as: hostFile},
	"-hostfile": {values: 1, as: hostFile},
	"-genv":     {values: 2, as: variable},
	"-env":      {values: 2, as: variable},
	"-genvall":  {}, "-envall": {}, "-print-all-exitcodes": {},
	"-l":               {as: tagged},
	"-prepend-rank":    {as: tagged},
	"-launcher":        {values: 1, as: local},
	"-bootstrap":       {values: 1, as: local},
	"-rmk":             {values: 1, instead: "say -n; no resource manager is asked"},
	"-genvlist":        {values: 1, instead: "leave it out: PEs inherit the environment; env -i starts without one"},
	"-envlist":         {values: 1, instead: "leave it out: PEs inherit the environment; env -i starts without one"},
	"-genvnone":        {instead: "start it by env -i: PEs inherit the environment"},
	"-envnone":         {instead: "start it by env -i: PEs inherit the environment"},
	"-bind-to":         {values: 1, as: bindTo},
	"-binding":         {values: 1, as: bindTo},
	"-map-by":          {values: 1, instead: "leave it out: consecutive PEs get neighbouring cores; --bind=numa gives each a NUMA node"},
	"-membind":         {values: 1, instead: "start it by numactl"},
	"-iface":           {values: 1, instead: "set SHMEM_BOOTSTRAP_INTERFACE"},
	"-machinefile":     {values: 1, as: hostFile},
	"-launcher-exec":   {values: 1, instead: "use mpiexec.hydra for other machines"},
	"-bootstrap-exec":  {values: 1, instead: "use mpiexec.hydra for other machines"},
	"-configfile":      {values: 1, instead: "say the options here"},
	"-wdir":            {values: 1, instead: "use cd before it"},
	"-outfile-pattern": {values: 1, instead: "redirect the output; --tag-output says which PE a line is of"},
	"-errfile-pattern": {values: 1, instead: "redirect the output; --tag-output says which PE a line is of"},
	"-gpus-per-proc":   {values: 1, instead: "have the program choose, by nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE)"},
	"-usize":           {values: 1, instead: "leave it out: jobs do not grow"},
	"-v":               {instead: "set SHMEM_LOG_LEVEL=debug"},
	"-verbose":         {instead: "set SHMEM_LOG_LEVEL=debug"},
	"-info":            {instead: "use nvshmem-info"},
	"-version":         {instead: "use nvshmem-info"},
}

// spelledHere translates options of Hydra into those of shmemrun. Others are shmemrun's.
func spelledHere(args []string) ([]string, error) {
	var out []string
	for i := 0; i < len(args); i++ {
		name := args[i]
		if !strings.HasPrefix(name, "-") || name == "--" {
			if name != "--" && slices.Contains(args[i:], ":") {
				return nil, fmt.Errorf("%q between two programs (all PEs are of one program: start a script that chooses by SHMEM_LAUNCHER_PE; put -- before a program with that argument)", ":")
			}
			return append(out, args[i:]...), nil
		}
		// Hydra takes two dashes as well, but for options that shmemrun has with them.
		o, known := hydra[name]
		if !known && strings.HasPrefix(name, "--") && name != "--hosts" {
			o, known = hydra[name[1:]]
		}
		if !known {
			out = append(out, name)
			// An option with its value apart: the next argument is no program yet.
			if slices.Contains([]string{"-n", "-np", "--pes", "--hosts", "--map", "--links", "--chaos", "-x", "--export", "--timeout"}, name) && i+1 < len(args) {
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
		if o.as == nil {
			continue
		}
		more, err := o.as(values)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", name, values[0], err)
		}
		out = append(out, more...)
	}
	return out, nil
}

func count(values []string) ([]string, error) {
	if n, err := strconv.Atoi(values[0]); err != nil || n < 1 {
		return nil, fmt.Errorf("no number of PEs (say 1 or more, or leave it out)")
	}
	return nil, nil
}

func variable(values []string) ([]string, error) {
	return []string{"-x", values[0] + "=" + values[1]}, nil
}

// bindTo translates --bind-to, of which it accepts none, core and numa.
func bindTo(values []string) ([]string, error) {
	if !slices.Contains([]string{"none", "core", "numa"}, values[0]) {
		return nil, fmt.Errorf("PEs are bound to none, core or numa (say one of them, or --bind for a share of the processors)")
	}
	return []string{"--bind=" + values[0]}, nil
}

func tagged([]string) ([]string, error) { return []string{"--tag-output"}, nil }

// local refuses hosts where PEs would start elsewhere, or by another system.
func local(values []string) ([]string, error) {
	if !slices.Contains([]string{"fork", "ssh", "rsh"}, values[0]) {
		return nil, fmt.Errorf("PEs are started on this machine (leave it out, or use mpirun, mpiexec.hydra or srun)")
	}
	return nil, nil
}

func hosts(values []string) ([]string, error) {
	return nil, allHere(strings.Split(values[0], ","))
}

// hostFile reads a file with a host on each line, and behind it Hydra's other words.
func hostFile(values []string) ([]string, error) {
	data, err := os.ReadFile(values[0])
	if err != nil {
		return nil, fmt.Errorf("%w (say a file with a host on each line)", err)
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) > 0 {
			list = append(list, f[0])
		}
	}
	return nil, allHere(list)
}

// allHere returns an error that names the first host of the list that is not this machine.
func allHere(list []string) error {
	me, err := os.Hostname()
	if err != nil {
		return err
	}
	short, _, _ := strings.Cut(me, ".")
	for _, host := range list {
		host, _, _ = strings.Cut(host, ":")
		if !slices.Contains([]string{"localhost", "127.0.0.1", me, short}, host) {
			return fmt.Errorf("%q is not this machine, on which all PEs start (use mpirun, mpiexec.hydra or srun for several)", host)
		}
	}
	return nil
}

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

// spelledHere puts options of NVSHMEM's launcher of that name, which is Hydra, into those of
// shmemrun. Others are shmemrun's. All PEs are on this machine, so that hosts may be this one
// alone, and how many PEs each takes says nothing.
func spelledHere(args []string) ([]string, error) {
	var out []string
	for i := 0; i < len(args); i++ {
		name := args[i]
		if !strings.HasPrefix(name, "-") || name == "--" {
			return append(out, args[i:]...), nil
		}
		operands := map[string]int{"-ppn": 1, "-hosts": 1, "-host": 1, "-genv": 2, "-env": 2}[name]
		if len(args)-i-1 < operands {
			return nil, fmt.Errorf("option %s needs %d values", name, operands)
		}
		values := args[i+1 : i+1+operands]
		i += operands
		switch name {
		case "-ppn":
			if n, err := strconv.Atoi(values[0]); err != nil || n < 1 {
				return nil, fmt.Errorf("-ppn %s: no number of PEs (say 1 or more, or leave it out)", values[0])
			}
		case "-hosts", "-host":
			if err := allHere(values[0]); err != nil {
				return nil, fmt.Errorf("%s %s: %w", name, values[0], err)
			}
		case "-genv", "-env":
			out = append(out, "-x", values[0]+"="+values[1])
		default:
			out = append(out, name)
			// An option with its value apart: what follows is no program yet.
			if slices.Contains([]string{"-n", "-np", "--pes", "--hosts", "--map", "--links", "--chaos", "-x", "--export", "--timeout"}, name) && i+1 < len(args) {
				i++
				out = append(out, args[i])
			}
		}
	}
	return out, nil
}

// allHere says which of the hosts is another machine.
func allHere(list string) error {
	me, err := os.Hostname()
	if err != nil {
		return err
	}
	short, _, _ := strings.Cut(me, ".")
	for host := range strings.SplitSeq(list, ",") {
		host, _, _ = strings.Cut(host, ":")
		if !slices.Contains([]string{"localhost", "127.0.0.1", me, short}, host) {
			return fmt.Errorf("%q is not this machine, on which all PEs start (use mpirun, mpiexec.hydra or srun for several)", host)
		}
	}
	return nil
}

package launch

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// allowed lists the processors that shmemrun may run on.
func allowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read allowed processors: %w", err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// slice is PE number pe's share of the processors. Simulated hosts share one
// machine, so PEs are counted over all of them. Neighbours share a processor
// when there are more PEs than processors.
func slice(cpus []int, pe, pes int) []int {
	from, to := pe*len(cpus)/pes, (pe+1)*len(cpus)/pes
	return cpus[from:max(to, from+1)]
}

// bind restricts the calling thread, and the processes that it starts, to the processors.
func bind(cpus []int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return unix.SchedSetaffinity(0, &set)
}

package topo

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// MachineID is equal in all processes that share a kernel, whatever host they
// play: they compete for its processors. Empty when the kernel does not tell.
func MachineID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot))
}

// CPUs is the number of processors that this process may run on, at least 1.
func CPUs() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 1
	}
	return max(set.Count(), 1)
}

// Allowed are these processors; empty when the kernel does not tell.
func Allowed() Set {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return ""
	}
	var cpus []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return NewSet(cpus...)
}

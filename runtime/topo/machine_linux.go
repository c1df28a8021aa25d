package topo

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// MachineID returns an id that is equal in all processes that share a kernel, whatever their
// SHMEM_HOST_ID: they compete for the same processors. It is empty if the kernel does not report
// it.
func MachineID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot))
}

// Allowed returns the processors that the calling thread may use; empty if the kernel does not
// report them.
func Allowed() Set { return AllowedTo(0) }

// AllowedTo returns the processors on which a thread may run (its affinity); empty if the kernel
// does not say.
func AllowedTo(tid int) Set {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(tid, &set); err != nil {
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

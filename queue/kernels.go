package queue

import (
	"hash/fnv"
	"strings"
)

// CallName returns the public name of the function that a kernel's report is about, or "" if this
// release has no such function. The report has the function's number, the FNV-1a hash of the name.
// CallName searches the list of all names, which takes 0.13 ms: a table of numbers and names would
// take 110 KB in each process, and the loader would relocate it.
func CallName(number uint32) string {
	for name := range strings.Lines(calls) {
		name = strings.TrimSuffix(name, "\n")
		if callNumber(name) == number {
			return name
		}
	}
	return ""
}

// callNumber returns the number by which kernels name a function in reports.
func callNumber(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()
}

// WorkChunk returns the bytes of each PE's part of a buffer of the kernels' collectives on all PEs:
// the largest power of two with which the two buffers take no more than WorkData bytes, but at most
// WorkMost and at least WorkLeast. shmemi_work_fit of device/shmem/work.h is the same in C.
func WorkChunk(pes int) uint64 {
	chunk := uint64(WorkMost)
	for chunk > WorkLeast && 2*uint64(pes)*chunk > WorkData {
		chunk /= 2
	}
	return chunk
}

// WorkBuffers returns the offset of the buffers in the memory of the kernels' collectives. Before
// them lie the counters and the flags of rounds (WorkHead), two words of 8 bytes for each PE, and,
// from a multiple of 128 bytes on, two sets of lines for short reductions: a set has WorkPacked
// bytes for each PE of the largest team that uses it. shmemi_work_buffers is the same in C.
func WorkBuffers(pes int) uint64 {
	const line = 128
	flags := (WorkHead + 16*uint64(pes) + line - 1) &^ (line - 1)
	return flags + 2*WorkPacked*min(uint64(pes), WorkPackedPEs)
}

// WorkSize returns the number of bytes of each PE's heap that the kernels' collectives on all PEs
// work with. shmemi_work_size is the same in C.
func WorkSize(pes int) uint64 { return WorkBuffers(pes) + 2*uint64(pes)*WorkChunk(pes) }

// WorkTeamSize returns the number of bytes of each PE's heap for the kernels' collectives of a team
// other than the world, in a job of pes PEs. shmemi_work_team is the same in C.
func WorkTeamSize(pes int) uint64 { return WorkBuffers(pes) + max(WorkTeam, 2*uint64(pes)*WorkLeast) }

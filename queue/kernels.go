package queue

import (
	"hash/fnv"
	"strings"
)

// CallName returns the public name of the function that a kernel's report is about, from its number,
// the FNV-1a hash of the name; "" when this release has no such function. A table of numbers and
// names took 110 KB in each process, which the loader relocated; the search takes 0.13 ms.
func CallName(number uint32) string {
	for name := range strings.Lines(calls) {
		name = strings.TrimSuffix(name, "\n")
		if callNumber(name) == number {
			return name
		}
	}
	return ""
}

func callNumber(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()
}

// WorkChunk returns how many bytes of each PE one buffer of the kernels' collectives on all PEs
// holds: a power of two. shmemi_work_fit of device/shmem/work.h is its C twin.
func WorkChunk(pes int) uint64 {
	chunk := uint64(WorkMost)
	for chunk > WorkLeast && 2*uint64(pes)*chunk > WorkData {
		chunk /= 2
	}
	return chunk
}

// WorkBuffers returns the offset of the buffers in the memory of the kernels' collectives, behind
// the counters and flags. shmemi_work_buffers is its C twin.
func WorkBuffers(pes int) uint64 {
	const line = 128
	return (WorkHead + 16*uint64(pes) + line - 1) &^ (line - 1)
}

// WorkSize returns the number of bytes of each PE's heap that the kernels' collectives on all PEs
// work with. shmemi_work_size is its C twin.
func WorkSize(pes int) uint64 { return WorkBuffers(pes) + 2*uint64(pes)*WorkChunk(pes) }

// WorkTeamSize returns the same for a team other than the world, in a job of this many PEs.
// shmemi_work_team is its C twin.
func WorkTeamSize(pes int) uint64 { return WorkBuffers(pes) + max(WorkTeam, 2*uint64(pes)*WorkLeast) }

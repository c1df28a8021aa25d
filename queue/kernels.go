package queue

import (
	"hash/fnv"
	"strings"
)

// CallName is the public name of the function that a kernel's report is about; "" when this release
// has none of that number. The number is the FNV-1a hash of the name. A table of numbers and names
// took 110 KB in each process, which the loader relocated; the search takes 0.13 ms.
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

// WorkChunk is how much of a PE's data one buffer of the kernels' collectives on
// all PEs holds: a power of two. As shmemi_work_fit of device/shmem/work.h.
func WorkChunk(pes int) uint64 {
	chunk := uint64(WorkMost)
	for chunk > WorkLeast && 2*uint64(pes)*chunk > WorkData {
		chunk /= 2
	}
	return chunk
}

// WorkBuffers is the offset of the buffers, behind the counters and flags. shmemi_work_buffers is
// its C twin.
func WorkBuffers(pes int) uint64 {
	const line = 128
	return (WorkHead + 16*uint64(pes) + line - 1) &^ (line - 1)
}

// WorkSize is the number of bytes of each PE's heap that the kernels' collectives on all PEs
// work with. As shmemi_work_size.
func WorkSize(pes int) uint64 { return WorkBuffers(pes) + 2*uint64(pes)*WorkChunk(pes) }

// WorkTeamSize is the same of each other team, in a job of this many PEs. As shmemi_work_team.
func WorkTeamSize(pes int) uint64 { return WorkBuffers(pes) + max(WorkTeam, 2*uint64(pes)*WorkLeast) }

package queue

import "sort"

// CallName is the public name of the function that a kernel's report is about;
// "" when this release has none of that number.
func CallName(number uint32) string {
	i := sort.Search(len(calls), func(i int) bool { return calls[i].number >= number })
	if i < len(calls) && calls[i].number == number {
		return calls[i].name
	}
	return ""
}

// WorkChunk is how much of a PE's data one buffer of the kernels' collectives
// holds: a power of two. As shmemi_work_chunk of device/shmem/work.h.
func WorkChunk(pes int) uint64 {
	chunk := uint64(WorkMost)
	for chunk > WorkLeast && 2*uint64(pes)*chunk > WorkData {
		chunk /= 2
	}
	return chunk
}

// WorkSize is how many bytes of each PE's heap the kernels' collectives work
// with. As shmemi_work_size.
func WorkSize(pes int) uint64 {
	const line = 128
	buffers := (WorkHead + 16*uint64(pes) + line - 1) &^ (line - 1)
	return buffers + 2*uint64(pes)*WorkChunk(pes)
}

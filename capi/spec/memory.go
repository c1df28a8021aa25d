package spec

const (
	collectiveHeap  = "All PEs make the call together, with equal numbers."
	collectiveBlock = "All PEs make the call together, for the same block: each passes its own address of it. "
	heapErrors      = "NULL on every PE when the heap of one has no room, and NULL when a PE is lost (SHMEM_ON_FAILURE=return). " +
		"Ends the job when called before init or after finalize."
	heapOrder = "Begins as shmem_quiet does, and ends with a barrier, so that the memory of every PE may be used at once. " +
		"For 0 bytes the call does neither."
)

var memory = Chapter{
	File:   "memory",
	Title:  "Memory Management Routines",
	Over:   []string{"memory.h", "query.h"},
	Range:  RangeAlloc,
	Kernel: kernelSetup,
	Families: []Family{
		{
			Name: "malloc", Section: "SHMEM_MALLOC", Since: "0.1",
			Result: "void *",
			Params: []Param{{Name: "size", C: "size_t", Unit: "bytes", Doc: "wanted"}},
			Front:  "shmemi_malloc(size, $call)",
			Doc: "Allocates symmetric memory: a block at the same place of every PE's heap. In other " +
				"functions its address names the block of any PE. " + collectiveHeap,
			Returns: "The block, aligned for any type; NULL when size is 0.",
			Errors:  heapErrors, Order: heapOrder,
		},
		{
			Name: "free", Section: "SHMEM_FREE", Since: "0.1",
			Params: []Param{{Name: "ptr", C: "void *", Doc: "a block that an allocation returned, or NULL to free nothing"}},
			Front:  "shmemi_free(ptr, $call)",
			Doc:    "Frees a block. " + collectiveBlock + "With NULL they make it together as well.",
			Errors: "Ends the job when ptr is not a block of the heap, and when called before init or after finalize. " +
				"With SHMEM_ON_FAILURE=return the block stays when a PE is lost.",
			Order: "Begins as shmem_barrier_all does.",
		},
		{
			Name: "realloc", Section: "SHMEM_REALLOC", Since: "0.1",
			Result: "void *",
			Params: []Param{
				{Name: "ptr", C: "void *", Doc: "a block that an allocation returned, or NULL to allocate"},
				{Name: "size", C: "size_t", Unit: "bytes", Doc: "wanted; 0 frees the block"},
			},
			Front: "shmemi_realloc(ptr, size, $call)",
			Doc: "Changes the size of a block and keeps its contents up to the smaller size; the block " +
				"may move. " + collectiveBlock + "size is the same on each.",
			Returns: "The block, or NULL when size is 0.",
			Errors: "NULL on every PE when the heap of one has no room, and NULL when a PE is lost (SHMEM_ON_FAILURE=return); " +
				"the old block then stays as it is. Ends the job when ptr is not a block of the heap, and when called before " +
				"init or after finalize.",
			Order: "Begins as shmem_barrier_all does, and ends with a barrier. With ptr NULL as shmem_malloc, with size 0 as shmem_free.",
		},
		{
			Name: "align", Section: "SHMEM_ALIGN", Since: "0.1",
			Result: "void *",
			Params: []Param{
				{Name: "alignment", C: "size_t", Doc: "in bytes, a power of two and so not 0; below sizeof(void *) it is rounded up"},
				{Name: "size", C: "size_t", Unit: "bytes", Doc: "wanted"},
			},
			Front:   "shmemi_align(alignment, size, $call)",
			Doc:     "Allocates as shmem_malloc does, at a multiple of alignment. " + collectiveHeap,
			Returns: "The block; NULL when size is 0.",
			Errors:  heapErrors + " Also when alignment is not a power of two.",
			Order:   heapOrder,
		},
		{
			Name: "malloc_with_hints", Section: "SHMEM_MALLOC_WITH_HINTS", Since: "0.1",
			Result: "void *",
			Params: []Param{
				{Name: "size", C: "size_t", Unit: "bytes", Doc: "wanted"},
				{Name: "hints", C: "long", Doc: "SHMEM_MALLOC constants combined with |, or 0"},
			},
			Front: "shmemi_malloc_with_hints(size, hints, $call)",
			Doc: "Allocates as shmem_malloc does. The hints say how the memory will be used and change " +
				"only speed; the library ignores bits that it does not know. " + collectiveHeap,
			Returns: "The block; NULL when size is 0.",
			Errors:  heapErrors, Order: heapOrder,
		},
		{
			Name: "calloc", Section: "SHMEM_CALLOC", Since: "0.1",
			Result: "void *",
			Params: []Param{
				{Name: "count", C: "size_t", Unit: "elements", Doc: "wanted"},
				{Name: "size", C: "size_t", Unit: "bytes", Doc: "of one element"},
			},
			Front:   "shmemi_calloc(count, size, $call)",
			Doc:     "Allocates an array whose bytes are all zero on every PE. " + collectiveHeap,
			Returns: "The array; NULL when count or size is 0.",
			Errors:  "As shmem_malloc; also when count times size overflows.",
			Order:   heapOrder,
		},
		{
			Name: "addr_accessible", Section: "SHMEM_ADDR_ACCESSIBLE", Since: "0.1", Range: RangeNone,
			Result: "int",
			Params: []Param{
				{Name: "addr", C: "const void *", Doc: "any address"},
				{Name: "pe", C: "int", Doc: "any number"},
			},
			Front:   "shmemi_addr_accessible(addr, pe, $call)",
			Doc:     "Reports whether addr is a symmetric address that the caller can use with pe.",
			Returns: "1 or 0.",
			Errors:  "Ends the job when called before init or after finalize.",
		},
		{
			Name: "ptr", Section: "SHMEM_PTR", Since: "0.1", Range: RangeNone,
			Result: "void *",
			Params: []Param{
				{Name: "dest", C: "const void *", Doc: "symmetric address"},
				{Name: "pe", C: "int", Doc: "number of a PE"},
			},
			Front: "shmemi_ptr(dest, pe, $call)",
			Kernel: []Kernel{{
				Body: "shmemi_ptr($job, $call, dest, pe)",
				Doc:  "Returns the address at which loads and stores reach another PE's memory, or NULL.",
			}},
			Doc: "Returns the address of another PE's memory in the caller's address space, for plain loads and " +
				"stores. A PE that waits for memory to change notices such a store later than a " +
				"change by a function of this library.",
			Returns: "An address, valid until the block of dest is freed, or NULL when pe is not on the caller's node, is not a PE, " +
				"or dest is not symmetric. With the heap in GPU memory it is an address for kernels; NULL also when this PE's GPU has no " +
				"access to pe's.",
			Errors: "Ends the job when called before init or after finalize.",
		},
	},
}

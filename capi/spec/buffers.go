package spec

// Memory that the program has, as symmetric memory.

func bufferRow(f Family) Family {
	f.Section, f.Since = "buffers", "0.1"
	return f
}

const bufferFailure = " The reason is the last error of the calling thread, SHMEMX_ERROR_BUFFER; shmemx_last_error_text has it, and " +
	"at the other PEs the number of the first PE that refused."

var bufferCalls = []Family{
	bufferRow(Family{
		Name: "buffer_register_symmetric", Result: "void *",
		Params: []Param{
			{Name: "buf_ptr", C: "void *", Doc: "the buffer; in main memory at the start of a page. Each PE may have it at another address"},
			{Name: "length", C: "size_t", Unit: "bytes", Doc: "of the buffer, in main memory whole pages; the same on every PE"},
			{Name: "flags", C: "int", Doc: "0"},
		},
		Front: "shmemi_buffer_register(buf_ptr, length, flags, $call)",
		Doc: "Makes a buffer of the program symmetric memory, with what it holds: private memory of the host, from any allocator, or, with " +
			"SHMEM_HEAP=device, memory of this PE's GPU that was mapped by cuMemMap; that has to begin as far behind a multiple of the driver's " +
			"granularity on every PE. It stays where it is, and pointers into it stay valid; it also has a place in the symmetric heap, of which it takes room, and the " +
			"result is its address there. Both show the same memory. Host calls take either address, for the other PEs the one that the caller " +
			"has it at, and so do calls on streams; kernels take the result only, and with it puts are as fast as to any memory of the heap. " +
			"Memory that is in the symmetric heap already is its own result. Nobody writes to the buffer during the call, and it is not " +
			"freed before it has been unregistered. Every PE makes the call together, up to 1024 buffers at a time.",
		Returns: "The symmetric address of the buffer, or NULL on every PE alike when one cannot register its own, which then is as it was." + bufferFailure,
		Errors:  "NULL. Ends the job when called before init or after finalize.",
		Order: "Begins as shmem_quiet does, for the caller's operations on the default context, and ends with a barrier, so that the buffer of " +
			"every PE may be used at once.",
	}),
	bufferRow(Family{
		Name: "buffer_unregister_symmetric", Result: "int",
		Params: []Param{
			{Name: "mmap_ptr", C: "void *", Doc: "what shmemx_buffer_register_symmetric returned"},
			{Name: "length", C: "size_t", Unit: "bytes", Doc: "as it was registered"},
		},
		Front: "shmemi_buffer_unregister(mmap_ptr, length, $call)",
		Doc: "Makes a buffer the program's own again, where it is and with what it holds: in main memory it has private pages, of which there are " +
			"two until the call returns. On memory of a GPU no stream or kernel may be at work by its address in the heap. Its place in the symmetric heap is free. Every PE makes the call together. shmem_finalize does the " +
			"same for all buffers that are registered.",
		Returns: "0, or non-zero on every PE alike when one cannot; the buffer is symmetric still." + bufferFailure,
		Errors:  "Its result. Ends the job when called before init or after finalize.",
		Order:   "Begins with a barrier.",
	}),
}

package spec

// This file has the calls that register buffers of the program as symmetric memory.

// bufferRow completes the table row of a function that registers or unregisters a buffer: its
// section, its first release, and that NVSHMEM has it, too.
func bufferRow(f Family) Family {
	f.Section, f.Since, f.Nvshmem = "buffers", "0.1", true
	return f
}

const bufferFailure = " The call then sets the calling thread's last error to SHMEMX_ERROR_BUFFER. shmemx_last_error_text gives the reason; " +
	"on the other PEs it gives the number of the first PE that refused."

var bufferCalls = []Family{
	bufferRow(Family{
		Name: "buffer_register_symmetric", Result: "void *",
		Params: []Param{
			{Name: "buf_ptr", C: "void *", Doc: "the buffer; in main memory at the start of a page. Each PE may have it at another address"},
			{Name: "length", C: "size_t", Unit: "bytes", Doc: "of the buffer, in main memory whole pages; the same on every PE"},
			{Name: "flags", C: "int", Doc: "0"},
		},
		Front: "shmemi_buffer_register(buf_ptr, length, flags, $call)",
		Doc: "Makes a buffer of the program symmetric memory and keeps its contents. The buffer is private host memory from any allocator or, " +
			"with SHMEM_HEAP=device, memory of this PE's GPU that was mapped by cuMemMap; GPU memory must begin at the same offset from a " +
			"multiple of the driver's granularity on every PE. The buffer stays where it is, and pointers into it stay valid. It also takes " +
			"room in the symmetric heap, and the result is its address there. Both addresses show the same memory. Host calls and calls on " +
			"streams take either one; to name the buffer of another PE, pass an address of the caller's own. Kernels take only the " +
			"result, and puts to it are as fast as to any memory of the heap. For memory that is in the symmetric heap already the result is " +
			"buf_ptr. The program must not write to the buffer during the call, nor free it before it has been unregistered. " +
			"All PEs make the call together. At most 1024 buffers are registered at a time.",
		Returns: "The symmetric address of the buffer, or NULL on every PE when one PE cannot register its own; every buffer then stays as it was." + bufferFailure,
		Errors:  "A failure is the result NULL. Ends the job when called before init or after finalize.",
		Order: "Begins as shmem_quiet does, for the caller's operations on the default context, and ends with a barrier, so that the buffer of " +
			"every PE may be used at once.",
	}),
	bufferRow(Family{
		Name: "buffer_unregister_symmetric", Result: "int",
		Params: []Param{
			{Name: "mmap_ptr", C: "void *", Doc: "what shmemx_buffer_register_symmetric returned"},
			{Name: "length", C: "size_t", Unit: "bytes", Doc: "of the buffer, as at its registration"},
		},
		Front: "shmemi_buffer_unregister(mmap_ptr, length, $call)",
		Doc: "Makes a buffer the program's own again, at its place and with its contents, and frees its room in the symmetric heap. A buffer in " +
			"main memory gets private pages, so that the call temporarily needs twice the memory. No stream or kernel may still use " +
			"the heap address of a buffer in GPU memory. All PEs make the call together. shmem_finalize unregisters all buffers that are " +
			"still registered.",
		Returns: "0, or non-zero on every PE when one PE cannot unregister its own; the buffers then stay symmetric." + bufferFailure,
		Errors:  "A failure is a non-zero result. Ends the job when called before init or after finalize.",
		Order:   "Begins with a barrier.",
	}),
}

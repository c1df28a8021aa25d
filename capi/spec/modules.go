package spec

// moduleCalls are the extensions for kernels in modules that the program loads while it runs.
var moduleCalls = []Family{
	moduleInit("cumodule_init", "struct CUmod_st *", "module", "Initialises the library in the kernels of a module that was loaded with the driver's "+
		"cuModuleLoad or a similar function. Call it before they use the library."),
	moduleEnd("cumodule_finalize", "struct CUmod_st *", "module", "Ends the library's use in the kernels of a module. Call it "+
		"before the module is unloaded. shmem_finalize does it for all remaining modules; after it this call does nothing."),
	moduleInit("culibrary_init", "struct CUlib_st *", "library", "Initialises libshmem in the kernels of a CUDA library that was loaded with the driver's "+
		"cuLibraryLoad or a similar function. Call it before they use libshmem."),
	moduleEnd("culibrary_finalize", "struct CUlib_st *", "library", "Ends libshmem's use in the kernels of a CUDA library. Call it "+
		"before that library is unloaded. shmem_finalize does it for all remaining libraries; after it this call does nothing."),
}

// moduleInit returns the table row of a function that initialises a module or library of the CUDA
// driver: c is the C type of the parameter, and param its name.
func moduleInit(name, c, param, doc string) Family {
	f := moduleRow(name, c, param, doc)
	f.Returns = "0, or non-zero after a message when the PE has no GPU, or when the code does not include this release of shmem/shmem.cuh."
	f.Errors = "Ends the job when called before init or after finalize."
	return f
}

// moduleEnd returns the table row of a function that ends the use of a module or library.
func moduleEnd(name, c, param, doc string) Family {
	f := moduleRow(name, c, param, doc)
	f.Returns = "0, or non-zero after a message."
	f.Errors = "Code that was not passed to an init call is reported; the job goes on."
	return f
}

// moduleRow returns the table row of a function with one parameter, a module or library.
func moduleRow(name, c, param, doc string) Family {
	return Family{
		Name: name, Section: "modules", Since: "0.1", Result: "int", Nvshmem: true,
		Params: []Param{{Name: param, C: c, Doc: "the driver's handle, a CU" + param}},
		Front:  "shmemi_" + name + "(" + param + ", $call)",
		Doc:    doc,
	}
}

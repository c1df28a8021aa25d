package spec

// Kernels in code that the program loads while it runs.

var moduleCalls = []Family{
	moduleRow("cumodule_init", "struct CUmod_st *", "module", "Gives the job to the kernels of a module that was loaded with the driver's "+
		"cuModuleLoad and its relatives. It has to be called before they use the library."),
	moduleRow("cumodule_finalize", "struct CUmod_st *", "module", "Takes the job away from the kernels of a module. It has to be called "+
		"before the module is unloaded; shmem_finalize does it for those that are left."),
	moduleRow("culibrary_init", "struct CUlib_st *", "library", "Gives the job to the kernels of a library that was loaded with the driver's "+
		"cuLibraryLoad and its relatives. It has to be called before they use the library."),
	moduleRow("culibrary_finalize", "struct CUlib_st *", "library", "Takes the job away from the kernels of a library. It has to be called "+
		"before the library is unloaded; shmem_finalize does it for those that are left."),
}

func moduleRow(name, c, param, doc string) Family {
	return Family{
		Name: name, Section: "modules", Since: "0.1", Result: "int",
		Params: []Param{{Name: param, C: c, Doc: "as the driver names it"}},
		Front:  "shmemi_" + name + "(" + param + ", $call)",
		Doc:    doc, Returns: "0, or non-zero after a message when the PE has no GPU, or when the code does not include shmem/shmem.cuh or another release of it.",
		Errors: "Ends the job when called before init or after finalize.",
	}
}

package spec

// deprecated has functions of OpenSHMEM under their earlier names, which the specification
// deprecates.
var deprecated = Chapter{
	File:  "deprecated",
	Title: "Deprecated Names",
	Over:  []string{"deprecated.h", "front.h", "memory.h", "query.h", "until.h"},
	Families: append(append([]Family{
		oldAtomic("fetch", "atomic_fetch"),
		oldAtomic("set", "atomic_set"),
		oldAtomic("cswap", "atomic_compare_swap"),
		oldAtomic("swap", "atomic_swap"),
		oldAtomic("finc", "atomic_fetch_inc"),
		oldAtomic("inc", "atomic_inc"),
		oldAtomic("fadd", "atomic_fetch_add"),
		oldAtomic("add", "atomic_add"),
	}, oldWaits...), oldSingles...),
}

// oldAtomic returns the table row of an atomic operation under the name that it had before
// OpenSHMEM 1.4; `now` is its present name. The row has the types of the present one, but no form
// that is nonblocking, takes a context, is on a stream, or is for kernels or Python.
func oldAtomic(name, now string) Family {
	for _, f := range atomics.Families {
		if f.Name != now {
			continue
		}
		var params []Param
		for _, p := range f.Params {
			if !p.Nbi {
				params = append(params, p)
			}
		}
		f.Params = params
		f.Name, f.Like, f.Instead = name, now, "shmem_"+now
		f.Variants, f.FrontNbi, f.DocNbi, f.Contexts = 0, "", "", false
		f.Kernel, f.Stream, f.Python = nil, nil, nil
		return f
	}
	panic("spec: no " + now)
}

// waitedTypes are the types of the waits without a comparison operator.
var waitedTypes = append([]Type{tShort, tUShort}, AMOTypes...)

var oldWaits = []Family{
	{
		Name: "wait", Section: "SHMEM_WAIT", Since: "0.1", Range: RangeWait,
		Types: waitedTypes, Plain: true, Instead: "shmem_wait_until with SHMEM_CMP_NE",
		Params: []Param{waitVar, {Name: "cmp_value", C: "T", Doc: "the wait ends when the variable differs from it"}},
		Front:  "shmemi_wait_$S(ivar, SHMEM_CMP_NE, cmp_value, $call)",
		Doc:    "Waits until a variable of the caller is not equal to cmp_value.",
		Errors: "As wait_until.", Order: "As wait_until.",
		Check: CheckChange,
	},
	{
		Name: "wait_until", Section: "SHMEM_WAIT_UNTIL", Since: "0.1", Range: RangeWait,
		Types: []Type{tShort, tUShort}, Plain: true, Instead: "a type of at least 32 bits",
		Params: []Param{waitVar, waitCmp, waitValue},
		Front:  "shmemi_wait_$S(ivar, cmp, cmp_value, $call)",
		Doc:    "Waits until a variable of the caller satisfies the comparison.",
		Errors: "As wait_until of other types.", Order: "As wait_until of other types.",
		Check: CheckWait,
	},
	{
		Name: "test", Section: "SHMEM_TEST", Since: "0.1", Range: RangeTest,
		Types: []Type{tShort, tUShort}, Plain: true, Result: "int", Instead: "a type of at least 32 bits",
		Params:  []Param{waitVar, waitCmp, waitValue},
		Front:   "shmemi_test_$S(ivar, cmp, cmp_value, $call)",
		Doc:     "Reports at once whether a variable of the caller satisfies the comparison.",
		Returns: "1 or 0.",
		Errors:  "As test of other types.", Order: "As test of other types.",
		Check: CheckTest,
	},
}

// oldSingle returns the table row of a deprecated function that is one C function, `symbol`,
// without an element type; `instead` names the function to use now, and front is the C code behind
// it.
func oldSingle(symbol, section, instead, front, doc string, result, returns string, params ...Param) Family {
	return Family{
		Name: symbol, Symbol: symbol, Section: section, Since: "0.1", Instead: instead,
		Result: result, Returns: returns, Params: params, Front: front, Doc: doc,
		Errors: "As " + instead + ".",
	}
}

// oldMemory returns the row of a deprecated function that allocates or frees.
func oldMemory(symbol, section, instead, front, doc string, result, returns string, params ...Param) Family {
	f := oldSingle(symbol, section, instead, front, doc, result, returns, params...)
	f.Range = RangeAlloc
	return f
}

var oldSingles = []Family{
	{
		Name: "wait_until", Symbol: "shmem_wait_until", Range: RangeWait, Section: "SHMEM_WAIT_UNTIL", Since: "0.1", DeprecatedInC: true,
		Instead: "shmem_long_wait_until",
		Params: []Param{
			{Name: "ivar", C: "long *", Role: Watched, Doc: "changed by other PEs"},
			waitCmp,
			{Name: "cmp_value", C: "long", Doc: "right-hand side of the comparison"},
		},
		Front: "shmemi_wait_i64(ivar, cmp, cmp_value, $call)",
		Doc: "Waits until a variable of the caller satisfies the comparison. In C11 the name stands for the functions of " +
			"all types, and is not deprecated.",
		Errors: "As shmem_long_wait_until.", Order: "As shmem_long_wait_until.",
	},
	{
		Name: "wait", Symbol: "shmem_wait", Range: RangeWait, Section: "SHMEM_WAIT", Since: "0.1",
		Instead: "shmem_long_wait_until with SHMEM_CMP_NE",
		Params: []Param{
			{Name: "ivar", C: "long *", Role: Watched, Doc: "changed by other PEs"},
			{Name: "cmp_value", C: "long", Doc: "the wait ends when the variable differs from it"},
		},
		Front:  "shmemi_wait_i64(ivar, SHMEM_CMP_NE, cmp_value, $call)",
		Doc:    "Waits until a variable of the caller is not equal to cmp_value.",
		Errors: "As shmem_long_wait_until.", Order: "As shmem_long_wait_until.",
	},
	{
		Name: "start_pes", Symbol: "start_pes", Section: "START_PES", Since: "0.1", Instead: "shmem_init",
		Params: []Param{{Name: "npes", C: "int", Doc: "ignored"}},
		Front:  "shmemi_start_pes(npes, $call)",
		Doc: "Does what shmem_init does, and makes the library call shmem_finalize when the program ends with exit(0) or by " +
			"returning 0 from main. A program that ends in another way ends the job. A second call does nothing.",
		Errors: "As shmem_init.",
	},
	oldSingle("_my_pe", "SHMEM_MY_PE", "shmem_my_pe", "shmemi_my_pe($call)",
		"Returns the number of the calling PE.", "int", "0 to shmem_n_pes() - 1."),
	oldSingle("_num_pes", "SHMEM_N_PES", "shmem_n_pes", "shmemi_n_pes($call)",
		"Returns the number of PEs in the job.", "int", "1 or more."),
	oldMemory("shmalloc", "SHMEM_MALLOC", "shmem_malloc", "shmemi_malloc(size, $call)",
		"Allocates symmetric memory.", "void *", "As shmem_malloc.",
		Param{Name: "size", C: "size_t", Unit: "bytes", Doc: "wanted"}),
	oldMemory("shfree", "SHMEM_FREE", "shmem_free", "shmemi_free(ptr, $call)",
		"Frees a block of symmetric memory.", "", "",
		Param{Name: "ptr", C: "void *", Doc: "a block that an allocation returned, or NULL to free nothing"}),
	oldMemory("shrealloc", "SHMEM_REALLOC", "shmem_realloc", "shmemi_realloc(ptr, size, $call)",
		"Changes the size of a block of symmetric memory.", "void *", "As shmem_realloc.",
		Param{Name: "ptr", C: "void *", Doc: "a block that an allocation returned, or NULL to allocate"},
		Param{Name: "size", C: "size_t", Unit: "bytes", Doc: "wanted; 0 frees the block"}),
	oldMemory("shmemalign", "SHMEM_ALIGN", "shmem_align", "shmemi_align(alignment, size, $call)",
		"Allocates symmetric memory at a multiple of alignment.", "void *", "As shmem_align.",
		Param{Name: "alignment", C: "size_t", Doc: "a power of two, in bytes; below sizeof(void *) it is rounded up"},
		Param{Name: "size", C: "size_t", Unit: "bytes", Doc: "wanted"}),
	cacheRow("clear_cache_inv", ""), cacheRow("set_cache_inv", ""),
	cacheRow("clear_cache_line_inv", "dest"), cacheRow("set_cache_line_inv", "dest"),
	cacheRow("udcflush", ""), cacheRow("udcflush_line", "dest"),
}

// cacheRow returns the table row of a deprecated function that controlled caches on machines whose
// caches were not coherent. param is the name of its only parameter, or "".
func cacheRow(name, param string) Family {
	f := Family{
		Name: name, Section: "SHMEM_CACHE", Since: "0.1", Instead: "no call: caches are coherent",
		Front: "shmemi_coherent($call)",
		Doc: "Makes the writes of other PEs visible to the caller's loads. On machines with coherent caches, writes " +
			"are always visible, and the call only keeps the compiler from moving loads across it.",
		Errors: "Ends the job when called before init or after finalize.",
	}
	if param != "" {
		f.Params = []Param{{Name: param, C: "void *", Doc: "any object of the caller"}}
		f.Front = "(void)" + param + ";\n" + f.Front
	}
	return f
}

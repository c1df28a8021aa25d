package spec

const atomicOrder = "Atomic with every other atomic of this library on the object, whichever PE and " +
	"path it comes from; not with plain loads and stores. Only shmem_fence and shmem_quiet order it " +
	"with other operations."

const atomicNbi = "The same, but it may return before that. When the next quiet returns, the object is changed and fetch has the old value."

var (
	amoDest   = Param{Name: "dest", C: "T *", Role: Updated}
	amoSource = Param{Name: "source", C: "const T *", Role: Read}
	amoFetch  = Param{Name: "fetch", C: "T *", Role: Result, Doc: "receives the value before the operation; must stay valid until the next quiet", Nbi: true}
	amoValue  = Param{Name: "value", C: "T", Doc: "operand"}
)

const oldValue = "The value before the operation."

var atomics = Chapter{
	File:   "atomics",
	Title:  "Atomic Memory Operations",
	Kernel: kernelAtomics,
	Families: []Family{
		{
			Name: "atomic_fetch", Section: "SHMEM_ATOMIC_FETCH", Since: "0.1", Contexts: true,
			Types: ExtendedAMOTypes, Variants: Nbi, Result: "T",
			Params:   []Param{amoFetch, amoSource, paramPE},
			Front:    "back(shmemi_amo$W($ctx, SHMEMI_AMO_FETCH, source, 0, 0, pe, $call))",
			FrontNbi: "shmemi_amo$W_nbi($ctx, SHMEMI_AMO_FETCH, fetch, source, 0, 0, pe, $call)",
			Kernel: append(inKernel(ExtendedAMOTypes, "FETCH", "source, ($T)0, ($T)0", true), Kernel{
				Types: kernelHalf, Contexts: true, Body: "shmemi_g<$T>($job, $call, source, pe)", Doc: halfOnly,
			}),
			Doc:     "Reads an object of another PE atomically.",
			DocNbi:  "The same, but it may return before that. When the next quiet returns, fetch has the value.",
			Returns: "The value.",
			Python:  &Python{Doc: "Read an element atomically.", Returns: "The element, of the array's dtype."},
			Errors:  atomicErrors, Order: atomicOrder, Check: CheckAtomic,
		},
		{
			Name: "atomic_set", Section: "SHMEM_ATOMIC_SET", Since: "0.1", Contexts: true,
			Types:  ExtendedAMOTypes,
			Params: []Param{amoDest, amoValue, paramPE},
			Front:  "shmemi_amo$W($ctx, SHMEMI_AMO_SET, dest, bits(value), 0, pe, $call)",
			Kernel: append(inKernel(ExtendedAMOTypes, "SET", "dest, value, ($T)0", false), Kernel{
				Types: kernelHalf, Contexts: true, Body: "shmemi_set_half<$T>($job, $call, dest, value, pe)", Doc: halfOnly,
			}),
			Doc:    "Writes an object of another PE atomically.",
			Python: &Python{Doc: "Write an element atomically."},
			Errors: atomicErrors, Order: atomicOrder, Check: CheckAtomic,
		},
		{
			Name: "atomic_compare_swap", Section: "SHMEM_ATOMIC_COMPARE_SWAP", Since: "0.1", Contexts: true,
			Types: AMOTypes, Variants: Nbi, Result: "T",
			Params: []Param{
				amoFetch, amoDest,
				{Name: "cond", C: "T", Doc: "value that the object must have to be changed"},
				{Name: "value", C: "T", Doc: "what it becomes then"},
				paramPE,
			},
			Front:    "shmemi_amo$W($ctx, SHMEMI_AMO_CSWAP, dest, bits(value), bits(cond), pe, $call)",
			FrontNbi: "shmemi_amo$W_nbi($ctx, SHMEMI_AMO_CSWAP, fetch, dest, bits(value), bits(cond), pe, $call)",
			Kernel:   inKernel(AMOTypes, "CSWAP", "dest, value, cond", true),
			Doc:      "Replaces an object of another PE if it has the expected value.",
			DocNbi:   atomicNbi, Returns: oldValue + " The object was changed if that equals cond.",
			Python: &Python{Doc: "Write value if the element is cond, and return the value before.", Returns: pythonOld},
			Errors: atomicErrors, Order: atomicOrder, Check: CheckAtomic,
		},
		{
			Name: "atomic_swap", Section: "SHMEM_ATOMIC_SWAP", Since: "0.1", Contexts: true,
			Types: ExtendedAMOTypes, Variants: Nbi, Result: "T",
			Params:   []Param{amoFetch, amoDest, amoValue, paramPE},
			Front:    "back(shmemi_amo$W($ctx, SHMEMI_AMO_SWAP, dest, bits(value), 0, pe, $call))",
			FrontNbi: "shmemi_amo$W_nbi($ctx, SHMEMI_AMO_SWAP, fetch, dest, bits(value), 0, pe, $call)",
			Kernel: append(inKernel(ExtendedAMOTypes, "SWAP", "dest, value, ($T)0", true), Kernel{
				Types: kernelHalf, Contexts: true, Body: "shmemi_swap_half<$T>($job, $call, dest, value, pe)", Doc: halfOnly,
			}),
			Doc:    "Writes an object of another PE and returns the value before.",
			DocNbi: atomicNbi, Returns: oldValue,
			Python: &Python{Doc: "Write an element and return the value before.", Returns: pythonOld},
			Errors: atomicErrors, Order: atomicOrder, Check: CheckAtomic,
		},
		{
			Name: "atomic_fetch_inc", Section: "SHMEM_ATOMIC_FETCH_INC", Since: "0.1", Contexts: true,
			Types: AMOTypes, Variants: Nbi, Result: "T",
			Params:   []Param{amoFetch, amoDest, paramPE},
			Front:    "shmemi_amo$W($ctx, SHMEMI_AMO_FETCH_ADD, dest, 1, 0, pe, $call)",
			FrontNbi: "shmemi_amo$W_nbi($ctx, SHMEMI_AMO_FETCH_ADD, fetch, dest, 1, 0, pe, $call)",
			Kernel:   inKernel(AMOTypes, "FETCH_ADD", "dest, ($T)1, ($T)0", true),
			Doc:      "Adds one to an object of another PE, modulo its width, and returns the value before.",
			DocNbi:   atomicNbi, Returns: oldValue,
			Python: &Python{Doc: "Add one to an element and return the value before.", Returns: pythonOld},
			Errors: atomicErrors, Order: atomicOrder, Check: CheckAtomic,
		},
		{
			Name: "atomic_inc", Section: "SHMEM_ATOMIC_INC", Since: "0.1", Contexts: true,
			Types:  AMOTypes,
			Params: []Param{amoDest, paramPE},
			Front:  "shmemi_amo$W($ctx, SHMEMI_AMO_ADD, dest, 1, 0, pe, $call)",
			Kernel: inKernel(AMOTypes, "ADD", "dest, ($T)1, ($T)0", false),
			Doc:    "Adds one to an object of another PE, modulo its width.",
			Python: &Python{Doc: "Add one to an element."},
			Errors: atomicErrors, Order: atomicOrder, Check: CheckAtomic,
		},
		{
			Name: "atomic_fetch_add", Section: "SHMEM_ATOMIC_FETCH_ADD", Since: "0.1", Contexts: true,
			Types: AMOTypes, Variants: Nbi, Result: "T",
			Params:   []Param{amoFetch, amoDest, amoValue, paramPE},
			Front:    "shmemi_amo$W($ctx, SHMEMI_AMO_FETCH_ADD, dest, bits(value), 0, pe, $call)",
			FrontNbi: "shmemi_amo$W_nbi($ctx, SHMEMI_AMO_FETCH_ADD, fetch, dest, bits(value), 0, pe, $call)",
			Kernel: append(inKernel(AMOTypes, "FETCH_ADD", "dest, value, ($T)0", true),
				sumInKernel(kernelReal, "shmemi_fetch_add_real<$T>($job, $call, dest, value, pe)"),
				sumInKernel(kernelHalf, "shmemi_fetch_add_half<$T>($job, $call, dest, value, pe)")),
			Doc:    "Adds to an object of another PE, modulo its width, and returns the value before.",
			DocNbi: atomicNbi, Returns: oldValue,
			Python: &Python{
				Doc:     "Add to an element and return the value before.",
				Returns: pythonOld,
				DocNbi:  "Do what `atomic_fetch_add` does; the old value is in fetch after the next `quiet`.",
			},
			Errors: atomicErrors, Order: atomicOrder, Check: CheckAtomic,
		},
		{
			Name: "atomic_add", Section: "SHMEM_ATOMIC_ADD", Since: "0.1", Contexts: true,
			Types:  AMOTypes,
			Params: []Param{amoDest, amoValue, paramPE},
			Front:  "shmemi_amo$W($ctx, SHMEMI_AMO_ADD, dest, bits(value), 0, pe, $call)",
			Kernel: append(inKernel(AMOTypes, "ADD", "dest, value, ($T)0", false),
				sumInKernel(kernelReal, "shmemi_add_real<$T>($job, $call, dest, value, pe)"),
				sumInKernel(kernelHalf, "(void)shmemi_fetch_add_half<$T>($job, $call, dest, value, pe)")),
			Doc:    "Adds to an object of another PE, modulo its width.",
			Python: &Python{Doc: "Add to an element, modulo its width."},
			Errors: atomicErrors, Order: atomicOrder, Check: CheckAtomic,
		},
		bitwiseFetch("and", "AND"), bitwise("and", "AND", "and"),
		bitwiseFetch("or", "OR"), bitwise("or", "OR", "or"),
		bitwiseFetch("xor", "XOR"), bitwise("xor", "XOR", "exclusive or"),
	},
}

// bitwise returns the table row of a bitwise atomic operation without a result: name is "xor",
// capitals "XOR", and prose "exclusive or".
func bitwise(name, capitals, prose string) Family {
	return Family{
		Name: "atomic_" + name, Section: "SHMEM_ATOMIC_" + capitals, Since: "0.1", Contexts: true,
		Types:  BitwiseAMOTypes,
		Params: []Param{amoDest, amoValue, paramPE},
		Front:  "shmemi_amo$W($ctx, SHMEMI_AMO_" + capitals + ", dest, bits(value), 0, pe, $call)",
		Kernel: inKernel(BitwiseAMOTypes, capitals, "dest, value, ($T)0", false),
		Doc:    "Combines an object of another PE with value by a bitwise " + capitals + ".",
		Python: &Python{Doc: "Combine an element with value by a bitwise " + prose + "."},
		Errors: atomicErrors, Order: atomicOrder, Check: CheckAtomic,
	}
}

// bitwiseFetch returns the table row of a bitwise atomic operation that returns the old value. name
// and capitals are as "xor" and "XOR".
func bitwiseFetch(name, capitals string) Family {
	return Family{
		Name: "atomic_fetch_" + name, Section: "SHMEM_ATOMIC_FETCH_" + capitals, Since: "0.1", Contexts: true,
		Types: BitwiseAMOTypes, Variants: Nbi, Result: "T",
		Params: []Param{amoFetch, amoDest, amoValue, paramPE},
		Front:  "shmemi_amo$W($ctx, SHMEMI_AMO_FETCH_" + capitals + ", dest, bits(value), 0, pe, $call)",
		FrontNbi: "shmemi_amo$W_nbi($ctx, SHMEMI_AMO_FETCH_" + capitals +
			", fetch, dest, bits(value), 0, pe, $call)",
		Kernel: inKernel(BitwiseAMOTypes, "FETCH_"+capitals, "dest, value, ($T)0", true),
		Doc: "Combines an object of another PE with value by a bitwise " + capitals +
			" and returns the value before.",
		Python: &Python{Doc: "Do what `atomic_" + name + "` does, and return the value before.", Returns: pythonOld},
		DocNbi: atomicNbi, Returns: oldValue,
		Errors: atomicErrors, Order: atomicOrder, Check: CheckAtomic,
	}
}

const halfOnly = "Half precision, which the specification does not have."

// pythonOld describes, in docstrings of Python, the result of atomic operations that return the old
// value.
const pythonOld = "The value before, of the array's dtype."

// inKernel returns the kernels' form of an atomic operation. kind is the end of its SHMEMI_KIND
// constant, and args the arguments before the PE. fetches: the operation returns the old value.
func inKernel(types []Type, kind, args string, fetches bool) []Kernel {
	body := "shmemi_amo<SHMEMI_KIND_" + kind + ", $T>($job, $call, " + args + ", pe)"
	if !fetches {
		body = "(void)" + body
	}
	return []Kernel{{Types: types, Contexts: true, Body: body, Doc: "As on the host; unordered with other operations."}}
}

// sumInKernel returns the form in kernels of an addition to a floating-point number, which the host
// does not have.
func sumInKernel(types []Type, body string) Kernel {
	return Kernel{Types: types, X: true, Body: body, Doc: "A sum of floating-point numbers, rounded at each addition."}
}

package spec

const remoteErrors = "Ends the job when pe is not a PE, when the symmetric range is not within the heap, " +
	"the program's variables or a registered buffer, and when called before init or after finalize."

const atomicErrors = "Ends the job when pe is not a PE, when the object is not aligned to its size or not within the " +
	"heap, the program's variables or a registered buffer, and when called before init or after finalize."

var (
	paramPE     = Param{Name: "pe", C: "int", Doc: "number of the other PE, or the caller's own"}
	paramNelems = Param{Name: "nelems", C: "size_t", Unit: "elements", Doc: "to copy"}
)

var rma = Chapter{
	File:   "rma",
	Title:  "Remote Memory Access Routines",
	Kernel: kernelRMA,
	Families: []Family{
		{
			Name: "put", Section: "SHMEM_PUT", Since: "0.1", Contexts: true,
			Types: RMATypes, Variants: Nbi | Sized | Mem,
			Params: []Param{
				{Name: "dest", C: "T *", Role: Written},
				{Name: "source", C: "const T *", Role: Source},
				paramNelems, paramPE,
			},
			Front: "shmemi_put$nbi($ctx, dest, source, $nbytes, pe, $call)",
			Kernel: []Kernel{{
				Types: KernelTypes, Variants: Nbi | Sized | Mem, Scopes: allScopes, Contexts: true,
				Body: "shmemi_put<$scope, $nbi>($job, $call, dest, source, $bytes, pe)",
			}},
			Stream: &Stream{
				Types: StreamTypes, Variants: Nbi | Sized | Mem, Range: RangeRMA,
				Front:  "shmemi_stream_put$nbi(dest, source, $nbytes, pe, stream, $call)",
				Doc:    "Copies an array to another PE when the stream reaches it. Later work in the stream may reuse source, and begins when dest is written at pe.",
				DocNbi: "Copies as put does, but source may be reused, and dest is written, only after the next quiet on the stream.",
			},
			Doc: "Copies an array to another PE. It returns when source may be reused; the data may " +
				"still be in flight.",
			DocNbi: "Copies as put does, but source may be reused only after the next quiet.",
			Python: &Python{
				Doc: "Copy source into dest at another PE, and return when source may be reused.\n\n" +
					"`put(a, 5, pe=1)` fills a. Slices with strides are copied as they are.",
				DocNbi: "Do what `put` does, but source may be reused only after the next `quiet`.\n\n" +
					"Temporary arrays are kept until then.",
				Stream: "put", Notify: "putmem_notify",
			},
			Errors: remoteErrors,
			Order:  "None between two puts. shmem_fence orders them for each PE, shmem_quiet completes them.",
			Check:  CheckPut,
		},
		{
			Name: "p", Section: "SHMEM_P", Since: "0.1", Contexts: true,
			Types: RMATypes,
			Params: []Param{
				{Name: "dest", C: "T *", Role: Written},
				{Name: "value", C: "T", Doc: "to write"},
				paramPE,
			},
			Front: "shmemi_p($ctx, dest, &value, sizeof value, pe, $call)",
			Kernel: []Kernel{{
				Types: KernelTypes, Contexts: true,
				Body: "shmemi_p<$T>($job, $call, dest, value, pe)",
			}},
			Stream: &Stream{
				Types: StreamTypes, Range: RangeRMA,
				Front: "shmemi_stream_p(dest, &value, sizeof value, pe, stream, $call)",
				Doc:   "Writes one element to another PE when the stream reaches it.",
			},
			Doc: "Writes one element to another PE. An aligned element of at most 8 bytes arrives whole, so " +
				"that a reader never sees half of it.",
			Python: &Python{
				Doc:    "Write one element of dest, which arrives whole if it has at most 8 bytes.",
				Longer: "put",
			},
			Errors: remoteErrors,
			Order:  "As put.",
			Check:  CheckPut,
		},
		{
			Name: "get", Section: "SHMEM_GET", Since: "0.1", Contexts: true,
			Types: RMATypes, Variants: Nbi | Sized | Mem,
			Params: []Param{
				{Name: "dest", C: "T *", Role: Result},
				{Name: "source", C: "const T *", Role: Read},
				paramNelems, paramPE,
			},
			Front: "shmemi_get$nbi($ctx, dest, source, $nbytes, pe, $call)",
			Kernel: []Kernel{{
				Types: KernelTypes, Variants: Nbi | Sized | Mem, Scopes: allScopes, Contexts: true,
				Body: "shmemi_get<$scope, $nbi>($job, $call, dest, source, $bytes, pe)",
			}},
			Stream: &Stream{
				Types: StreamTypes, Variants: Nbi | Sized | Mem, Range: RangeRMA,
				Front:  "shmemi_stream_get$nbi(dest, source, $nbytes, pe, stream, $call)",
				Doc:    "Copies an array from another PE when the stream reaches it. Later work in the stream finds it in dest.",
				DocNbi: "Copies as get does, but later work in the stream may begin before the data is in dest; it is there after the next quiet on the stream.",
			},
			Doc:    "Copies an array from another PE. It returns when the data is in dest.",
			DocNbi: "Copies as get does, but may return before the data is in dest. It is there when the next quiet returns.",
			Python: &Python{
				Doc: "Copy source at another PE into dest, and return when the data is there.\n\n" +
					"Slices with strides are copied as they are.",
				DocNbi: "Do what `get` does, but the data is in dest after the next `quiet`.\n\n" +
					"Both arrays are contiguous.",
				Stream: "get",
			},
			Errors: remoteErrors,
			Order:  "None with respect to the caller's earlier puts; shmem_quiet completes those first.",
			Check:  CheckGet,
		},
		{
			Name: "g", Section: "SHMEM_G", Since: "0.1", Contexts: true,
			Types: RMATypes, Result: "T",
			Params: []Param{{Name: "source", C: "const T *", Role: Read}, paramPE},
			Front:  "$T value;\nshmemi_g($ctx, &value, source, sizeof value, pe, $call);\nvalue",
			Kernel: []Kernel{{
				Types: KernelTypes, Contexts: true,
				Body: "shmemi_g<$T>($job, $call, source, pe)",
			}},
			Stream: &Stream{
				Types: StreamTypes, Range: RangeRMA,
				Front: "$T value;\nshmemi_stream_g(&value, source, sizeof value, pe, stream, $call);\nvalue",
				Doc:   "Waits until the stream has done its earlier work, and reads one element of another PE. It cannot be captured.",
			},
			Doc:     "Reads one element of another PE.",
			Returns: "The element.",
			Python: &Python{
				Doc:     "Read one element of source at another PE.",
				Returns: "The element, of the dtype of `source`.",
				Longer:  "get",
				// ctypes converts a float to a double, which changes some NaNs, so floats do not
				// use the fast path.
				Slow: []Type{tFloat},
			},
			Errors: remoteErrors,
			Order:  "As get.",
			Check:  CheckGet,
		},
	},
}

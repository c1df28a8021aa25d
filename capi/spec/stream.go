package spec

import (
	"slices"
	"strings"
)

// The extensions for programs with a GPU: what the host has a stream do, and the
// kernels of modules; errors.go has the others. capi/gen makes include/shmemx.h of them and the functions
// behind it.
//
// In the Front of a row, beside what package spec says of it, $element is the
// number of the element type, and $op that of the operation.

// ExtensionHeader is the public header of the extensions.
const ExtensionHeader = "shmemx.h"

// A Call is a row: a family whose names begin with shmemx_.
type Call struct {
	Family
	Suffix string // "_on_stream"
}

// Functions lists a row's names: as Family's, with another prefix and the suffix.
func (c *Call) Functions() []Function {
	var out []Function
	for _, f := range c.Family.Functions() {
		f.Name = "shmemx_" + strings.TrimPrefix(f.Name, "shmem_") + c.Suffix
		f.Family = &c.Family
		out = append(out, f)
	}
	return out
}

// ExtensionNames lists every function of the table.
func ExtensionNames() []string {
	var out []string
	for i := range Extensions {
		for _, f := range Extensions[i].Functions() {
			out = append(out, f.Name)
		}
	}
	return out
}

// Element is the constant of abi/table for a type that reductions take.
func Element(t Type) string {
	switch {
	case t.Name == "half":
		return "SHMEMI_F16"
	case t.Name == "bfloat16":
		return "SHMEMI_BF16"
	case t.Kind == Real:
		return "SHMEMI_F" + decimal(t.Bits)
	case t.Kind == Signed:
		return decimal(t.Bits/8) + " | SHMEMI_SIGNED"
	}
	return decimal(t.Bits / 8)
}

var (
	// A program in C, or without CUDA's headers, can pass pointers to them.
	tStreamHalf     = Type{"half", "struct __half", Late, 16, ""}
	tStreamBFloat16 = Type{"bfloat16", "struct __nv_bfloat16", Late, 16, ""}

	// StreamTypes: those of the host that GPUs have, and their own.
	StreamTypes = append(without(RMATypes, tLongDouble), tStreamHalf, tStreamBFloat16)
	// StreamReduceTypes: the same without ptrdiff_t.
	StreamReduceTypes = without(StreamTypes, tPtrdiff)
	// StreamBitTypes: integers whose bits may be combined.
	StreamBitTypes = []Type{
		tUChar, tUShort, tUInt, tULong, tULongLong, tSize,
		tInt8, tInt16, tInt32, tInt64, tUInt8, tUInt16, tUInt32, tUInt64,
	}
)

const (
	onStream     = "_on_stream"
	streamErrors = "Ends the job when the PE has no GPU or its heap is in main memory, when the file of the " +
		"library's kernels is missing and the call needs it, when the driver refuses, and as the call " +
		"without a stream."
	streamOrder = "After what the stream was given before, and before what it is given next."
)

var (
	stream     = Param{Name: "stream", C: "struct CUstream_st *", Doc: "a cudaStream_t or CUstream of this PE's GPU"}
	streamWait = []Param{
		{Name: "ivars", C: "T *", Role: Watched, Doc: "changed by other PEs"},
		{Name: "nelems", C: "size_t", Unit: "elements", Doc: "of ivars"},
		{Name: "status", C: "const int *", Role: Source, Doc: "for each element, non-zero when it does not count; NULL: all " +
			"count. Of memory that the GPU reads while the stream waits"},
		waitCmp,
	}
)

func onStreamRow(f Family, more ...Param) Call {
	f.Since, f.Section = "0.1", "on a stream"
	f.Params = append(append(append([]Param{}, f.Params...), more...), stream)
	if f.Errors == "" {
		f.Errors = streamErrors
	}
	if f.Order == "" {
		f.Order = streamOrder
	}
	return Call{f, onStream}
}

func streamReduction(name string, types []Type, what string) Call {
	return onStreamRow(Family{
		Name: name + "_reduce", Types: types, Result: "int", Range: RangeColl,
		Params: []Param{collTeam, collDest, collSource, {Name: "nreduce", C: "size_t", Unit: "elements", Doc: "of each array"}},
		Front:  "shmemi_stream_reduce(team, dest, source, nreduce, $element, SHMEMI_REDUCE_" + strings.ToUpper(name) + ", stream, $call)",
		Doc: "Makes each element of dest, at every PE of the team, " + what + " of the elements at that place in the " +
			"team's sources, combined in the order of the PEs." + apartOrSame + " Half and bfloat16 are computed as float " +
			"and rounded once for each PE.",
		Returns: zeroOnGood,
	})
}

func streamCollective(name string, params []Param, front, doc string) Call {
	return onStreamRow(Family{
		Name: name, Types: StreamTypes, Variants: Mem, Result: "int", Range: RangeColl,
		Params: params, Front: front, Doc: doc, Returns: zeroOnGood,
	})
}

// Extensions is the table.
var Extensions = slices.Concat(startCalls, bufferCalls, counterCalls, errorCalls, collectCalls, streamCalls)

var streamCalls = []Call{
	onStreamRow(Family{
		Name: "put", Range: RangeRMA, Types: StreamTypes, Variants: Nbi | Sized | Mem,
		Params: []Param{{Name: "dest", C: "T *", Role: Written}, {Name: "source", C: "const T *", Role: Source}, paramNelems, paramPE},
		Front:  "shmemi_stream_put$nbi(dest, source, $nbytes, pe, stream, $call)",
		Doc:    "Copies an array to another PE when the stream comes to it. source may be reused by what follows in the stream.",
		DocNbi: "Copies as put does, but source may be reused only after the next quiet.",
	}),
	onStreamRow(Family{
		Name: "get", Range: RangeRMA, Types: StreamTypes, Variants: Nbi | Sized | Mem,
		Params: []Param{{Name: "dest", C: "T *", Role: Result}, {Name: "source", C: "const T *", Role: Read}, paramNelems, paramPE},
		Front:  "shmemi_stream_get$nbi(dest, source, $nbytes, pe, stream, $call)",
		Doc:    "Copies an array from another PE when the stream comes to it. What follows in the stream finds it in dest.",
		DocNbi: "Copies as get does, but the data is in dest only after the next quiet.",
	}),
	onStreamRow(Family{
		Name: "p", Range: RangeRMA, Types: StreamTypes,
		Params: []Param{{Name: "dest", C: "T *", Role: Written}, {Name: "value", C: "T", Doc: "to write"}, paramPE},
		Front:  "shmemi_stream_p(dest, &value, sizeof value, pe, stream, $call)",
		Doc:    "Writes one element to another PE when the stream comes to it.",
	}),
	onStreamRow(Family{
		Name: "g", Range: RangeRMA, Types: StreamTypes, Result: "T",
		Params:  []Param{{Name: "source", C: "const T *", Role: Read}, paramPE},
		Front:   "$T value;\nshmemi_stream_g(&value, source, sizeof value, pe, stream, $call);\nvalue",
		Doc:     "Waits until the stream has done what it was given, and reads one element of another PE. It cannot be captured.",
		Returns: "The element.",
	}),
	onStreamRow(Family{
		Name: "put_signal", Range: RangeRMA, Types: StreamTypes, Variants: Nbi | Sized | Mem,
		Params: []Param{
			{Name: "dest", C: "T *", Role: Written, Doc: "must not overlap sig_addr"},
			{Name: "source", C: "const T *", Role: Source}, paramNelems, sigAddr, sigValue,
			{Name: "sig_op", C: "int", Doc: "SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD"}, paramPE,
		},
		Front:  "shmemi_stream_put_signal$nbi(dest, source, $nbytes, sig_addr, signal, sig_op, pe, stream, $call)",
		Doc:    "Copies an array to another PE when the stream comes to it, and then updates a signal word there: a PE that sees the signal also sees the data.",
		DocNbi: "Does as put_signal, but source may be reused only after the next quiet.",
	}),
	onStreamRow(Family{
		Name: "signal_op", Range: RangeSet,
		Params: []Param{sigAddr, sigValue, {Name: "sig_op", C: "int", Doc: "SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD"}, paramPE},
		Front:  "shmemi_stream_signal(sig_addr, signal, sig_op, pe, stream, $call)",
		Doc:    "Updates a signal word of another PE when the stream comes to it.",
	}),
	onStreamRow(Family{
		Name: "signal_wait_until", Range: RangeWaitOnStream,
		Params: []Param{
			{Name: "sig_addr", C: "uint64_t *", Role: Watched, Doc: "the caller's own signal word"},
			waitCmp, {Name: "cmp_value", C: "uint64_t", Doc: "right-hand side of the comparison"},
		},
		Front: "shmemi_stream_signal_wait(sig_addr, cmp, cmp_value, stream, $call)",
		Doc: "Has the stream wait until a signal word of the caller compares as asked. SHMEM_CMP_EQ and SHMEM_CMP_GE " +
			"take no place on the GPU; SHMEM_CMP_GE is that of a counter, which is at or after cmp_value when it is " +
			"less than 2^63 ahead of it.",
	}),
	onStreamRow(Family{
		Name: "wait_until", Range: RangeWaitOnStream, Types: DeviceWaitTypes,
		Params: []Param{waitVar, waitCmp, waitValue},
		Front:  "shmemi_stream_wait(ivar, 1, NULL, cmp, &cmp_value, NULL, $element, stream, $call)",
		Doc:    "Has the stream wait until a variable of the caller compares as asked.",
	}),
	onStreamRow(Family{
		Name: "wait_until_all", Range: RangeWaitOnStream, Types: DeviceWaitTypes,
		Params: append(append([]Param{}, streamWait...), waitValue),
		Front:  "shmemi_stream_wait(ivars, nelems, status, cmp, &cmp_value, NULL, $element, stream, $call)",
		Doc:    "Has the stream wait until all elements that count compare as asked.",
	}),
	onStreamRow(Family{
		Name: "wait_until_all_vector", Range: RangeWaitOnStream, Types: DeviceWaitTypes,
		Params: append(append([]Param{}, streamWait...), Param{Name: "cmp_values", C: "T *", Role: Source,
			Doc: "right-hand side for each element; as status"}),
		Front: "shmemi_stream_wait(ivars, nelems, status, cmp, NULL, cmp_values, $element, stream, $call)",
		Doc:   "Has the stream wait until all elements that count compare as asked, each with a value of its own.",
	}),
	onStreamRow(Family{
		Name: "quiet", Range: RangeQuietStream, Front: "shmemi_stream_quiet(stream, $call)",
		Doc: "Has the stream wait until all puts, atomics and nonblocking calls of streams and kernels of this PE are complete.",
	}),
	onStreamRow(Family{
		Name: "barrier_all", Range: RangeColl, Front: "(void)shmemi_stream_barrier(SHMEM_TEAM_WORLD, stream, $call)",
		Doc: "Has the stream wait until a stream of every PE has come to the call, and until all operations of streams and " +
			"kernels before are complete at every PE.",
	}),
	onStreamRow(Family{
		Name: "barrier", Range: RangeColl, Result: "int", Params: []Param{collTeam},
		Front: "shmemi_stream_barrier(team, stream, $call)",
		Doc:   "Does as barrier_all, for the PEs of a team.", Returns: zeroOnGood,
	}),
	onStreamRow(Family{
		Name: "sync_all", Range: RangeColl, Front: "(void)shmemi_stream_sync(SHMEM_TEAM_WORLD, stream, $call)",
		Doc: "Has the stream wait until a stream of every PE has come to the call.",
	}),
	onStreamRow(Family{
		Name: "team_sync", Range: RangeColl, Result: "int", Params: []Param{collTeam},
		Front: "shmemi_stream_sync(team, stream, $call)",
		Doc:   "Does as sync_all, for the PEs of a team.", Returns: zeroOnGood,
	}),
	streamCollective("broadcast", []Param{
		collTeam, collDest, {Name: "source", C: "const T *", Doc: "symmetric, read at PE_root"},
		{Name: "nelems", C: "size_t", Unit: "elements", Doc: "to copy"},
		{Name: "PE_root", C: "int", Doc: "number, in the team, of the PE that sends"},
	}, "shmemi_stream_broadcast(team, dest, source, $nbytes, PE_root, stream, $call)",
		"Copies an array of one PE to every PE of the team, that one included."),
	streamCollective("fcollect", []Param{
		collTeam, {Name: "dest", C: "T *", Role: CollWrite, Doc: "nelems times the size of the team"}, collSource,
		{Name: "nelems", C: "size_t", Unit: "elements", Doc: "from each PE"},
	}, "shmemi_stream_fcollect(team, dest, source, $nbytes, stream, $call)",
		"Concatenates the arrays of all PEs of the team, in the order of their numbers, at every PE."),
	streamCollective("alltoall", []Param{
		collTeam, {Name: "dest", C: "T *", Role: CollWrite, Doc: "nelems times the size of the team"},
		{Name: "source", C: "const T *", Role: CollRead, Doc: "nelems times the size of the team"},
		{Name: "nelems", C: "size_t", Unit: "elements", Doc: "for each PE"},
	}, "shmemi_stream_alltoall(team, dest, source, $nbytes, stream, $call)",
		"Exchanges blocks of nelems elements: block j of PE i's source becomes block i of PE j's dest."),
	streamReduction("sum", StreamReduceTypes, "the sum"),
	streamReduction("prod", StreamReduceTypes, "the product"),
	streamReduction("min", StreamReduceTypes, "the least"),
	streamReduction("max", StreamReduceTypes, "the greatest"),
	streamReduction("and", StreamBitTypes, "the bitwise and"),
	streamReduction("or", StreamBitTypes, "the bitwise or"),
	streamReduction("xor", StreamBitTypes, "the bitwise exclusive or"),
	module("cumodule_init", "struct CUmod_st *", "module", "Gives the job to the kernels of a module that was loaded with the driver's "+
		"cuModuleLoad and its relatives. It has to be called before they use the library."),
	module("cumodule_finalize", "struct CUmod_st *", "module", "Takes the job away from the kernels of a module. It has to be called "+
		"before the module is unloaded; shmem_finalize does it for those that are left."),
	module("culibrary_init", "struct CUlib_st *", "library", "Gives the job to the kernels of a library that was loaded with the driver's "+
		"cuLibraryLoad and its relatives. It has to be called before they use the library."),
	module("culibrary_finalize", "struct CUlib_st *", "library", "Takes the job away from the kernels of a library. It has to be called "+
		"before the library is unloaded; shmem_finalize does it for those that are left."),
}

func module(name, c, param, doc string) Call {
	return Call{Family{
		Name: name, Section: "modules", Since: "0.1", Result: "int",
		Params: []Param{{Name: param, C: c, Doc: "as the driver names it"}},
		Front:  "shmemi_" + name + "(" + param + ", $call)",
		Doc:    doc, Returns: "0, or non-zero after a message when the PE has no GPU, or when the code does not include shmem/shmem.cuh or another release of it.",
		Errors: "Ends the job when called before init or after finalize.",
	}, ""}
}

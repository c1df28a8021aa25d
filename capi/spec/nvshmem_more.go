package spec

import (
	"cmp"
	"slices"
	"strings"
)

// This file has the rows of Nvshmem that Shmem lacks: functions on types of GPUs, and
// reduce-scatter.

// nvshmemFront has the Front of rows whose functions do more than call Shmem's.
var nvshmemFront = map[string]string{
	"init":        "nvshmemi_init($call)",
	"init_thread": "nvshmemi_init_thread($args, $call)",
	"malloc":      "nvshmemi_malloc($args)",
	"calloc":      "nvshmemi_calloc($args)",
	"align":       "nvshmemi_align($args)",
}

var nvshmemHalves = []Type{tStreamHalf, tStreamBFloat16}

// halfRow completes a table row for NVSHMEM's types half and bfloat16. Its Front calls a function
// for unsigned numbers of 16 bits, which have the same size.
func halfRow(f Family) Family {
	f.Types = nvshmemHalves
	f.Doc += " Half and bfloat16 have the same functions as other types."
	if f.Params[0].Name == "team" {
		return nvshmemCollective(f, sameForAll)
	}
	f.Errors, f.Order = cmp.Or(f.Errors, remoteErrors), "As nvshmem_float_"+f.Name+"."
	return nvshmemFamily(f)
}

// nvshmemCollective completes the table row of a collective on a team that NVSHMEM alone has. `same`
// is the sentence that says which arguments are the same at every PE.
func nvshmemCollective(f Family, same string) Family {
	f.Doc += " " + same
	f.Returns = "0; non-zero when team is NVSHMEM_TEAM_INVALID, and when a PE of the team is lost (SHMEM_ON_FAILURE=return)."
	f.Errors, f.Order = collErrors, collOrder
	return nvshmemFamily(f)
}

const bitsOfBoth = "(uint16_t *)dest, (const uint16_t *)source"

var nvshmemMore = append([]Chapter{{
	File: "half", Title: "Half and bfloat16",
	Families: append([]Family{
		halfRow(Family{
			Name: "put", Variants: Nbi,
			Params: append(append([]Param{}, stridedPut...), paramNelems, paramPE),
			Front:  "shmem_put16$nbi($args)",
			Doc:    "Copies an array to another PE. It returns when source may be reused; the data may still be in flight.",
			DocNbi: "After the caller's next quiet source may be reused, and the data is at the PE.",
		}),
		halfRow(Family{
			Name: "get", Variants: Nbi,
			Params: append(append([]Param{}, stridedGet...), paramNelems, paramPE),
			Front:  "shmem_get16$nbi($args)",
			Doc:    "Copies an array from another PE. The data is in dest when it returns.",
			DocNbi: "The data is in dest after the caller's next quiet.",
		}),
		halfRow(Family{
			Name:   "p",
			Params: []Param{{Name: "dest", C: "T *", Role: Written}, {Name: "value", C: "T", Doc: "to write"}, paramPE},
			Front:  "shmem_uint16_p((uint16_t *)dest, value.bits, pe)",
			Doc:    "Writes one element to another PE. The element may still be in flight when it returns.",
		}),
		halfRow(Family{
			Name: "g", Result: "T",
			Params:  []Param{{Name: "source", C: "const T *", Role: Read}, paramPE},
			Front:   "($T){shmem_uint16_g((const uint16_t *)source, pe)}",
			Doc:     "Reads an element of another PE.",
			Returns: "The element.",
		}),
		halfRow(Family{
			Name: "iput", Params: append(append([]Param{}, stridedPut...), elementParams...),
			Front: "shmem_iput16($args)",
			Doc: "Copies every sst-th element of an array to every dst-th one of an array of another PE. It returns " +
				"when source may be reused; the data may still be in flight.",
			Errors: stridedErrors,
		}),
		halfRow(Family{
			Name: "iget", Params: append(append([]Param{}, stridedGet...), elementParams...),
			Front:  "shmem_iget16($args)",
			Doc:    "Copies every sst-th element of an array of another PE to every dst-th one of an array here.",
			Errors: stridedErrors,
		}),
		halfRow(Family{
			Name: "broadcast", Result: "int",
			Params: []Param{nvshmemTeam, collDest, collSource, paramNelems, {Name: "PE_root", C: "int", Doc: "number, in the team, of the PE that sends"}},
			Front:  "shmem_uint16_broadcast(team, " + bitsOfBoth + ", nelems, PE_root)",
			Doc:    "Copies an array of one PE to every PE of the team, that one included.",
		}),
		halfRow(Family{
			Name: "fcollect", Result: "int",
			Params: []Param{
				nvshmemTeam,
				{Name: "dest", C: "T *", Role: CollWrite, Doc: "nelems times the size of the team"},
				collSource,
				{Name: "nelems", C: "size_t", Unit: "elements", Doc: "from each PE"},
			},
			Front: "shmem_uint16_fcollect(team, " + bitsOfBoth + ", nelems)",
			Doc:   "Concatenates the arrays of all PEs of the team, in the order of their numbers, at every PE.",
		}),
		halfRow(Family{
			Name: "alltoall", Result: "int",
			Params: []Param{
				nvshmemTeam,
				{Name: "dest", C: "T *", Role: CollWrite, Doc: "nelems times the size of the team"},
				{Name: "source", C: "const T *", Role: CollRead, Doc: "nelems times the size of the team"},
				{Name: "nelems", C: "size_t", Unit: "elements", Doc: "for each PE"},
			},
			Front: "shmem_uint16_alltoall(team, " + bitsOfBoth + ", nelems)",
			Doc:   "Exchanges blocks of nelems elements: block j of PE i's source becomes block i of PE j's dest.",
		}),
	}, halfReductions()...),
}}, Chapter{File: "reducescatter", Title: "Reductions that give each PE a part", Families: withKernelScatters(reduceScatters())})

var nreduce = Param{Name: "nreduce", C: "size_t", Unit: "elements", Doc: "of dest"}

// halfReductions returns the table rows of NVSHMEM's reductions of half and bfloat16, which are
// computed as float.
func halfReductions() []Family {
	var out []Family
	for _, r := range []struct{ op, what string }{
		{"max", "the maximum"}, {"min", "the minimum"}, {"sum", "the sum"}, {"prod", "the product"},
	} {
		out = append(out, halfRow(Family{
			Name: r.op + "_reduce", Result: "int",
			Params: []Param{nvshmemTeam, collDest, collSource, {Name: "nreduce", C: "size_t", Unit: "elements", Doc: "of each array"}},
			Front:  "shmemi_reduce_by(team, dest, source, nreduce, &nvshmemi_$type_" + r.op + ", $call)",
			Doc: "Makes each element of dest, at every PE of the team, " + r.what + " of the elements at that place in the " +
				"team's sources." + apartOrSame + " Each step is computed as float and rounded.",
		}))
	}
	return out
}

// reduceScatters returns the reduce-scatter rows, with the operations and types of the reductions.
func reduceScatters() []Family {
	numbers := without(OrderedTypes, tLongDouble, tPtrdiff)
	row := func(op string, types []Type, expr, reducer, what string) Family {
		return nvshmemCollective(Family{
			Name: op + "_reducescatter", Result: "int", Types: types, Reduce: expr,
			Params: []Param{
				nvshmemTeam,
				{Name: "dest", C: "T *", Role: CollWrite, Doc: "nreduce elements"},
				{Name: "source", C: "const T *", Role: CollRead, Doc: "nreduce times the size of the team; dest may be in it, at its start or at the caller's part"},
				nreduce,
			},
			Front: "shmemi_reducescatter(team, dest, source, nreduce, &" + reducer + ", $call)",
			Doc: "Combines the sources of a team element by element to " + what + ". Each PE gets its part, nreduce elements: " +
				"PE i of the team gets those from element i * nreduce on.",
		}, "Every PE of the team makes the same call with the same arguments, except dest.")
	}
	var out []Family
	for _, r := range []struct {
		op, expr, what string
		types          []Type
	}{
		{"max", "b > a ? b : a", "the maximum", numbers},
		{"min", "b < a ? b : a", "the minimum", numbers},
		{"sum", "a + b", "the sum", numbers},
		{"prod", "a * b", "the product", numbers},
		{"and", "a & b", "the bitwise and", BitwiseTypes},
		{"or", "a | b", "the bitwise or", BitwiseTypes},
		{"xor", "a ^ b", "the bitwise exclusive or", BitwiseTypes},
	} {
		out = append(out, row(r.op, r.types, r.expr, "$reducer", r.what))
		if r.types[0] == tFloat { // an operation on numbers, not on bits
			out = append(out, row(r.op, nvshmemHalves, "", "nvshmemi_$type_"+r.op, r.what))
		}
	}
	return out
}

// nvshmemxScatters returns the table rows of reduce-scatters on CUDA streams. Half and bfloat16 are
// among their types and have no rows of their own.
func nvshmemxScatters() []Family {
	var out []Family
	for _, c := range reduceScatters() {
		if !strings.Contains(c.Front, "$reducer") {
			continue // a row of half and bfloat16, which the other row has among its types
		}
		op, _, _ := strings.Cut(c.Name, "_")
		if c.Types[0] == tFloat { // an operation on numbers, not on bits
			c.Types = slices.Concat(c.Types, nvshmemHalves)
		}
		c.Params = append(slices.Clone(c.Params), stream)
		c.Reduce, c.Suffix = "", onStream
		c.Front = "shmemi_stream_reducescatter(team, dest, source, nreduce, $element, SHMEMI_REDUCE_" + strings.ToUpper(op) + ", stream, $call)"
		// The call returns before any PE has taken part, so that it cannot report a lost one.
		c.Returns = "0, or non-zero when team is NVSHMEM_TEAM_INVALID."
		c.Errors, c.Order = streamErrors, streamOrder
		out = append(out, c)
	}
	return out
}

// nvshmemxStrided are the strided puts and gets on streams.
var nvshmemxStrided = []Family{
	nvshmemFamily(Family{
		Name: "iput", Suffix: onStream, Types: StreamTypes, Variants: Sized,
		Params: append(append(append([]Param{}, stridedPut...), elementParams...), stream),
		Front:  "nvshmemi_iput_on_stream(dest, source, dst, sst, nelems, $size, pe, stream, $call)",
		Doc: "Copies every sst-th element of an array to every dst-th one of an array of another PE when the stream reaches it. " +
			"Each element is a copy of its own, unless both strides are 1.",
		Errors: "Ends the job when a stride is less than 1, and as nvshmemx_putmem_on_stream.", Order: streamOrder,
	}),
	nvshmemFamily(Family{
		Name: "iget", Suffix: onStream, Types: StreamTypes, Variants: Sized,
		Params: append(append(append([]Param{}, stridedGet...), elementParams...), stream),
		Front:  "nvshmemi_iget_on_stream(dest, source, dst, sst, nelems, $size, pe, stream, $call)",
		Doc: "Copies every sst-th element of an array of another PE to every dst-th one of an array here when the stream reaches it. " +
			"Each element is a copy of its own, unless both strides are 1.",
		Errors: "Ends the job when a stride is less than 1, and as nvshmemx_getmem_on_stream.", Order: streamOrder,
	}),
}

var addParams = []Param{
	{Name: "dest", C: "T *", Role: Updated}, {Name: "value", C: "T", Doc: "to add"}, paramPE,
}

// nvshmemxAtomics are the atomic additions to floating-point numbers.
var nvshmemxAtomics = []Family{
	nvshmemFamily(Family{
		Name: "atomic_fetch_add", Result: "T", Types: []Type{tStreamHalf, tFloat, tDouble}, Params: addParams,
		Front: "nvshmemi_add_$type($args)",
		Doc: "Adds to a number of another PE, and returns the value before. It reads the number and repeats a compare-and-swap until no other " +
			"operation has changed it in between. It is atomic with all atomics on words of that size; a half is changed with the 32-bit word around it.",
		Returns: "The number before.",
	}),
	nvshmemFamily(Family{
		Name: "atomic_add", Types: []Type{tStreamHalf, tFloat, tDouble}, Params: addParams,
		Front: "(void)nvshmemi_add_$type($args)",
		Doc:   "Does what atomic_fetch_add does, without a result. Like that, it waits for the answer of the other PE, and is complete when it returns.",
	}),
}

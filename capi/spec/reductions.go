package spec

import (
	"slices"
	"strings"
)

// reductions has the reductions and scans, which the specification has among the collectives. They
// have a chapter of their own because the generated file also has the functions that combine
// elements.
var reductions = Chapter{
	File:   "reduce",
	Title:  "Collective Routines",
	Over:   []string{"activeset.h", "reduce.h"},
	Range:  RangeColl,
	Kernel: kernelReductions,
	Families: append([]Family{
		reduction("max", byOrder, "b > a ? b : a", "the maximum",
			"When one of two elements is not a number, it is undefined which of them remains."),
		reduction("min", byOrder, "b < a ? b : a", "the minimum",
			"When one of two elements is not a number, it is undefined which of them remains."),
		reduction("sum", bySum, "a + b", "the sum",
			"Integers wrap around modulo their width; floating-point numbers are added in no "+
				"particular order."),
		reduction("prod", bySum, "a * b", "the product",
			"Integers wrap around modulo their width; floating-point numbers are multiplied in no "+
				"particular order."),
		reduction("and", byBits, "a & b", "the bitwise and", ""),
		reduction("or", byBits, "a | b", "the bitwise or", ""),
		reduction("xor", byBits, "a ^ b", "the bitwise exclusive or", ""),
		scan("sum_inscan", "up to the caller, its own included", "true"),
		scan("sum_exscan", "before the caller; 0 at the first PE", "false"),
	}, toAll()...),
}

// scan returns the table row of a scan. what describes, for its documentation, the PEs whose
// elements are added, and inclusive is the argument of shmemi_scan.
func scan(name, what, inclusive string) Family {
	return Family{
		Name: name, Section: "SHMEM_SCAN", Since: "0.1",
		Types: SummedTypes, Result: "int",
		Params: []Param{
			collTeam, collDest, collSource,
			{Name: "nelems", C: "size_t", Unit: "elements", Doc: "of each array"},
		},
		Front: "shmemi_scan(team, dest, source, nelems, " + inclusive + ", &$type_sum_reduce, $call)",
		Doc: "Makes each element of dest the sum of the elements at that place in the sources of the PEs of " +
			"the team " + what + ". " + sameForAll + apartOrSame + " Integers wrap around modulo their width.",
		Returns: collReturns, Errors: collErrors, Order: collOrder,
		Check: CheckScan,
	}
}

// reduced has the element types of a reduction: on the host, in kernels and on streams.
type reduced struct{ host, kernels, streams []Type }

var (
	byOrder = reduced{OrderedTypes, KernelNumbers, StreamReduceTypes}
	bySum   = reduced{SummedTypes, KernelNumbers, StreamReduceTypes}
	byBits  = reduced{BitwiseTypes, BitwiseTypes, BitwiseTypes}
)

// reduction returns the table row of a reduction. expr is the C expression that combines two
// elements a and b, what is the operation in words, and note is a remark for its documentation.
func reduction(name string, types reduced, expr, what, note string) Family {
	halves := ""
	if slices.Contains(types.streams, tStreamHalf) {
		halves = " Half and bfloat16 are computed as float and rounded once for each PE."
	}
	return Family{
		Name: name + "_reduce", Section: "SHMEM_REDUCTIONS", Since: "0.1",
		Types: types.host, Result: "int",
		Params: []Param{
			collTeam, collDest, collSource,
			{Name: "nreduce", C: "size_t", Unit: "elements", Doc: "of each array"},
		},
		Front:  "shmemi_reduce(team, dest, source, nreduce, &$reducer, $call)",
		Reduce: expr,
		Kernel: []Kernel{{
			Types: types.kernels, Scopes: allScopes,
			Body: "shmemi_reduce<$scope, shmemi_$late" + name + ", $T>($job, $call, team, dest, source, nreduce)",
			Doc:  "Combines the elements at each place of the sources of a team, at every PE of it.",
		}},
		Stream: &Stream{
			Types: types.streams, Range: RangeColl,
			Front: "shmemi_stream_reduce(team, dest, source, nreduce, $element, SHMEMI_REDUCE_" + strings.ToUpper(name) + ", stream, $call)",
			Doc: "Makes each element of dest, at every PE of the team, " + what + " of the elements at that place in the " +
				"team's sources, combined in the order of the PEs." + apartOrSame + halves,
			Returns: zeroOnGood,
		},
		Doc: "Makes each element of dest, at every PE of the team, " + what + " of the elements at that " +
			"place in the team's sources. " + sameForAll + strings.TrimSuffix(apartOrSame+" "+note, " "),
		Returns: collReturns, Errors: collErrors, Order: collOrder,
		Check: CheckCombine,
	}
}

package spec

// The specification counts reductions among the collectives. They have a file
// of their own because each carries code: what the operation does to an array.
var reductions = Chapter{
	File:  "reduce",
	Title: "Collective Routines",
	Families: []Family{
		reduction("max", OrderedTypes, "b > a ? b : a", "the greatest",
			"Which one of two elements remains when one is not a number is not defined."),
		reduction("min", OrderedTypes, "b < a ? b : a", "the least",
			"Which one of two elements remains when one is not a number is not defined."),
		reduction("sum", SummedTypes, "a + b", "the sum",
			"Integers wrap around modulo their width; floating-point numbers are added in no "+
				"particular order."),
	},
}

func reduction(name string, types []Type, expr, what, note string) Family {
	return Family{
		Name: name + "_reduce", Section: "SHMEM_REDUCTIONS", Since: "0.1",
		Types: types, Result: "int",
		Params: []Param{
			collTeam, collDest, collSource,
			{Name: "nreduce", C: "size_t", Unit: "elements", Doc: "of each array"},
		},
		Front:  "shmemi_reduce(team, dest, source, nreduce, &$reducer, $call)",
		Reduce: expr,
		Doc: "Makes each element of dest, at every PE of the team, " + what + " of the elements at that " +
			"place in the team's sources. " + sameForAll + apartOrSame + " " + note,
		Returns: zeroOnGood, Errors: collErrors, Order: collOrder,
		Check: CheckCombine,
	}
}

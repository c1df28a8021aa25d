package seeded

// The programs of examples that check themselves. Users copy their checks.
var exampleDefects = []defect{
	{
		id: "examples/rank-that-is-no-number", file: "examples/pagerank/pagerank.c",
		was:  "    shmem_quiet();\n    double *want",
		is:   "    shmem_quiet();\n    all[1] = 0 / (all[1] - all[1]);\n    double *want",
		user: "pagerank reports that ranks of which one is NaN agree with a serial run",
		by:   job("./tests/examples", "^TestRealPrograms$/^pagerank$/^node-3$"), says: `the ranks differ from those of a serial run`,
	},
}

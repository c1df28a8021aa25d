package seeded

// measuring returns a test of Go that starts shmem-perf.
func measuring(run string) test {
	return test{pkg: "./tests/perf", run: run, needs: append([]string{"bin/shmem-perf", "bin/shmemrun", "bin/shmem-info", "libexec/shmem/perf"}, libraries...)}
}

// Figures of shmem-perf.
var perfDefects = []defect{
	{
		id: "perf/one-side", file: "cmd/internal/figure/statistics.go",
		was:  "		if 2*(outside+below) > 0.05 {\n",
		is:   "		if outside+below > 0.05 {\n",
		user: "the interval of a median has it less often than shmem-perf says, and differences by chance are worse",
		by:   unit("./cmd/internal/figure", "^TestInterval$"), says: `\d+ values: \d+ to \d+, 0\.\d+, want`,
	},
	{
		id: "perf/batches-for-starts", file: "cmd/internal/figure/compare.go",
		was:  "		if len(figures) >= fewestRuns {\n",
		is:   "		if len(figures) > 10*fewestRuns {\n",
		user: "--compare calls a build worse whose starts differ by more than the two builds",
		by:   unit("./cmd/internal/figure", "^TestCompareRuns$"), says: `put \w+ \+\d+%, want put`,
	},
	{
		id: "perf/more-is-worse", file: "cmd/internal/figure/compare.go",
		was:  "			if larger == ofA[key][0].LowerIsBetter() {\n",
		is:   "			if larger {\n",
		user: "--compare calls a build worse that has more bandwidth",
		by:   unit("./cmd/internal/figure", "^TestCompare$"), says: `wider worse \+10%`,
	},
	{
		id: "perf/bytes-for-bits", file: "cmd/internal/facts/limits.go",
		was:  "	bitsOfByte, bitsOfMega  = 8, 1e6\n",
		is:   "	bitsOfByte, bitsOfMega  = 1, 1e6\n",
		user: "--expect names a limit on the rate of a NIC that is an eighth of the real one",
		by:   measuring("^TestExpect$/^throttled_link$"), says: `tbf lets 25 Mb/s of eth0`,
	},
	{
		id: "perf/every-data-are-right", file: "cmd/shmem-perf/measure/rma.c",
		was:  "    return me != npes - 1 || filled(dst, size, 0);\n",
		is:   "    return me != npes - 1 || filled(src, size, me);\n",
		user: "shmem-perf says nothing when puts write wrong bytes",
		by:   measuring("^TestWrong$"), says: `status 1, wrong are`,
	},
	{
		id: "perf/status-of-the-reader", file: "cmd/shmem-perf/measure/main.c",
		was:  "    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;\n",
		is:   "    return WIFEXITED(status) ? 0 : 1;\n",
		user: "shmemrun shmem-perf ends with status 0 although data were wrong",
		by:   measuring("^TestLaunchers$"), says: `wrong data in a job: status 0`,
	},
	{
		id: "perf/one-meeting", file: "cmd/internal/perf/nvshmem.go",
		was:  "	n.starts++\n",
		is:   "	n.starts = 1\n",
		user: "with --repeat, PEs of NVSHMEM read the ID of the job before, and wait for it in vain",
		by:   measuring("^TestNVSHMEM$"), says: `started are`,
	},
	{
		id: "perf/ratio-of-the-other", file: "cmd/internal/figure/ratio.go",
		was:  "fmt.Sprintf(\"%.2f\", ours/theirs)",
		is:   "fmt.Sprintf(\"%.2f\", theirs/ours)",
		user: "--beside shows how much slower the other library is, and calls it the contrary",
		by:   unit("./cmd/internal/figure", "^TestRatios$"), says: `printed is`,
	},
}

package seeded

// Reports about traces.
var traceDefects = []defect{
	{
		id: "trace/writer-before-the-last", file: "cmd/internal/tracereport/writers.go",
		was:  "		w.open[e.Peer][i].writer = e.PE\n",
		is:   "		w.open[e.Peer][i].writer = w.last[e.Peer] - 1\n",
		user: "the report blames a wait on another PE than the one that wrote last",
		by:   unit("./cmd/internal/tracereport", "^TestWriters$"), says: `Waiter:0 Writer:2`,
	},
	{
		id: "trace/quiet-about-a-busy-machine", file: "cmd/internal/tracefile/trace.go",
		was:  "			pe.Stolen += e.Stolen\n",
		is:   "			pe.Stolen += e.Stolen / 100\n",
		user: "the report of a run on a busy machine does not say that a PE had no processor",
		by:   unit("./cmd/internal/tracereport", "^TestStarved$"), says: `it does not begin with`,
	},
	{
		id: "trace/drift", file: "cmd/internal/tracefile/clock.go",
		was:  "	return at + a.Add + fractionOf(b.Add-a.Add, at-a.At, b.At-a.At)",
		is:   "	return at + a.Add + fractionOf(b.Add-a.Add, 0, b.At-a.At)",
		user: "in a long job, times of two hosts are further apart than the stated error",
		by:   unit("./cmd/internal/tracefile", "^TestClock$"), says: `1500 is 1400 of PE 0, want 1500`,
	},
	{
		id: "trace/killed", file: "cmd/internal/tracefile/reader.go",
		was:  "		r.cut = &Cut{Line: r.line, Inside: inside, Events: r.events}\n",
		is:   "		if inside {\n			r.cut = &Cut{Line: r.line, Inside: inside, Events: r.events}\n		}\n",
		user: "the trace of a program that was killed between two events passes for a whole one",
		by:   unit("./cmd/internal/tracefile", "^TestCut$"), says: `cut at byte \d+: not noticed`,
	},
	{
		id: "trace/losses-twice", file: "cmd/internal/tracefile/trace.go",
		was:  "	p.Lost, p.Old = max(p.Lost, h.Lost), max(p.Old, h.Old)\n",
		is:   "	p.Lost, p.Old = p.Lost+h.Lost, p.Old+h.Old\n",
		user: "a report says that more events are lost than were, if the output was rotated",
		by:   unit("./cmd/internal/tracefile", "^TestRotated$"), says: `PE 0 is .*Lost:6 Old:3`,
	},
	{
		id: "trace/late-for-all", file: "cmd/internal/tracereport/waits.go",
		was:  "		cause := all[max(after-1, i)]\n",
		is:   "		cause := all[max(after-1, i, len(all)-1)]\n",
		user: "PEs that left a broadcast are said to have waited for a PE that came later",
		by:   unit("./cmd/internal/tracereport", "^TestBroadcast$"), says: `pairs .*For:3`,
	},
	{
		id: "trace/from-the-begin", file: "cmd/internal/tracereport/waits.go",
		was:  "				t.next[pe] = most - n\n",
		is:   "				t.next[pe] = 0 * n\n",
		user: "after a rotation, barriers of different times are put together, and waits are of minutes",
		by:   unit("./cmd/internal/tracereport", "^TestOldest$"), says: `worst .*Number:\d+ Late:`,
	},
	{
		id: "trace/transposed", file: "cmd/internal/tracereport/count.go",
		was:  "		c.countPair(0, e.PE, e.Peer, n)\n",
		is:   "		c.countPair(0, e.Peer, e.PE, n)\n",
		user: "rows and columns of the heat map are exchanged",
		by:   unit("./cmd/internal/tracereport", "^TestJob$"), says: `PE 0 and PE 1: 0 calls, 0 bytes; want 20, 20480`,
	},
	{
		id: "trace/calls-before-zero", file: "cmd/internal/replay/program/program.go",
		was:  "	kept, end := t.Ops[:0], int64(never)\n",
		is:   "	kept, end := t.Ops[:0], int64(-1)\n",
		user: "shmem-trace replay panics on a trace whose clocks put calls before zero",
		by:   unit("./cmd/internal/replay/program", "^TestGaps$"), says: `from -10000 on: gaps \[\], want`,
	},
	{
		id: "trace/changed", file: "cmd/internal/tracereplay/load.go",
		was:  "Cause: err, Remedy: sameRunRemedy}",
		is:   "Cause: err}",
		user: "shmem-trace replay refuses a changed trace without a remedy",
		by:   unit("./cmd/shmem-trace", "^TestMutations$"), says: `replay: status 1, ".*PE -?\d+, in a job of 2 PEs`,
	},
	{
		id: "trace/endless-call", file: "cmd/internal/replay/program/program.go",
		was:  "	case c.Bytes > maxBytes || m.Strided",
		is:   "	case m.Strided",
		user: "shmem-trace replay never ends for a damaged trace",
		by:   unit("./cmd/internal/replay/program", "^TestSizes$"), says: `shmem_broadcastmem of 4611686018427387904 bytes: <nil>`,
	},
}

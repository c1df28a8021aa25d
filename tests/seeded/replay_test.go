package seeded

// Replays of traces on other networks.
var replayDefects = []defect{
	{
		id: "replay/flag-after-the-wait", file: "cmd/internal/replay/program/match.go",
		was:  "u, found := lastCandidate(by[p], end, o.Signals)",
		is:   "u, found := lastCandidate(by[p], end+o.Took, o.Signals)",
		user: "a replay waits for updates that came after the recorded wait, and predicts too long a time",
		by:   unit("./cmd/internal/replay/program", "^TestMatch$"), says: `program_test.go:\d+: needs`,
	},
	{
		id: "replay/proxy-without-rest", file: "cmd/internal/replay/machine.go",
		was:  "		at += proxyRests\n",
		is:   "		at += 0 * proxyRests\n",
		user: "a program of small operations is predicted several times too slow",
		by:   unit("./cmd/internal/replay", "^TestBursts$"), says: `operations went in \d{4,} messages`,
	},
	{
		id: "replay/copies-of-one-end", file: "cmd/internal/replay/machine.go",
		was:  "c.p.planCopy(int(r.PE), r.Len, 1)\n	}\n	return err\n}\n\n// Read",
		is:   "c.p.planCopy(int(r.PE), 0, 1)\n	}\n	return err\n}\n\n// Read",
		user: "a program whose PEs send to each other over tcp is predicted nearly twice too fast",
		by:   unit("./cmd/internal/replay", "^TestCopies$"), says: `both ways by copies: 1\.\d+ times as long`,
	},
	{
		id: "replay/late-member", file: "cmd/internal/replay/collectives.go",
		was:  "came.at > g.last.at",
		is:   "came.at < g.last.at",
		user: "the report of a replay blames PEs that only waited, too",
		by:   unit("./cmd/internal/replay", "^TestLate$"), says: `others waited \d+ ns for it`,
	},
	{
		id: "replay/collectives-by-thread", file: "cmd/internal/replay/program/program.go",
		was:  "before.Start+before.Took <= o.Start {",
		is:   "before.Start+before.Took > o.Start {",
		user: "a replay of a program whose threads make collectives in turn mixes their messages up",
		by:   unit("./cmd/internal/replay", "^TestCollectivesOfThreads$"), says: `four reductions by one thread`,
	},
	{
		id: "replay/lost-calls", file: "cmd/internal/tracereplay/load.go",
		was:  "if p.Lost > 0 {",
		is:   "if p.Lost < 0 {",
		user: "a trace without all of its calls is replayed, and the prediction means nothing",
		by:   unit("./cmd/internal/tracereplay", "^TestRefused$"), says: `5 calls of PE 0 were lost`,
	},
}

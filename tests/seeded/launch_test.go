package seeded

// shmemrun: placement, environment, exit status, signals and output.
var launchDefects = []defect{
	{
		id: "launch/status-of-a-signal", file: "runtime/bootstrap/wire/payload.go",
		was:  "		return 128 + f.Code\n",
		is:   "		return f.Code\n",
		user: "a job of which a PE crashed ends with status 11, not 139",
		by:   unit("./cmd/shmemrun", "^TestScripts$/^status$"), says: `exit status 11, want 139`,
	},
	{
		id: "launch/other-job", file: "runtime/bootstrap/launch/job.go",
		was:  "(was.GoesOn || p.apart && !was.Inside)",
		is:   "was.GoesOn",
		user: "a client of a paged fill that is killed takes those of its own command along",
		by:   job("./tests/examples", "^TestPagedFillVanishTogether$"), says: `0 clients report, want 2`,
	},
	{
		id: "launch/status-of-the-last", file: "runtime/bootstrap/launch/job.go",
		was:  "	if !j.settled {\n		j.settled, j.status = true, status&0xff\n	}\n",
		is:   "	j.settled, j.status = true, status&0xff\n",
		user: "the job's status is that of a PE that shmemrun has ended itself",
		by:   unit("./cmd/shmemrun", "^TestScripts$/^status$"), says: `exit status 143, want 3`,
	},
	{
		id: "launch/status-after-finalize", file: "runtime/bootstrap/launch/job.go",
		was:  "		j.settle(fate.Status())\n		if !j.ending && fatal && !goesOn {\n			j.fail()\n		}\n",
		is:   "		if !j.ending && fatal && !goesOn {\n			j.settle(fate.Status())\n			j.fail()\n		}\n",
		user: "a program that returns 6 from main ends with status 0",
		by:   unit("./cmd/shmemrun", "^TestScripts$/^status$"), says: `exit status 0, want 6`,
	},
	{
		id: "launch/status-of-a-full-disk", file: "runtime/bootstrap/launch/output.go",
		was:  "	o.lost.Store(true)\n",
		is:   "",
		user: "a job whose results did not fit the disk ends with status 0",
		by:   unit("./cmd/shmemrun", "^TestScripts$/^output$"), says: `output\.txtar:\d+: exit status 0, want 1`,
	},
	{
		id: "launch/last-line", file: "runtime/bootstrap/launch/output.go",
		was:  "	if len(s.held) == 0 {\n		return nil\n	}\n	if s.prefix",
		is:   "	if len(s.held) == 0 || s.prefix == \"\" {\n		return nil\n	}\n	if s.prefix",
		user: "the last words of a PE are lost where no newline follows them",
		by:   unit("./cmd/shmemrun", "^TestScripts$/^output$"), says: "no match for `\\^unfinished\\$` found in stdout",
	},
	{
		id: "launch/tag-in-a-line", file: "runtime/bootstrap/launch/output.go",
		was:  "			s.begun = end == 0\n",
		is:   "			s.begun = false\n",
		user: "--tag-output puts [PE] into the middle of long lines",
		by:   unit("./runtime/bootstrap/launch", "^TestPromptOnTerminal$"), says: `the rest has no second tag: not within a minute`,
	},
	{
		id: "launch/half-of-a-line-end", file: "runtime/bootstrap/launch/output.go",
		was:  "bytes.LastIndexByte(b[from:last], '\\r'); at >= 0 {",
		is:   "bytes.LastIndexByte(b[from:], '\\r'); at >= 0 {",
		user: "lines that end in CR LF are followed by an empty one",
		by:   unit("./runtime/bootstrap/launch", "^TestLineEnd$"), says: `lineEnd\("10%\\r", 0\) = 4, want 0`,
	},
	{
		id: "launch/second-signal", file: "runtime/bootstrap/launch/job.go",
		was:  "	if j.byUser != 0 && j.running > 0 {\n		j.settle(128 + int(j.byUser))\n	}\n",
		is:   "",
		user: "a job that had to be killed after Ctrl-C ends with status 137 or 0, not 130",
		by:   unit("./cmd/shmemrun", "^TestScripts$/^signals$"), says: `exit status 137, want 130`,
	},
	{
		id: "launch/variable-of-before", file: "runtime/bootstrap/launch/environ.go",
		was:  "		case at >= 0:\n			base[at] = v\n",
		is:   "		case at > len(base):\n			base[at] = v\n",
		user: "-x VAR=value does not change a variable that is set already",
		by:   unit("./runtime/bootstrap/launch", "^TestEnviron$"), says: `got +\["A=1" [^\n]*\n +want +\["A=3"`,
	},
	{
		id: "launch/hosts-of-unequal-size", file: "runtime/bootstrap/launch/options.go",
		was:  "		if i < *pes%hosts {",
		is:   "		if i < *pes%hosts-1 {",
		user: "shmemrun -n 5 --hosts 2 starts 4 PEs",
		by:   unit("./runtime/bootstrap/launch", "^TestPlacement$"), says: `5 PEs, hosts "2", block: \[0 0 1 1\], want \[0 0 0 1 1\]`,
	},
	{
		id: "launch/timeout-without-status", file: "runtime/bootstrap/launch/job.go",
		was:  "	j.hurried = true\n	j.settle(StatusTimeout)\n",
		is:   "	j.hurried = true\n",
		user: "a job that was ended by --timeout has the status of a PE, 143, and not 124",
		by:   unit("./cmd/shmemrun", "^TestScripts$/^timeout$"), says: `exit status 143, want 124`,
	},
}

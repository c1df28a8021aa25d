package seeded

// How the PEs of a job find each other: frames, unique ids, files, Slurm.
var bootstrapDefects = []defect{
	{
		id: "bootstrap/time-of-a-try", file: "runtime/bootstrap/uid/member.go",
		was:  "hostName(), max(limit, l.timeout), last)",
		is:   "hostName(), limit, last)",
		user: "after a minute of tries a PE says that nobody answered within a second",
		by:   unit("./runtime/bootstrap/file", "^TestNobodyAnswers$"), says: `does not say .*within 1.5s`,
	},
	{
		id: "bootstrap/longest-frame", file: "runtime/bootstrap/wire/frame.go",
		was:  "	if length > MaxPayload {",
		is:   "	if length >= MaxPayload {",
		user: "a job whose PEs together exchange 64 MiB does not start",
		by:   unit("./runtime/bootstrap/wire", "^TestLongestFrame$"), says: `a frame of 67108864 bytes: 0, malformed frame`,
	},
	{
		id: "bootstrap/a-pe-twice", file: "runtime/bootstrap/wire/payload.go",
		was:  "libshmem.PE(pe) <= a.PEs[len(a.PEs)-1] {",
		is:   "libshmem.PE(pe) < a.PEs[len(a.PEs)-1] {",
		user: "a report names a PE that is missing twice",
		by:   unit("./runtime/bootstrap/wire", "^TestPayloadsRefuse$"), says: `absence out of order: <nil>, want ErrFormat`,
	},
	{
		id: "bootstrap/rest-of-an-allgather", file: "runtime/bootstrap/wire/payload.go",
		was:  "	if len(p) != 0 {\n		return nil, formatErrorf(\"%d bytes follow an allgather result\", len(p))\n	}\n",
		is:   "",
		user: "two versions of the library start a job together, and read each other's addresses wrongly",
		by:   unit("./runtime/bootstrap/wire", "^TestPayloadsRefuse$"), says: `bytes left over: <nil>, want ErrFormat`,
	},
	{
		id: "bootstrap/last-address-of-an-id", file: "runtime/bootstrap/uid/id.go",
		was:  "		if len(raw)+1 > len(rest) {",
		is:   "		if len(raw)+1 >= len(rest) {",
		user: "a unique id has one address fewer than it has room for",
		by:   unit("./runtime/bootstrap/uid", "^TestIDIsFull$"), says: `15 addresses of IPv4, want 16`,
	},
	{
		id: "bootstrap/frames-of-a-broken-connection", file: "runtime/bootstrap/uid/conversation.go",
		was:  "s.conn, s.next, s.owe = conn, s.acked+1, false",
		is:   "s.conn, s.next, s.owe = conn, max(s.next, s.acked+1), false",
		user: "init hangs, or fails, where a connection breaks and is made again",
		by:   unit("./runtime/bootstrap/uid", "^TestFaultProxy$"), says: `PE 0: allgather \d+: PE \d did not come within 30s`,
	},
	{
		id: "bootstrap/second-life", file: "runtime/bootstrap/rendezvous/rendezvous.go",
		was:  "s.joined[pe] || !m.ended && m.life <= key.life ||",
		is:   "s.joined[pe] || !m.ended ||",
		user: "a PE that has finalized is waited for for ever",
		by:   unit("./runtime/bootstrap/rendezvous", "^TestPeerFinalizedTooEarly$"), says: `PE 0 got 0 answers, want 1`,
	},
	{
		id: "bootstrap/those-who-came", file: "runtime/bootstrap/rendezvous/rendezvous.go",
		was:  "		if !in {\n			a.PEs = append(a.PEs, pe)",
		is:   "		if in {\n			a.PEs = append(a.PEs, pe)",
		user: "the report about missing PEs names the PEs that have come",
		by:   unit("./runtime/bootstrap/rendezvous", "^TestMissingPEs$"), says: `PE 1: missing .*PEs:\[1 3\]`,
	},
	{
		id: "bootstrap/zeros-of-a-host", file: "runtime/bootstrap/slurm/hosts.go",
		was:  "all = append(all, fmt.Sprintf(\"%0*d\", len(low), n))",
		is:   "all = append(all, fmt.Sprintf(\"%d\", n))",
		user: "under Slurm PEs look for a host n1 that is called n01",
		by:   unit("./runtime/bootstrap/slurm", "^TestHosts$"), says: `\[n98 n99 n100 n101\], <nil>, not n098 n099 n100 n101`,
	},
	{
		id: "bootstrap/file-of-the-group", file: "runtime/bootstrap/file/file.go",
		was:  "case info.Mode().Perm()&0o077 != 0:",
		is:   "case info.Mode().Perm()&0o007 != 0:",
		user: "a job starts with a unique id that others of the group can read, and write",
		by:   unit("./runtime/bootstrap/file", "^TestStrangersFile$"), says: `others can write it: .* not "it has mode 0620, expected 0600"`,
	},
	{
		id: "bootstrap/file-is-left", file: "runtime/bootstrap/file/file.go",
		was:  "	if err = errors.Join(m.Barrier(), o.remove(id)); err != nil {",
		is:   "	if err = m.Barrier(); err == nil {\n		err = o.remove(id)\n	}\n	if err != nil {",
		user: "a job that did not start leaves its file, and the next one finds it",
		by:   unit("./runtime/bootstrap/file", "^TestRefused$"), says: `the file is left behind`,
	},
	{
		id: "bootstrap/answer-of-each-pe", file: "runtime/bootstrap/rendezvous/rendezvous.go",
		was:  "		r.members[pe].waits = false\n		r.send(pe, frame)\n",
		is:   "		r.members[pe].waits = false\n		r.send(pe, append([]byte(nil), frame...))\n",
		user: "init of 10,000 PEs takes 23 GB of the process that made the unique id",
		by:   unit("./runtime/bootstrap/uid", "^TestRootMemory$"), says: `the root of 1000 members holds \d+ KiB for an answer of 228 KiB`,
	},
}

package seeded

// Providers: libfabric, several NICs, and the simulated network that tests rely on.
var fabricDefects = []defect{
	{
		id: "fabric/tiles-of-several-nics", file: "fabric/tile.go",
		was:  "c.Rails > 1 || ",
		is:   "",
		user: "when a NIC is lost, the bytes of an old eager token overwrite those of a new one",
		by:   unit("./fabric", "^TestTile$"), says: `efa with blocks of 128, 4 NICs`,
	},
	{
		id: "fabric/remainder-of-parts", file: "fabric/rail/post.go",
		was:  "	if i == n {\n		return m.Len\n	}\n",
		is:   "",
		user: "with several NICs the last bytes of a large put are lost",
		by:   unit("./fabric/rail", "^TestSuite$"), says: `write: byte \d+ of \d+ is 0x0, want`,
	},
	{
		id: "fabric/message-that-fits", file: "fabric/rail/receive.go",
		was:  "	case c.Len > b.N:\n",
		is:   "	case c.Len >= b.N:\n",
		user: "with several NICs a message of full length ends the job",
		by:   unit("./fabric/rail", "^TestSuite$"), says: `FAIL: TestSuite/\S+/Messages`,
	},
	{
		id: "fabric/load-is-kept", file: "fabric/rail/complete.go",
		was:  "		n.load -= w.n\n		p.load -= w.n\n		if c.Err",
		is:   "		n.load -= w.n\n		if c.Err",
		user: "with several NICs large puts are cut up less and less, and become slow",
		by:   unit("./runtime/proxy", "^TestSimRailRates$"), says: `sim_rails_test.go:\d+: efa-100: 32 NICs of 100 Gb/s: 0\.8`,
	},
	{
		id: "fabric/no-other-way", file: "fabric/rail/nicpairs.go",
		was:  "here[i/q.rails], there[i%q.rails] = true, true",
		is:   "here[i%q.rails], there[i/q.rails] = true, true",
		user: "where hosts have unlike numbers of NICs, a job ends when one NIC loses its link",
		by:   unit("./fabric/rail", "^TestPlayedLoss$"), says: `index out of range \[2\] with length 2`,
	},
	{
		id: "fabric/key-of-few-bytes", file: "fabric/ofi/endpoint.c",
		was:  "if (getrandom(&key, sizeof key, 0) != sizeof key)",
		is:   "if (getrandom(&key, 3, 0) != 3)",
		user: "keys of registered memory can be guessed",
		by:   unit("./fabric/ofi", "^TestKeys$"), says: `16 of 16 keys are below 2\^32: they are counted, not drawn`,
	},
	{
		id: "fabric/source-of-another", file: "fabric/ofi/extra.c",
		was:  "to->len = (uint32_t)(o->nsources > 0 ? pe_of(o, from[i]) : -1);",
		is:   "to->len = (uint32_t)(o->nsources > 0 ? pe_of(o, from[0]) : -1);",
		user: "on EFA the number of a write counts for another PE, and the job ends",
		by:   unit("./fabric/ofi/stub", "^TestSuite$"), says: `completion of data says that PE 0 wrote, which was PE 1`,
	},
	{
		id: "fabric/and-for-or", file: "fabric/ofi/extra.c",
		was:  "[11] = {FI_BOR, READ_WRITE},",
		is:   "[11] = {FI_BAND, READ_WRITE},",
		user: "atomic_fetch_or by the NIC makes an and",
		by:   unit("./fabric/ofi/stub", "^TestSuite$"), says: `atomic operation: nothing for 30s`,
	},
	{
		id: "fabric/atomic-of-eight-bytes", file: "fabric/ofi/extra.c",
		was:  "return width == 4 ? FI_UINT32 : FI_UINT64;",
		is:   "return width < 4 ? FI_UINT32 : FI_UINT64;",
		user: "atomic_add on an int changes the int behind it",
		by:   unit("./fabric/ofi/stub", "^TestSuite$"), says: `operation \d+ on 4 bytes changed the byte at 4`,
	},
	{
		id: "fabric/simulated-second-piece", file: "fabric/sim/carry.go",
		was:  "first, second := [2]int{0, cut}, [2]int{cut, p.n}",
		is:   "first, second := [2]int{0, cut}, [2]int{cut + 1, p.n}",
		user: "tests on the simulated network miss a byte, and blame the library",
		by:   unit("./fabric/sim", "^TestSuite$"), says: `write: byte 5 of 11 is`,
	},
}

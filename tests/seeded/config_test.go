package seeded

// Settings, and the treatment of invalid values.
var configDefects = []defect{
	{
		id: "config/last-of-two", file: "runtime/config/parse.go",
		was:  "		if _, seen := env[name]; !seen {\n			env[name] = value\n		}\n",
		is:   "		env[name] = value\n",
		user: "of two entries of one name the library reads another than getenv does",
		by:   unit("./runtime/config", "^TestFirstOfTwoEntriesCounts$"), says: `HostID = "b", .*getenv would return a`,
	},
	{
		id: "config/rounded-down", file: "runtime/config/size.go",
		was:  "	if rest.Sign() != 0 {",
		is:   "	if rest.Sign() < 0 {",
		user: "SHMEM_SYMMETRIC_SIZE=1.2 is a heap of one byte",
		by:   unit("./runtime/config", "^TestParseSize$"), says: `ParseSize\("1\.2"\) = 1, <nil>; want 2`,
	},
	{
		id: "config/end-of-the-range", file: "runtime/config/parse.go",
		was:  "	if f < s.Min || f > s.Max {",
		is:   "	if f <= s.Min || f > s.Max {",
		user: "SHMEM_TIMEOUT=0, which the documentation has, is refused",
		by:   unit("./runtime/config", "^TestEverySettingReachesTheConfig$"), says: `the default of SHMEM_\w+ is not valid: it is outside the range`,
	},
	{
		id: "config/no-power-of-two", file: "runtime/config/parse.go",
		was:  "s.PowerOf2 && p.num&(p.num-1) != 0 {",
		is:   "s.PowerOf2 && p.num&1 != 0 {",
		user: "SHMEM_RING_SIZE=300 is taken, and fails later without its name",
		by:   unit("./runtime/config", "^TestErrors$"), says: `SHMEM_RING_SIZE=4098: the error is not of the kind ErrSetting`,
	},
	{
		id: "config/setting-without-effect", file: "runtime/job/place/place.go",
		was:  "s.InTurn = cfg.NICInTurn",
		is:   "s.InTurn = false",
		user: "SHMEM_ENABLE_NIC_PE_MAPPING is accepted and changes nothing",
		by:   unit("./tests/repo", "^TestSettingsAreRead$"), says: `nothing reads config.Config.NICInTurn`,
	},
	{
		id: "config/bad-value-counts", file: "runtime/config/parse.go",
		was:  "			v = Value{Setting: s, Text: s.Default}\n		}\n		s.set",
		is:   "		}\n		s.set",
		user: "shmem-info shows a value that was refused as the one in use",
		by:   unit("./runtime/config", "^TestErrors$"), says: `a value that is not valid is shown as the one in use`,
	},
	{
		id: "config/transposed-letters", file: "runtime/config/unknown.go",
		was:  "a[i-1] == b[j-2] && a[i-2] == b[j-1] {",
		is:   "a[i-1] == b[j-1] && a[i-2] == b[j-2] {",
		user: "the warning about SHMEM_PROIVDER names another setting",
		by:   unit("./runtime/config", "^TestDistance$"), says: `from "PROIVDER" to "PROVIDER": 2, not 1`,
	},
	{
		id: "config/full-disk-of-the-log", file: "runtime/shmlog/file.go",
		was:  "	f.failing = err != nil\n",
		is:   "	f.failing = f.failing || err != nil\n",
		user: "the log lacks records after its disk has filled for the second time, and nothing says so",
		by:   unit("./runtime/shmlog", "^TestFullDisk$"), says: `"", want " PE 3: log: write /dev/full`,
	},
}

package seeded

// NVSHMEM: what a change of names alone gets wrong.
var nvshmemDefects = []defect{
	{
		id: "nvshmem/same-triple", file: "capi/front/team.c",
		was:  "{each ? 0 : p.start, each ? 0 : p.stride, each ? 0 : p.size}",
		is:   "{p.start, p.stride, p.size}",
		user: "nvshmem_team_split_strided ends jobs that make two teams in one call",
		by:   job("./tests/nvshmem", "^TestPrograms$/^sem01$"), says: `number 1 of what describes the teams is`,
	},
	{
		id: "nvshmem/any-version", file: "capi/nvshmem/start.c",
		was:  "    if (!known(attr->version)) {",
		is:   "    if (attr->version == 0) {",
		user: "attributes of another version are read as if they were of this one",
		by:   job("./tests/nvshmem", "^TestPrograms$/^sem03$"), says: `PE 0 ended with status 6`,
	},
	{
		id: "nvshmem/config-of-the-other", file: "capi/nvshmem/teams.c",
		was:  "    config->num_contexts = below.num_contexts;\n",
		is:   "",
		user: "nvshmem_team_get_config says 0 contexts for each team",
		by:   job("./tests/nvshmem", "^TestPrograms$/^ring$"), says: `PE \d: the configuration`,
	},
	{
		id: "nvshmem/half-of-a-pair", file: "capi/nvshmem/atomics.c",
		was:  "(before & ~((uint32_t)0xffff << shift)) | (uint32_t)sum << shift;",
		is:   "(uint32_t)sum << shift;",
		user: "an atomic on a half clears the one beside it",
		by:   job("./tests/nvshmem", "^TestPrograms$/^reduce$"), says: `PE \d: the (sum of halves in a word|half that was there)`,
	},
	{
		id: "nvshmem/part-of-the-first", file: "capi/front/reduce.c",
		was:  "const char *mine = source + (size_t)t->me * nelems * size;",
		is:   "const char *mine = source;",
		user: "every PE gets the first part of a reducescatter",
		by:   job("./tests/nvshmem", "^TestPrograms$/^reduce$"), says: `PE \d: the sum of my part`,
	},
	{
		id: "nvshmem/first-of-each-node", file: "capi/front/team_always.c",
		was:  "if (seen[s->node_of[pe]]++ == place)",
		is:   "if (seen[s->node_of[pe]]++ == 0)",
		user: "SHMEMX_TEAM_SAME_MYPE_NODE has the first PE of each node, at all PEs",
		by:   job("./tests/nvshmem", "^TestPrograms$/^sem02$"), says: `PE \d: (who has my number|how many have my number|my number among them)`,
	},
	{
		id: "nvshmem/kernel-part-of-the-first", file: "device/shmem/scatter.h",
		was:  "const char *from = source + (uint64_t)rank * stride;",
		is:   "const char *from = source;",
		user: "a kernel's reducescatter adds the first part of the others",
		by:   job("./tests/nvshmem", "^TestKernels$"), says: `PE \d, line \d+: dest\[i\] == sum`,
	},
	{
		id: "nvshmem/kernel-without-stride", file: "device/shmem/strided.h",
		was:  "shmemi_p<part>(image, call, (part *)dest + (ptrdiff_t)i * dst * count + k,",
		is:   "shmemi_p<part>(image, call, (part *)dest + (ptrdiff_t)i * count + k,",
		user: "a kernel's iput writes elements side by side",
		by:   job("./tests/nvshmem", "^TestKernels$"), says: `PE \d, line \d+: shorts\[i\]`,
	},
	{
		id: "nvshmem/settings-for-all", file: "runtime/pe/job.go",
		was:  "	if o.Nvshmem {\n",
		is:   "	if true {\n",
		user: "programs of OpenSHMEM are remarked on for what the environment has of NVSHMEM",
		by:   job("./tests/nvshmem", "^TestSettings$/^shmem_init$"), says: `NVSHMEM has no such variable`,
	},
	{
		id: "nvshmem/settings-of-some", file: "capi/nvshmem/start.c",
		was:  "SHMEMX_INIT_ATTR_INITIALIZER;\n    shmemi_as_nvshmem();\n",
		is:   "SHMEMX_INIT_ATTR_INITIALIZER;\n",
		user: "the variables of NVSHMEM do not count in programs that call nvshmemx_init_attr",
		by:   job("./tests/nvshmem", "^TestSettings$/^nvshmemx_init_attr"), says: `it prints`,
	},
	{
		id: "nvshmem/first-gpu", file: "capi/front/chosen.c",
		was:  "    if (all < 0) {\n",
		is:   "    if (all > 0) {\n",
		user: "heaps stay on the GPUs that init took, although the program has chosen others since",
		by:   job("./tests/nvshmem", "^TestChosen$"), says: `does not say "PE 1: gpu: GPU 0 "`,
	},
	{
		id: "nvshmem/heap-of-one-size", file: "runtime/config/parse.go",
		was:  `c.From(name) == "NV"+name`,
		is:   `c.From(name) == name`,
		user: "a heap does not grow beyond NVSHMEM_SYMMETRIC_SIZE",
		by:   job("./tests/nvshmem", "^TestGrows$"), says: `with NVSHMEM_SYMMETRIC_SIZE=64m`,
	},
}

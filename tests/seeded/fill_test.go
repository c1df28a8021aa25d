package seeded

// examples/pagedfill.
var fillDefects = []defect{
	{
		id: "fill/index", file: "examples/pagedfill/server.cc",
		was:  "if (list[i].index >= each) {",
		is:   "if (list[i].index > each) {",
		user: "a client that lies has a server write behind a buffer",
		by:   job("./tests/examples", "^TestPagedFillLies$"), says: `page 0 has index`,
	},
	{
		id: "fill/stage", file: "examples/pagedfill/server.cc",
		was:  "            quiet(h);\n        }\n        unsigned char",
		is:   "            h->used = 0;\n        }\n        unsigned char",
		user: "a page is filled anew before the network has read it",
		by:   job("./tests/examples", "^TestPagedFillAgain$/^chaos$"), says: `verify page \d+ of buffer \d+`,
	},
	{
		id: "fill/context", file: "examples/pagedfill/server.cc",
		was:  "answer a = {0, r.context, r.npages * r.repeats, \"\"};",
		is:   "answer a = {0, r.notify, r.npages * r.repeats, \"\"};",
		user: "a client takes the answer to another request for its own",
		by:   job("./tests/examples", "^TestPagedFill$/^few$"), says: `compare the answer of PE 0: context`,
	},
	{
		id: "fill/order", file: "examples/pagedfill/server.cc",
		was:  "&& !shmemx_put_ordered(pe))",
		is:   "&& !shmem_pe_accessible(pe))",
		user: "over EFA a client takes pages for complete whose bytes are still under way",
		by:   job("./tests/examples", "^TestPagedFillLastWord$/^efa$"), says: `client: status 0`,
	},
	{
		id: "fill/reset", file: "examples/pagedfill/client.cc",
		was:  "        shmemx_notify_reset((int)x.r.notify, 0);\n",
		is:   "",
		user: "pages are compared before they are there, from the second round on",
		by:   job("./tests/examples", "^TestPagedFill$/^few$"), says: `count the pages of PE 0: \d+ notifications instead of 1`,
	},
}

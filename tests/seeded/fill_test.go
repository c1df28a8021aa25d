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
		by:   job("./tests/examples", "^TestPagedFill$/^hosts$"), says: `verify page \d+ of buffer \d+`,
	},
	{
		id: "fill/lost", file: "examples/pagedfill/server.cc",
		was:  "            gone[c] = true;\n            say(",
		is:   "            say(",
		user: "a server waits for ever for a client that was killed",
		by:   job("./tests/examples", "^TestPagedFillVanish$"), says: `the job hung|not once`,
	},
	{
		id: "fill/early-wait", file: "examples/pagedfill/client.cc",
		was:  "for (uint64_t got = 0; got < x.writes;) {",
		is:   "for (uint64_t got = 0; got == 0;) {",
		user: "after the loss of another client pages are compared before they are there",
		by:   job("./tests/examples", "^TestPagedFillVanish$"), says: `count the pages of PE 0`,
	},
}

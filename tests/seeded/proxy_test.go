package seeded

// The proxy: credits, batches, numbers of messages, and its fast path in C.
var proxyDefects = []defect{
	{
		id: "proxy/credit-by-one", file: "runtime/proxy/credit.go",
		was:  "case p.Asked-p.Acked+e.Cost(n) > uint64(e.Window):",
		is:   "case p.Asked-p.Acked+e.Cost(n) > uint64(e.Window)+1:",
		user: "a PE that does not answer is sent more than its node has memory for",
		by:   unit("./runtime/proxy", "^TestWindow$"), says: `1025 messages without an answer, full false`,
	},
	{
		id: "proxy/bytes-of-a-lost-write", file: "runtime/proxy/complete.go",
		was:  "	if e.unordered && s.number == noNumber {\n		p.Bare--\n	}\n",
		is:   "",
		user: "after one put without a number each fence waits for ever",
		by:   unit("./runtime/proxy", "^TestSimOrder$"), says: `end of the programs: not so after many polls`,
	},
	{
		id: "proxy/batch-too-long", file: "runtime/proxy/merge.go",
		was:  "		p.BatchUsed+recordOf(n) <= messageSize &&",
		is:   "		p.BatchUsed+uint32(n) <= messageSize &&",
		user: "a burst of small puts writes over the message of another PE",
		by:   unit("./runtime/proxy", "^TestBurst$"), says: `message of 4120 bytes for a buffer of 4096`,
	},
	{
		id: "proxy/batch-unaligned", file: "runtime/proxy/merge.go",
		was:  "step := layout.RecordSize + int(size+7)&^7",
		is:   "step := layout.RecordSize + int(size)",
		user: "puts of 3 bytes in a burst end the job",
		by:   unit("./runtime/proxy", "^TestBurst$"), says: `PE 0 sent a message of kind 16, operation 0, width 0, which is not one of this job`,
	},
	{
		id: "proxy/late-packet-wraps", file: "runtime/proxy/complete.go",
		was:  "if int32(h.Seq-due) < 0 || e.early",
		is:   "if h.Seq < due || e.early",
		user: "after 2^32 messages to one PE the job ends",
		by:   unit("./runtime/proxy", "^TestBadSequence$"), says: `behind a wrap-round: 0 refused`,
	},
	{
		id: "proxy/early-message-kept", file: "runtime/proxy/complete.go",
		was:  "	if due := p.Received + 1; h.Seq != due || p.Early > 0 {",
		is:   "	if due := p.Received + 1; h.Seq > due+1 || p.Early > 0 {",
		user: "a message that comes twice is applied twice",
		by:   unit("./runtime/proxy", "^TestBadSequence$"), says: `repeated at once: 0 refused`,
	},
	{
		id: "proxy/one-pe-takes-all-tokens", file: "runtime/proxy/credit.go",
		was:  "if free <= 0 || 3*int(p.Tokens) >= free && p.Tokens > 0 ||",
		is:   "if free <= 0 ||",
		user: "a PE that hangs holds up puts to all others",
		by:   unit("./runtime/proxy", "^TestPlayedStuckPeers$"), says: `the endpoint is full, with \d+ of 512 tokens free`,
	},
	{
		id: "proxy/flush-follows-nothing-in-c", file: "runtime/proxy/express/express.h",
		was:  "h->need = h->kind == SHMEMI_MESSAGE_FLUSH ? p->out.posted : p->out.after;",
		is:   "h->need = p->out.after;",
		user: "on EFA quiet returns before the bytes of a put are there",
		by:   unit("./runtime/proxy", "^TestFlushInC$"), says: `the answer says that 5000 bytes are there`,
	},
	{
		id: "proxy/message-overtakes-writes-in-c", file: "runtime/proxy/express/express.h",
		was:  "        (int32_t)(h->need - p->edge) > 0 || acked",
		is:   "        acked",
		user: "on EFA a signal is seen before its data",
		by:   unit("./runtime/proxy", "^TestPlayedConsumerOrder$"), says: `PE \d sees number \d+ of PE \d's block \d, whose ends have`,
	},
	{
		id: "proxy/batch-over-a-fence-in-c", file: "runtime/proxy/express/express.h",
		was:  "if (p->batch_epoch != x->epoch || p->parked || size > SHMEMI_MERGE_MOST ||",
		is:   "if (p->parked || size > SHMEMI_MERGE_MOST ||",
		user: "a put behind a fence is seen before one of before it",
		by:   unit("./runtime/proxy", "^TestFenceInC$"), says: `what is behind the fence is there before a write of before it`,
	},
	{
		id: "proxy/credit-in-c", file: "runtime/proxy/express/express.h",
		was:  "units = 1 + ((bytes - 1) >> (x->unit & 63));",
		is:   "units = 1;",
		user: "small puts fill the memory of a node whose PEs do not take them",
		by:   unit("./runtime/proxy", "^TestWindowOfBytesInC$"), says: `150 bytes: message \d+: flushing false`,
	},
	{
		id: "proxy/dropped-for-another", file: "runtime/proxy/number.go",
		was:  "func signalKey(from, number uint32) uint64 { return uint64(from)<<32 | uint64(number) }",
		is:   "func signalKey(from, number uint32) uint64 { return uint64(number) }",
		user: "when a put to one PE fails, a signal of another PE is lost",
		by:   unit("./runtime/proxy", "^TestDroppedSignal$"), says: `the signals came to 1 and 0, want 0 and 2`,
	},
}

package seeded

// The guarantees of fence, quiet and put with signal.
var orderDefects = []defect{
	{
		id: "order/one-write-early", file: "runtime/sequence/in.go",
		was:  "if d := int32(need - i.edge); d <= 0 {",
		is:   "if d := int32(need - i.edge); d <= 1 {",
		user: "a signal is seen before the last bytes that it follows",
		by:   unit("./runtime/sequence", "^TestScenarios$"), says: `testdata/fence\.txt: it says, not as the file has it`,
	},
	{
		id: "order/notification-twice", file: "runtime/proxy/receiver/number.go",
		was:  "	if err := f.Arrive(number); err != nil {",
		is:   "	if notify != 0 {\n		r.count(notify - 1)\n		notify = 0\n	}\n	if err := f.Arrive(number); err != nil {",
		user: "a PE that waits for a number of puts goes on when one has come twice",
		by:   unit("./runtime/proxy", "^TestNotificationsCountOnce$"), says: `the second write again: counter 3 is 2, want 1`,
	},
	{
		id: "order/notification-after-quiet", file: "runtime/proxy/rma/write.go",
		was:  "		p.Wrote++ // delivered is not counted: an answer says that it is\n",
		is:   "",
		user: "after a quiet the target has not counted a put, on EFA",
		by:   unit("./runtime/proxy", "^TestSimCountsExactly$"), says: `after quiet PE \d has counted \d+ of \d+ puts`,
	},
	{
		id: "order/number-wraps", file: "runtime/sequence/in.go",
		was:  "ahead := (number - i.edge) & i.space.mask()",
		is:   "ahead := number - i.edge",
		user: "after 65536 puts to one PE on EFA the job ends",
		by:   unit("./runtime/sequence", "^TestWrap$"), says: `write 1 came when all below 4 were in`,
	},
	{
		id: "order/window-by-one", file: "runtime/sequence/out.go",
		was:  "return o.Posted-o.In < o.Space.Window }",
		is:   "return o.Posted-o.In <= o.Space.Window }",
		user: "a flood of puts on EFA fills the completion queue, and one is lost",
		by:   unit("./runtime/sequence", "^TestScenarios$"), says: `testdata/window\.txt: it says, not as the file has it`,
	},
	{
		id: "order/acknowledged-and-forgotten", file: "runtime/sequence/out.go",
		was:  "		if int32(ack-o.After) > 0 {\n			o.After = ack\n		}\n",
		is:   "",
		user: "a program without fences ends after 2^31 puts",
		by:   unit("./runtime/sequence", "^TestLongFlow$"), says: `after 2147483648 writes: reached false`,
	},
	{
		id: "order/closed-stream", file: "runtime/sequence/streams.go",
		was:  "s.used[n], s.free = false, append(s.free, n)",
		is:   "s.free = append(s.free, n)",
		user: "a stranger's write counts as one of a PE that has left",
		by:   unit("./runtime/sequence", "^TestStreams$"), says: `stream 58 was closed and is`,
	},
	{
		id: "order/signal-follows-nothing", file: "runtime/proxy/rma/write.go",
		was:  "		if numbered {\n			p.Out.Follow()\n		}\n		x.follow(s, p)",
		is:   "		x.follow(s, p)",
		user: "on EFA a signal of put_signal is seen before its data",
		by:   unit("./runtime/proxy", "^TestSimOrder$"), says: `sees the signal of PE \d at 0x[0-9a-f]+ before its \d+ bytes`,
	},
	{
		id: "order/fence-between-writes-and-messages", file: "runtime/proxy/rma/write.go",
		was:  "			p.Out.Follow() // before the write is counted: messages of its epoch do not wait for it\n",
		is:   "",
		user: "what follows a fence is seen before a large put of before it",
		by:   unit("./runtime/proxy", "^TestSimOrder$"), says: `sees a small put of PE \d .* before a large put`,
	},
	{
		id: "order/batch-over-a-fence", file: "runtime/proxy/sender/merge.go",
		was:  "return p.Batch != nil && p.BatchEpoch == x.Epoch && x.merging(n) &&",
		is:   "return p.Batch != nil && x.merging(n) &&",
		user: "a small put behind a fence is seen before a large one of before it",
		by:   unit("./runtime/proxy", "^TestSimOrder$"), says: `sees an element of PE \d .* before the signal of put_signal`,
	},
	{
		id: "order/answer-covers-too-much", file: "runtime/proxy/sender/message.go",
		was:  "p.Acked, p.WroteAcked = p.FlushAsked, p.FlushWrote",
		is:   "p.Acked, p.WroteAcked = p.Asked, p.Wrote",
		user: "shmem_quiet returns before the last puts are there",
		by:   unit("./runtime/proxy", "^TestSimOrder$"), says: `after quiet PE \d does not see a put`,
	},
	{
		id: "order/write-behind-messages", file: "runtime/proxy/layout/peer.go",
		was:  "	if p.Epoch == epoch {\n		before = p.AskedThen\n	}\n	return before > p.Acked",
		is:   "	if p.Epoch == epoch {\n		before = p.AskedThen\n	}\n	return before > p.Acked+1",
		user: "a large put behind a fence is written before a small one of before it is applied",
		by:   unit("./runtime/proxy", "^TestSimOrder$"), says: `sees a large put of PE \d .* before a small put`,
	},
}

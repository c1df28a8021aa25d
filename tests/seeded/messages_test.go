package seeded

// Two-sided messages.
var messageDefects = []defect{
	{
		id: "messages/one-too-many", file: "abi/mailbox.h",
		was:  "return sent + span - credit <= ring;",
		is:   "return sent + span - credit <= ring + span;",
		user: "a message overwrites one that was not received, and a PE's memory has no bound",
		by:   unit("./runtime/proxy/mailboxtest", "^TestRandom$"), says: `\d+ bytes are under way in a ring of \d+`,
	},
	{
		id: "messages/old-marks", file: "abi/mailbox.h",
		was:  "for (uint32_t i = 0; i < span; i += SHMEMI_MAIL_LINE)",
		is:   "for (uint32_t i = 0; i < SHMEMI_MAIL_LINE; i += SHMEMI_MAIL_LINE)",
		user: "bytes of an earlier message are received as a message",
		by:   unit("./runtime/proxy/mailboxtest", "^TestRandom$"), says: `seed \d+: found|a mark is left at \d+`,
	},
	{
		id: "messages/overtaken", file: "abi/mailbox.h",
		was:  "        if (mark == 0)\n            break;",
		is:   "        if (mark == 0) {\n            at += SHMEMI_MAIL_LINE;\n            continue;\n        }",
		user: "on EFA the second of two messages is received first",
		by:   unit("./runtime/proxy/mailboxtest", "^TestRandom$"), says: `seed \d+: found .*, want the message at`,
	},
	{
		id: "messages/longer-than-the-buffer", file: "capi/front/receive.c",
		was:  "if (r->size > r->capacity) {",
		is:   "if (r->is_long && r->size > r->capacity) {",
		user: "a short message is written past the end of the buffer",
		by:   program("sendrecv", "node-1"), says: `a short buffer gives 1`,
	},
	{
		id: "messages/sent-twice", file: "capi/front/send.c",
		was:  "if (entry->used && !entry->driven && is_same(entry, s)) {",
		is:   "if (entry->used && !entry->driven && is_same(entry, s) && entry->pe < 0) {",
		user: "each repeated call of send_test announces a long message once more",
		by:   program("sendrecv", "node-1"), says: `got signal 15 .*: ending 1 PEs`, hangs: true,
	},
}

package table

// message has the active messages between proxies. Package runtime/proxy handles them in Go; for
// some small ones C does the same (runtime/proxy/fastpath).
var message = Unit{
	Name:      "message",
	Doc:       "the active messages between proxies, and their counters.",
	GoImports: []string{`"libshmem"`, `"libshmem/fabric"`},
	GoFile:    "runtime/proxy/layout/zz_message_unsafe.go",
	Constants: []Constant{
		{"CONTEXTS_OPEN", "ContextsOpen", 1024, "the largest number of contexts of a PE, including the default one"},
		{"CONTEXT_SHIFT", "ContextShift", 20, "where the number of a context begins in a header's from: a job has up to 2^20 PEs"},
		{"EPOCH_BITS", "EpochBits", 22, "bits of the epoch in the token of a put; above them is the number of the context (State.EpochToken)"},
		{"FLUSH_TOKEN", "FlushToken", 0xffff, "lower half of the token of a flush and of its reply; the upper half is the flush_turn of the PE. Of each PE there is one flush at a time, and it needs no operation record, so that C can send it"},
		{"MERGE_MOST", "MergeMost", 1984, "the most bytes of payload of an operation that shares a message: two such operations fit"},
		{"BURST_AFTER", "BurstAfter", 8, "after so many operations of a caller without a pause, later ones wait in a batch; C counts them"},
		{"RECORD_SIZE", "RecordSize", recordSize, "bytes of a header, from its start, that a batch has for each operation; the payload follows"},
		{"MESSAGE_SIZE", "MessageSize", 4160, "bytes of the largest active message, header included: 4 KiB and their signal fit one message, and the receive buffers take half a megabyte"},
		{"PUT_MOST", "MaxPut", 4040, "bytes of the largest put without a signal that is a message. A page of 4 KiB is written: a message is copied at both ends, and its target's processor takes part"},
		{"CREDITED_MOST", "CreditedMost", 4096, "bytes of a message that cost credit at most: a power of two, so that half of a PE's credits suffice for any message. The last 64 bytes of the largest are free"},
		{"HEADER_SIZE", "HeaderSize", 56, "leaves a message without payload in one cache line, and with 8 bytes of it: what providers inject at least is 64"},
		{"COUNTED", "Counted", len(counters), "how many counters there are"},
	},
	Enums: []Enum{
		{Prefix: "MESSAGE_", Go: "Kind", Base: "uint8", Kind: "Kind", First: 1, Doc: "what an active message requests.", Values: []Value{
			{Name: "AMO", Doc: "apply op; reply with the old value if it fetches"},
			{Name: "STORE", Doc: "store width bytes of operand"},
			{Name: "PUT", Doc: "copy the payload"},
			{Name: "PUT_SIGNAL", Doc: "copy the payload, then apply op to the signal"},
			{Name: "FLUSH", Doc: "reply when everything before is applied; operand 1: the program of the sender ends"},
			{Name: "REPLY", Doc: "the reply: token and operand"},
			{Name: "REQUEST_TO_SEND", Doc: "the receiver is to read bytes of the sender's main memory: of puts, or as the reply to FETCH (layout.RequestToSend)"},
			{Name: "FINISHED", Doc: "the reply: they have been read; operand not 0: the error because of which they could not be"},
			{Name: "FETCH", Doc: "copy operand bytes out of GPU memory, and reply by REQUEST_TO_SEND or DATA"},
			{Name: "DATA", Doc: "a part of the bytes of a FETCH is in the payload"},
			{Name: "EXTENT", Doc: "NICs reach a part of the sender's heap in GPU memory (heaps.announce in runtime/proxy/gpustage)"},
			{Name: "PING", Doc: "nothing: the network shows by it whether the PE is there (Engine.Ping)"},
			{Name: "SEQUENCE", Doc: "give the sender's writes to this PE a sequence stream (receiver.grantSequence)"},
			{Name: "SEQUENCED", Doc: "the reply: operand is the number of that stream plus 1; 0: there is none left"},
			{Name: "VOID", Doc: "the numbered write in operand has failed and will not arrive (receiver.handleVoid)"},
			{Name: "BATCH", Doc: "several operations: see runtime/proxy/batch.go"},
			{Name: "ACTIVITY_REQUEST", Doc: "report what your program does: see activity.go"},
			{Name: "ACTIVITY_REPLY", Doc: "the reply: a text in the payload"},
			{Name: "MEMBER", Doc: "bytes in the payload for the owner of the engine: see members.go"},
		}},
		{Prefix: "COUNT_", Go: "Counter", Base: "int", Kind: "-", Doc: "the counters of each PE of the job. Counts only grow, but for the last two, which are the highest values so far. The numbers of the messages that request something are those of their kinds, so that one index serves to count them.", Values: counters},
	},
	Structs: []Struct{{
		Name: "header", Go: "Header", Size: 56,
		Doc: "It begins every active message. All members are in the byte order of the sender, which is that of the job: PEs of different byte order are refused when addresses are exchanged. From job on, sending adds it.",
		Members: []Member{
			{Name: "kind", Type: "u8", Doc: "SHMEMI_MESSAGE_...", GoType: "Kind"},
			{Name: "op", Type: "u8", Doc: "atomic operation", GoType: "fabric.Op"},
			{Name: "width", Type: "u8", Doc: "bytes of the operand: 1, 2, 4 or 8"},
			{Name: "fetch", Type: "u8", Doc: "1: reply with the old value"},
			{Name: "token", Type: "u32", Doc: "number of the request, which the reply has, too; other kinds have numbers of their own in it"},
			{Name: "offset", Type: "i64", GoType: "libshmem.Offset", Doc: "bytes from the start of the target's user heap; negative: in its internal area"},
			{Name: "operand", Type: "u64", Doc: "element, operand, signal, or the fetched value"},
			{Name: "extra", Type: "u64", Doc: "comparand of a compare-and-swap; of PUT_SIGNAL the offset of the signal, as offset"},
			{Name: "job", Type: "u64", Doc: "the job's token, over sockets xor the seal of the message: a message with another value is dropped unread", At: recordSize},
			{Name: "from", Type: "u32", Doc: "the PE, and above CONTEXT_SHIFT the number of its context"},
			{Name: "seq", Type: "u32", Doc: "sequence number of the message among those from that context to this PE: 1, 2 and so on"},
			{Name: "need", Type: "u32", Doc: "how many numbered writes of that context, from the first on, have to arrive before the message is applied"},
			{Name: "ack", Type: "u32", Doc: "how many numbered writes of the receiver's context, from the first on, have arrived at the sender"},
		},
	}},
}

// recordSize is the offset of the member job in a header. The members before it are an operation's
// record, which a batch has for each of its operations.
const recordSize = 32

// counters are the counters of a PE. The fast path in C (runtime/proxy/fastpath) also counts the
// messages that it sends and receives in them.
var counters = []Value{
	{Name: "MESSAGE_BYTES", Doc: "bytes sent in messages, headers included"},
	{Name: "ATOMICS", Doc: "MESSAGE_AMO messages sent, and so on"},
	{Name: "ELEMENTS", Doc: "MESSAGE_STORE"},
	{Name: "PUTS", Doc: "MESSAGE_PUT"},
	{Name: "PUT_SIGNALS", Doc: "MESSAGE_PUT_SIGNAL"},
	{Name: "CONTROL", Doc: "sent: the library's own messages, and messages that several operations share"},
	{Name: "RECEIVED", Doc: "messages that came in their turn, or waited for it"},
	{Name: "RECEIVED_BYTES", Doc: "bytes in them"},
	{Name: "WRITES", Doc: "one-sided writes"},
	{Name: "WRITE_BYTES", Doc: "bytes in them"},
	{Name: "READS", Doc: "one-sided reads"},
	{Name: "READ_BYTES", Doc: "bytes in them"},
	{Name: "RETRIES", Doc: "times the provider had no room; for this PE itself: none for a receive buffer"},
	{Name: "NO_CREDIT", Doc: "times an operation was returned to its caller because the PE had no credit, or no token was left"},
	{Name: "NO_TURN", Doc: "times one was returned because it had to follow what was on its way"},
	{Name: "PARKED", Doc: "messages of the library's own that had to wait for room"},
	{Name: "EARLY", Doc: "messages that came before their turn"},
	{Name: "NUMBERED", Doc: "one-sided writes that brought a number along, see runtime/proxy/arrived.go"},
	{Name: "NOTIFIED", Doc: "one-sided writes that brought a notification along"},
	{Name: "HELD", Doc: "messages that waited here for such writes"},
	{Name: "WAITED", Doc: "operations that waited in a queue, see runtime/proxy/queue.go"},
	{Name: "MERGED", Doc: "operations that shared a message with others, see runtime/proxy/batch.go"},
	{Name: "MOST_UNDER_WAY", Doc: "operations at a time that held a token"},
	{Name: "MOST_UNACKNOWLEDGED", Doc: "units of messages at a time that the PE had not said it applied"},
}

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
		{"EPOCH_BITS", "EpochBits", 22, "of the epoch in the token of a put, above which the number of its context is: see EpochToken"},
		{"FLUSH_TOKEN", "FlushToken", 0xffff, "what the reply to a flush names, with the turn of its PE's flush: there is one at a time for each, and it needs no slot, so that C can send it"},
		{"MERGE_MOST", "MergeMost", 1984, "bytes of payload up to which operations share a message: two fit"},
		{"BURST_AFTER", "BurstAfter", 8, "how many operations of a caller have to come in a row before they are held; C counts them"},
		{"RECORD_SIZE", "RecordSize", recordSize, "the part of a header that is in a batch for each operation, its payload behind it"},
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
			{Name: "REQUEST_TO_SEND", Doc: "bytes that the PE may read: see offered"},
			{Name: "FINISHED", Doc: "they have been read, or could not be"},
			{Name: "FETCH", Doc: "copy operand bytes out of GPU memory and offer them"},
			{Name: "DATA", Doc: "a part of those in the payload"},
			{Name: "EXTENT", Doc: "a part of the sender's heap that the fabric reaches: see takeExtent"},
			{Name: "PING", Doc: "nothing: see Ping"},
			{Name: "SEQUENCE", Doc: "give my writes a sequence stream: see giveSequence"},
			{Name: "SEQUENCED", Doc: "the reply: operand is that stream and 1, or 0"},
			{Name: "VOID", Doc: "a write will not come: see voided"},
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
			{Name: "token", Type: "u32", Doc: "names the request in the reply"},
			{Name: "offset", Type: "i64", GoType: "libshmem.Offset", Doc: "in the target's user heap; negative in the internal area"},
			{Name: "operand", Type: "u64", Doc: "element, operand, signal, or the fetched value"},
			{Name: "extra", Type: "u64", Doc: "comparand of a compare-and-swap; offset of the signal"},
			{Name: "job", Type: "u64", Doc: "the job's token, and over sockets the seal with it: a message with another token is dropped unread", At: recordSize},
			{Name: "from", Type: "u32", Doc: "the PE, and above CONTEXT_SHIFT the number of its context"},
			{Name: "seq", Type: "u32", Doc: "of the messages from that context to this PE"},
			{Name: "need", Type: "u32", Doc: "so many writes of the sender have to be in before it is applied"},
			{Name: "ack", Type: "u32", Doc: "so many writes of this PE are in at the sender"},
		},
	}},
}

// recordSize is the offset of the member job in a header. The members before it are an operation's
// record, which a batch has for each of its operations.
const recordSize = 32

// counters are the counters of a PE. The fast path in C (runtime/proxy/fastpath) also counts the
// messages that it sends and receives in them.
var counters = []Value{
	{Name: "MESSAGE_BYTES", Doc: "sent in messages, headers included"},
	{Name: "ATOMICS", Doc: "MESSAGE_AMO"},
	{Name: "ELEMENTS", Doc: "MESSAGE_STORE"},
	{Name: "PUTS", Doc: "MESSAGE_PUT"},
	{Name: "PUT_SIGNALS", Doc: "MESSAGE_PUT_SIGNAL"},
	{Name: "CONTROL", Doc: "the library's own messages, and messages that others share"},
	{Name: "RECEIVED", Doc: "messages that came in their turn, or waited for it"},
	{Name: "RECEIVED_BYTES", Doc: "in them"},
	{Name: "WRITES", Doc: "one-sided"},
	{Name: "WRITE_BYTES", Doc: "in them"},
	{Name: "READS", Doc: "one-sided"},
	{Name: "READ_BYTES", Doc: "in them"},
	{Name: "RETRIES", Doc: "times the provider had no room; for this PE itself: none for a receive buffer"},
	{Name: "NO_CREDIT", Doc: "times an operation was sent back because the PE had no credit, or no token was left"},
	{Name: "NO_TURN", Doc: "times one was sent back because it had to follow what was on its way"},
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

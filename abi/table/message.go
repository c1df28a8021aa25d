package table

// The active messages of the proxies, for small ones of which C does the work of
// runtime/proxy (runtime/proxy/fastpath).
var message = Unit{
	Name:      "message",
	Doc:       "the active messages between proxies, and their counters.",
	GoImports: []string{`"libshmem"`, `"libshmem/fabric"`},
	GoFile:    "runtime/proxy/layout/zz_message_unsafe.go",
	Constants: []Constant{
		{"CONTEXTS_OPEN", "ContextsOpen", 1024, "the most streams of a PE, that of the default context included"},
		{"CONTEXT_SHIFT", "ContextShift", 20, "where the number of a stream begins in a header's from: a job has up to 2^20 PEs"},
		{"FLUSH_TOKEN", "FlushToken", 0xffff, "what the answer to a flush names, with the turn of its PE's flush: there is one at a time for each, and it needs no slot, so that C can ask"},
		{"MERGE_MOST", "MergeMost", 512, "bytes of payload up to which a copy is cheaper than a message"},
		{"BURST_AFTER", "BurstAfter", 8, "how many operations of a caller have to come in a row before they are held; C counts them"},
		{"RECORD_SIZE", "RecordSize", recordSize, "the part of a header that is in a batch for each operation, its payload behind it"},
		{"MESSAGE_SIZE", "MessageSize", 4096, "bytes of the largest active message, header included: a put that is worth a copy fits one message, and the receive buffers take half a megabyte"},
		{"HEADER_SIZE", "HeaderSize", 56, "leaves a message without payload in one cache line, and with 8 bytes of it: what providers inject at least is 64"},
		{"COUNTED", "Counted", len(counters), "how many counters there are"},
	},
	Enums: []Enum{
		{Prefix: "MESSAGE_", Go: "Kind", Base: "uint8", Kind: "Kind", First: 1, Doc: "what an active message asks for.", Values: []Value{
			{Name: "AMO", Doc: "apply op; answer with the old value when it fetches"},
			{Name: "STORE", Doc: "store width bytes of operand"},
			{Name: "PUT", Doc: "copy the payload"},
			{Name: "PUT_SIGNAL", Doc: "copy the payload, then apply op to the signal"},
			{Name: "FLUSH", Doc: "answer when everything before is applied; operand 1: the program of the sender ends"},
			{Name: "REPLY", Doc: "the answer: token and operand"},
			{Name: "REQUEST_TO_SEND", Doc: "bytes that the PE may read: see offered"},
			{Name: "FINISHED", Doc: "they have been read, or could not be"},
			{Name: "FETCH", Doc: "copy operand bytes out of GPU memory and offer them"},
			{Name: "DATA", Doc: "a part of those in the payload"},
			{Name: "EXTENT", Doc: "a part of the sender's heap that the fabric reaches: see takeExtent"},
			{Name: "PING", Doc: "nothing: see Ping"},
			{Name: "SEQUENCE", Doc: "give my writes a stream: see giveSequence"},
			{Name: "SEQUENCED", Doc: "the answer: operand is the stream and 1, or 0"},
			{Name: "VOID", Doc: "a write will not come: see voided"},
			{Name: "BATCH", Doc: "several operations: see runtime/proxy/batch.go"},
			{Name: "ASK", Doc: "report what your program does: see ask.go"},
			{Name: "TOLD", Doc: "the answer: a text in the payload"},
		}},
		{Prefix: "COUNT_", Go: "Counter", Base: "int", Kind: "-", Doc: "the counters of each PE of the job. Counts only grow, but for the last two, which are the highest values so far. The numbers of the messages that ask for something are those of their kinds, so that one index serves to count them.", Values: counters},
	},
	Structs: []Struct{{
		Name: "header", Go: "Header", Size: 56,
		Doc: "It begins every active message. All members are in the byte order of the sender, which is that of the job: PEs of different byte order are refused when addresses are exchanged. From job on, sending adds it.",
		Members: []Member{
			{Name: "kind", Type: "u8", Doc: "SHMEMI_MESSAGE_...", GoType: "Kind"},
			{Name: "op", Type: "u8", Doc: "atomic operation", GoType: "fabric.Op"},
			{Name: "width", Type: "u8", Doc: "bytes of the operand: 1, 2, 4 or 8"},
			{Name: "fetch", Type: "u8", Doc: "1: answer with the old value"},
			{Name: "token", Type: "u32", Doc: "names the request in the answer"},
			{Name: "offset", Type: "i64", GoType: "libshmem.Offset", Doc: "in the target's user heap; negative in the internal area"},
			{Name: "operand", Type: "u64", Doc: "element, operand, signal, or the fetched value"},
			{Name: "extra", Type: "u64", Doc: "comparand of a compare-and-swap; offset of the signal"},
			{Name: "job", Type: "u64", Doc: "the job's token, and over sockets the seal with it: a message with another one is not looked at", At: recordSize},
			{Name: "from", Type: "u32", Doc: "the PE, and above CONTEXT_SHIFT the number of its stream"},
			{Name: "seq", Type: "u32", Doc: "of the messages from that stream to this PE"},
			{Name: "need", Type: "u32", Doc: "so many writes of the sender have to be in before it is applied"},
			{Name: "ack", Type: "u32", Doc: "so many writes of this PE are in at the sender"},
		},
	}},
}

// recordSize is where job stands in a header.
const recordSize = 32

// counters are the counters of a PE. C counts the messages too.
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
	{Name: "MOST_UNANSWERED", Doc: "units of messages at a time that the PE had not said it applied"},
}

// Package table is the table of every layout that C and Go share. abi/gen generates the C headers
// and the Go files from it, so that the two cannot disagree.
//
// The words that GPU threads, host threads and the proxy write for each other (the slots of a ring
// and the structs around it) are in slots.go: abi/gen generates from them a C and CUDA header
// (device/shmem/zz_wire.h), Go structs and codecs (queue/zz_wire.go) and the page
// docs/reference/wire.md. Everything else is a Unit, which has one C header (abi/zz_<unit>.h) and
// one Go file in the package that owns it.
//
// The package holds layout, not behaviour. It imports nothing of this tree. How producers reserve
// and fill slots, and how the proxy frees them, is in device/shmem/ring.h and in package queue.
//
// # Slots
//
// A slot is two words of 64 bits. Bit 63 of each word is the lap bit. It shows whether the word was
// written in this lap of the ring or in the one before, so the two words of a slot need not be
// stored at once. An operation takes one to three consecutive slots, and the first always begins
// with the same fields. Where an operand of 64 bits is, the lap takes its top bit; that bit travels
// in the first slot.
package table

// Version is raised by each change of this table that makes code with the old layout wrong.
const Version = 5

// Bits is the number of bits of a word for fields; the one above them is the lap.
const Bits = 63

// MaxSlots is the most slots that an operation takes.
const MaxSlots = 3

// A Field is a range of bits within the slots of an operation. A field of 64 bits fills a word
// except for its top bit, which is at Top in the first word.
type Field struct {
	Name  string
	Slot  int // of the operation: 0 to 2
	Word  int // of the slot: 0 or 1
	Shift int // the field's lowest bit in the word
	Bits  int
	Top   int // bit of slot 0, word 0; only for fields of 64 bits
	Doc   string
}

// From bit aux on, each operation uses the first word in its own way. From bit top on, the first
// word has the top bits of 64-bit operands, if the operation has such operands.
const (
	aux = 31
	top = aux + 17
)

// Head has the fields that every operation begins with.
var Head = []Field{
	{Name: "op", Slot: 0, Word: 0, Shift: 0, Bits: 5, Doc: "the operation"},
	{Name: "kind", Slot: 0, Word: 0, Shift: 5, Bits: 4, Doc: "which atomic operation, numbered as enum shmemi_amo"},
	{Name: "width", Slot: 0, Word: 0, Shift: 9, Bits: 2, Doc: "logarithm of the bytes of an element: 0 to 3"},
	{Name: "pe", Slot: 0, Word: 0, Shift: 11, Bits: 20, Doc: "the target"},
	{Name: "dest", Slot: 0, Word: 1, Shift: 0, Bits: 44, Doc: "byte offset in the target's symmetric segment"},
	{Name: "context", Slot: 0, Word: 1, Shift: 44, Bits: 12, Doc: "context that the operation belongs to; 0 is the default one"},
}

// Fields has the further fields. Each operation has some of them, which may share bits with fields
// of other operations.
var Fields = []Field{
	{Name: "value32", Slot: 0, Word: 0, Shift: aux, Bits: 32, Doc: "an element, or an operand that is sign-extended"},
	{Name: "reply", Slot: 0, Word: 0, Shift: aux, Bits: 16, Doc: "index, in the replies of the ring, of the one that the producer has claimed"},
	{Name: "want", Slot: 0, Word: 0, Shift: aux + 16, Bits: 1, Doc: "1: the producer waits for the reply; 0: reply has no meaning"},
	{Name: "size", Slot: 0, Word: 0, Shift: aux, Bits: 5, Doc: "how many bytes value and value2 hold, the first of them in the lowest bits: 1 to 16"},
	{Name: "local", Slot: 1, Word: 0, Bits: 64, Top: top, Doc: "address of the bytes at the caller"},
	{Name: "length", Slot: 1, Word: 1, Bits: 44, Doc: "bytes"},
	{Name: "value", Slot: 1, Word: 0, Bits: 64, Top: top, Doc: "an element, bytes, or an operand"},
	{Name: "value2", Slot: 1, Word: 1, Bits: 64, Top: top + 1, Doc: "the bytes after those of value, or the comparand"},
	{Name: "signal", Slot: 2, Word: 0, Bits: 64, Top: top + 2, Doc: "the new value of the signal, or the number to add"},
	{Name: "signal_at", Slot: 2, Word: 1, Bits: 44, Doc: "byte offset of the signal in the target's symmetric segment"},
}

// An Op is one operation.
type Op struct {
	Name   string
	Code   int
	Slots  int
	Fields []string // after op: of Head and of Fields, in the order of the packing function's arguments
	Doc    string
}

// Ops has all operations. Codes of removed operations are not used again within a Version.
var Ops = []Op{
	{"nop", 0, 1, nil, "Takes a slot and does nothing."},
	{"put", 1, 2, []string{"pe", "context", "dest", "local", "length", "want", "reply"},
		"Copies bytes to the target. The reply, when wanted, says that the bytes at the caller may be reused."},
	{"get", 2, 2, []string{"pe", "context", "dest", "local", "length", "want", "reply"},
		"Copies bytes from the target. The reply, when wanted, says that they are there."},
	{"put_signal", 3, 3, []string{"pe", "context", "dest", "local", "length", "want", "reply", "kind", "signal", "signal_at"},
		"Copies bytes to the target, then sets its signal or adds to it."},
	{"p", 4, 1, []string{"pe", "context", "dest", "width", "value32"},
		"Stores an element of up to 4 bytes."},
	{"p_wide", 5, 2, []string{"pe", "context", "dest", "value"},
		"Stores an element of 8 bytes."},
	{"p_bytes", 6, 2, []string{"pe", "context", "dest", "size", "value", "value2"},
		"Stores up to 16 bytes, which need not be aligned."},
	{"amo", 7, 1, []string{"pe", "context", "dest", "kind", "width", "value32"},
		"Applies an atomic operation without a result. Signals are these."},
	{"amo_wide", 8, 2, []string{"pe", "context", "dest", "kind", "width", "value", "value2", "want", "reply"},
		"As amo, with a full operand, a comparand and a reply: the value before."},
	{"quiet", 9, 1, []string{"context"},
		"Requests that everything before it be complete; the ring's done then passes it."},
	{"fence", 10, 1, []string{"context"},
		"Orders the operations before it on this ring ahead of those after it on this ring, for each PE. When the ring's fenced passes it, that holds for all rings."},
	{"p_signal", 11, 3, []string{"pe", "context", "dest", "size", "value", "value2", "kind", "signal", "signal_at"},
		"Stores up to 16 bytes, then sets a signal of the target or adds to it."},
}

// Structs has the structs around the slots.
var Structs = []Struct{
	{Name: "ring_progress", Go: "Progress", Size: 64, Doc: "The proxy's words to producers about a ring. Only the proxy writes it.", Members: []Member{
		{Name: "tail", Type: "u64", Doc: "positions below it may be used again; published once a batch"},
		{Name: "done", Type: "u64", Doc: "position after the last quiet that is complete"},
		{Name: "fenced", Type: "u64", Doc: "position after the last fence that holds for all rings"},
		{Name: "asleep", Type: "u32", Doc: "1: the proxy sleeps and a host producer has to wake it"},
		{Name: "stopped", Type: "u32", Doc: "1: the ring has no consumer any more; producers give up"},
	}},
	{Name: "reply", Go: "Reply", Size: 16, Doc: "A reply. The proxy writes value and status, then turn; the producer that claimed it waits until turn changes.", Members: []Member{
		{Name: "value", Type: "u64", Doc: "what an atomic operation has fetched; 0 for other operations"},
		{Name: "turn", Type: "u32", Doc: "counts the replies that this entry has had, modulo 2^32; stored with release"},
		{Name: "status", Type: "i32", Doc: "0; else the operation has failed, and the proxy has reported why"},
	}},
	{Name: "ring_near", Go: "Near", Size: 256, Doc: "The producers' own words, in memory that is near to them. The claims of the replies follow, 32 in a word.", Members: []Member{
		{Name: "head", Type: "u64", Doc: "next position to be taken; producers add to it"},
		{Name: "tail", Type: "u64", Doc: "the tail that producers saw last; the holder of poller writes it", At: 128},
		{Name: "poller", Type: "u32", Doc: "1: a producer reads the proxy's tail for all that wait", At: 160},
		{Name: "noting", Type: "u32", Doc: "1: the quiet of a producer has a position in noted"},
		{Name: "quieted", Type: "u64", Doc: "position below which all was complete at the last quiet; the holder of noting writes it", At: 168},
		{Name: "noted", Type: "u64", Doc: "position below which all will be complete when the quiet of the holder of noting is; it alone reads and writes it"},
	}},
	{Name: "ring", Go: "Desc", Size: 64, Doc: "Where a ring is. It does not change once producers have it.", Members: []Member{
		{Name: "slots", Type: "ptr", Doc: "the slots"},
		{Name: "line", Type: "ptr", Doc: "struct shmemi_ring_progress"},
		{Name: "replies", Type: "ptr", Doc: "array of struct shmemi_reply"},
		{Name: "near", Type: "ptr", Doc: "struct shmemi_ring_near and the claims"},
		{Name: "log2_slots", Type: "u32", Doc: "logarithm of the number of slots"},
		{Name: "log2_replies", Type: "u32", Doc: "logarithm of the number of replies, at least 5"},
		{Name: "wake", Type: "ptr", Doc: "only for host producers: called with wake_arg when the proxy sleeps; otherwise NULL"},
		{Name: "wake_arg", Type: "ptr", Doc: "see wake"},
		{Name: "cells", Type: "ptr", Doc: "where bytes of operations may lie beside the slots, SHMEMI_CELLS times SHMEMI_CELL_BYTES; else NULL"},
	}},
	{Name: "device_peer", Go: "Peer", Size: 16, Doc: "How a kernel reaches a PE.", Members: []Member{
		{Name: "direct", Type: "ptr", Doc: "where its symmetric segment is mapped for loads and stores, or NULL: by ring"},
		{Name: "tile", Type: "u32", Doc: "the largest tile of eager transfers that one operation in a ring keeps on its way there; 0: none"},
		{Name: "reserved", Type: "u32", Doc: "0"},
	}},
	{Name: "device_state", Go: "State", Size: 160, Doc: "All that device code knows about the job. It does not change while kernels run, but for what the pointers name.", Members: []Member{
		{Name: "version", Type: "u32", Doc: "version of the layout: producers with another version refuse it"},
		{Name: "size", Type: "u32", Doc: "bytes of this struct"},
		{Name: "me", Type: "i32", Doc: "number of this PE"},
		{Name: "n_pes", Type: "i32", Doc: "number of PEs"},
		{Name: "segment", Type: "u64", Doc: "address of this PE's symmetric segment, from which offsets count"},
		{Name: "heap", Type: "u64", Doc: "address of the user heap in it"},
		{Name: "heap_size", Type: "u64", Doc: "bytes of the user heap"},
		{Name: "peers", Type: "ptr", Doc: "array of struct shmemi_device_peer, one for each PE"},
		{Name: "rings", Type: "ptr", Doc: "array of struct shmemi_ring"},
		{Name: "ring_count", Type: "u32", Doc: "rings; 0: every PE is reached directly"},
		{Name: "ring_map", Type: "u32", Doc: "what picks a thread's ring: SHMEMI_MAP_..."},
		{Name: "stop", Type: "ptr", Doc: "one u64: how many losses of PEs there were, all ones when the job ends; and above, from bit 32 on, how many the program has acknowledged. Waits end while the two differ"},
		{Name: "work", Type: "u64", Doc: "address, in the user heap, of the work area of kernels' collectives; zeroed at init"},
		{Name: "work_size", Type: "u64", Doc: "bytes of it"},
		{Name: "report", Type: "ptr", Doc: "one struct shmemi_device_report in main memory: a kernel that has to stop says why; NULL: for threads of the host"},
		{Name: "checks", Type: "u32", Doc: "how much is checked: SHMEM_CHECKS as 0, 1 or 2"},
		{Name: "device", Type: "i32", Doc: "number of the GPU that the state is for; -1: threads of the host"},
		{Name: "teams", Type: "ptr", Doc: "array of struct shmemi_device_team: the host writes an entry when a team is made or destroyed; NULL: there is only SHMEM_TEAM_WORLD"},
		{Name: "team_count", Type: "u32", Doc: "entries of it"},
		{Name: "notify_count", Type: "u32", Doc: "how many notification counters each PE has for producers; 0: none"},
		{Name: "queues", Type: "ptr", Doc: "array of ring_count struct shmemi_device_image: the job with one of the rings alone; NULL: without rings, and in an entry of it", At: 120},
		{Name: "heaps", Type: "ptr", Doc: "array of u64: where the user heap of each PE is for loads and stores, or 0"},
		{Name: "notify", Type: "u64", Doc: "address, in this PE's symmetric segment, of the notification counters that loads and stores reach: one u64 each, at the same place of each PE. Any PE adds to them; with notify_main nothing else changes them"},
		{Name: "notify_main", Type: "ptr", Doc: "this PE's notification counters in main memory: the network and the CPU of any PE add to them, and this PE sets them. A counter's value is the sum of the two; NULL: it is that of notify"},
		{Name: "notify_at", Type: "u64", Doc: "byte offset, in the symmetric segment, of the notification counters that operations in rings add to"},
	}},
	{Name: "device_team", Go: "Team", Size: 64, Doc: "A team for kernels of one PE. Its entry is the one that the low TEAM_BITS bits of the handle say; that of SHMEM_TEAM_SHARED is 0.", Members: []Member{
		{Name: "handle", Type: "i32", Doc: "the host's; 0: no team. Read together with n_pes"},
		{Name: "n_pes", Type: "i32", Doc: "how many PEs it has"},
		{Name: "me", Type: "i32", Doc: "this PE's number in it"},
		{Name: "start", Type: "i32", Doc: "its PE i is PE start + i * stride of the job"},
		{Name: "stride", Type: "i32", Doc: "see start; 0 and pes not NULL: they follow no rule"},
		{Name: "pes", Type: "ptr", Doc: "array of i32, the PE of the job that each is; NULL where stride gives it", At: 24},
		{Name: "work", Type: "u64", Doc: "address, in the user heap, of the work area of its collectives, at the same place for each of its PEs; 0: there was no memory left"},
		{Name: "work_size", Type: "u64", Doc: "bytes of it"},
		{Name: "losses", Type: "u64", Doc: "how many PEs of the job were lost when it was made, of which it has none: its collectives end when there are more"},
	}},
	{Name: "device_report", Go: "Report", Size: 64, Doc: "Why a kernel stopped. The first thread that claims it fills it in; a reader checks ready first.", Members: []Member{
		{Name: "claimed", Type: "u32", Doc: "1: a thread writes the rest, or has"},
		{Name: "ready", Type: "u32", Doc: "1: the rest is there; stored last"},
		{Name: "fault", Type: "u32", Doc: "what was wrong: SHMEMI_FAULT_..."},
		{Name: "call", Type: "u32", Doc: "which call: SHMEMI_CALL_..."},
		{Name: "pe", Type: "i32", Doc: "PE that the call named"},
		{Name: "block_x", Type: "u32", Doc: "the thread's block"},
		{Name: "block_y", Type: "u32", Doc: ""},
		{Name: "block_z", Type: "u32", Doc: ""},
		{Name: "thread_x", Type: "u32", Doc: "the thread in its block"},
		{Name: "thread_y", Type: "u32", Doc: ""},
		{Name: "thread_z", Type: "u32", Doc: ""},
		{Name: "address", Type: "u64", Doc: "symmetric address that the call named, or what SHMEMI_FAULT_... says", At: 48},
		{Name: "length", Type: "u64", Doc: "bytes from address on, or what SHMEMI_FAULT_... says"},
	}},
	{Name: "stream_call", Go: "StreamCall", Size: 80, Doc: "What a kernel of the library's own is to do (device/kernels). Which members count depends on the kernel.", Members: []Member{
		{Name: "dest", Type: "u64", Doc: "address of what is written, or of the first word that is waited for"},
		{Name: "source", Type: "u64", Doc: "address of what is read, or of the words to compare with"},
		{Name: "count", Type: "u64", Doc: "bytes, or elements of a reduction, or words"},
		{Name: "signal", Type: "u64", Doc: "address of a signal word, or of the status array: one int for each word, not 0: the word is ignored; 0: none is"},
		{Name: "value", Type: "u64", Doc: "to store, to signal, or to compare with"},
		{Name: "pe", Type: "i32", Doc: "the other PE, or the one that broadcasts"},
		{Name: "op", Type: "i32", Doc: "SHMEM_SIGNAL_..., SHMEM_CMP_..., SHMEMI_REDUCE_... or a notification counter"},
		{Name: "call", Type: "u32", Doc: "which call, for reports: SHMEMI_CALL_..."},
		{Name: "width", Type: "u32", Doc: "bytes of an element, and SHMEMI_SIGNED or SHMEMI_REAL"},
		{Name: "algorithm", Type: "u32", Doc: "SHMEMI_ALGORITHM_..."},
		{Name: "nbi", Type: "u32", Doc: "1: the next quiet completes it"},
		{Name: "team", Type: "i32", Doc: "the team whose PEs all make the call"},
		{Name: "team_pes", Type: "i32", Doc: "how many it has"},
		{Name: "bounce", Type: "u64", Doc: "address of the bounce buffers for an operand (device/kernels/bounce.h)"},
	}},
}

// Constants has further numbers that producers and the proxy share.
var Constants = join([]Constant{
	{"MAP_CTA", "MapCTA", 0, "threads of a block share a ring"},
	{"MAP_SM", "MapSM", 1, "threads of a multiprocessor share a ring"},
	{"MAP_WARP", "MapWarp", 2, "threads of a warp share a ring"},
	{"MAP_PE", "MapPE", 3, "operations on the same PE share a ring"},

	{"REPLIES", "Replies", 1024, "the largest number of operations of one ring that may wait for a reply at once"},

	// Bytes beside the slots (device/shmem/ring.h).
	{"CELLS", "Cells", 128, "cells of a ring: that of an operation belongs to it until as many operations of two slots have been taken"},
	{"CELL_BYTES", "CellBytes", 2048, "the largest number of bytes beside an operation's slots"},
}, kinds(), []Constant{
	// A kernel's reports before it stops.
	{"FAULT_INIT", "FaultInit", 1, "the call came before init or after finalize, or its unit was not filled"},
	{"FAULT_PE", "FaultPE", 2, "there is no such PE"},
	{"FAULT_RANGE", "FaultRange", 3, "the range is not within the user heap"},
	{"FAULT_TEAM", "FaultTeam", 4, "there is no such team; pe is the team"},
	{"FAULT_CONTEXT", "FaultContext", 5, "the context belongs to another heap, whose address is given"},
	{"FAULT_COMPARISON", "FaultComparison", 6, "cmp is not a comparison; length is cmp"},
	{"FAULT_SIGNAL_OP", "FaultSignalOp", 7, "the signal operation does not exist; length is the operation"},
	{"FAULT_WORK", "FaultWork", 8, "there is no memory for collectives of kernels on a team; pe is the team, length is what they need"},
	{"FAULT_ROOT", "FaultRoot", 9, "the team has no such PE; length is how many it has"},
	{"FAULT_EXIT", "FaultExit", 10, "none: the kernel ends the job; length is the status"},
	{"FAULT_TILE", "FaultTile", 11, "a tile of another size; address is how many elements it has, length how many it needs"},
	{"FAULT_FLAG", "FaultFlag", 12, "the flag of a tile is not 0; length is the flag"},
	{"FAULT_SLOT", "FaultSlot", 13, "eager transfers: there is no such slot; address is the slot, length how many there are"},
	{"FAULT_KEEP", "FaultKeep", 14, "eager transfers: the path to pe does not keep the tile; length is the tile"},
	{"FAULT_EPOCH", "FaultEpoch", 15, "eager transfers: the slot has a token of another epoch; address is that epoch, length the expected one"},
	{"FAULT_TOKEN", "FaultToken", 16, "eager transfers: the slot has a token of another size; address is that size, length the expected one"},
	{"FAULT_COUNTER", "FaultCounter", 17, "there is no such notification counter; address is the counter, length how many there are"},
	{"FAULT_COUNT", "FaultCount", 18, "a number that no notification counter can have; length is the number"},
	{"FAULT_BYTES", "FaultBytes", 19, "eager transfers: no token has so many bytes; length is the number"},
	{"FAULT_NO_TILE", "FaultNoTile", 20, "eager transfers: there is no such tile; length is the tile"},

	// Tiles of eager transfers (device/shmem/eager_layout.h), and the bytes of signal in each.
	{"EAGER_NONE", "EagerNone", 0, "no tile: one signal behind all of the data"},
	{"EAGER_NOTIFY", "EagerNotify", 1, "no tile: the same bytes in one write, and a notification that comes with it"},
	{"EAGER_PACKET", "EagerPacket", 8, "is one store"},
	{"EAGER_LINE", "EagerLine", 128, "is a line of a GPU's cache, and what EFA writes in order"},
	{"EAGER_BLOCK", "EagerBlock", 4096, "is a packet of a network"},
	{"EAGER_PACKET_SIGNAL", "EagerPacketSignal", 4, "the epoch"},
	{"EAGER_LINE_SIGNAL", "EagerLineSignal", 8, "the epoch, and above it the bytes of the token"},
	{"EAGER_BLOCK_SIGNAL", "EagerBlockSignal", 16, "the same, and 8 bytes of 0, so that data lies at multiples of 16. EAGER_NONE and EAGER_NOTIFY have the same"},
	{"EAGER_MOST", "EagerMost", 1 << 30, "the largest number of bytes of a token"},
	{"EAGER_COUNTERS", "EagerCounters", 4096, "notification counters of slots, behind those of the program: as many, or fewer where a write cannot name them"},
	{"MOST_COUNTERS", "MostCounters", 1<<16 - 1, "notification counters of both kinds"},

	// Teams.
	{"TEAM_BITS", "TeamBits", 10, "bits of the handle of a team that say which entry is its own"},

	// Memory for collectives of kernels (device/shmem/work.h).
	{"WORK_HEAD", "WorkHead", 384, "bytes before the flags: the counters, and a flag for each round"},
	{"WORK_ROUNDS", "WorkRounds", 64, "where the rounds' flags begin; 8 bytes each, room for 40"},
	{"WORK_DATA", "WorkData", 1 << 22, "bytes that both buffers together have at most, as long as no PE has less than WORK_LEAST"},
	{"WORK_MOST", "WorkMost", 1 << 16, "bytes for one PE in one buffer, at most"},
	{"WORK_LEAST", "WorkLeast", 64, "and at least"},
	{"WORK_TEAM", "WorkTeam", 16 << 10, "bytes that both buffers of a team that is not the world have, as long as no PE has less than WORK_LEAST"},
	{"WORK_PACKED", "WorkPacked", 1 << 10, "bytes of the lines of one PE in a set, for short reductions (device/shmem/packed.h)"},
	{"WORK_PACKED_PES", "WorkPackedPEs", 16, "the largest number of PEs of a team that uses such lines"},
	{"WORK_STREAM", "WorkStream", 2<<20 + 128, "bytes at the end, for the host's calls on streams (device/kernels/share.h)"},

	// Bounce buffers of the library's kernels (device/kernels/bounce.h).
	{"BOUNCE_BUFFERS", "BounceBuffers", 15, "buffers, each for a piece of an operand"},
	{"BOUNCE_BYTES", "BounceBytes", 128 << 10, "bytes of a buffer"},
	{"BOUNCE_HEAD", "BounceHead", 4096, "bytes before the first buffer; the first word has a bit for each buffer that is taken"},

	// How a kernel of the library does a collective.
	{"ALGORITHM_ANY", "AlgorithmAny", 0, "by one block, over any path"},
	{"ALGORITHM_PACKED", "AlgorithmPacked", 1, "to PEs that are all reached directly, each word with its flag"},
	{"ALGORITHM_SPREAD", "AlgorithmSpread", 2, "to PEs that are all reached directly, by many blocks"},
	// Its elements: their width in bytes, and one of these.
	{"SIGNED", "Signed", 1 << 8, "a signed integer"},
	{"REAL", "Real", 1 << 9, "a floating-point number"},
	{"F16", "F16", 1<<9 | 2, "a half"},
	{"BF16", "BF16", 1<<9 | 1<<10 | 2, "a bfloat16"},
	{"F32", "F32", 1<<9 | 4, "a float"},
	{"F64", "F64", 1<<9 | 8, "a double"},
	// Its operation on them.
	{"REDUCE_SUM", "ReduceSum", 1, "the sum"},
	{"REDUCE_PROD", "ReduceProd", 2, "the product"},
	{"REDUCE_MIN", "ReduceMin", 3, "the least"},
	{"REDUCE_MAX", "ReduceMax", 4, "the greatest"},
	{"REDUCE_AND", "ReduceAnd", 5, "the bits that all have"},
	{"REDUCE_OR", "ReduceOr", 6, "the bits that any has"},
	{"REDUCE_XOR", "ReduceXor", 7, "the bits that an odd number has"},

	{"IMAGE_PES", "ImagePEs", 128, "PEs whose address a kernel finds in constant memory"},
	{"BITCODE_PATCH", "BitcodePatch", 1000 + Version, "the third word of the version in libnvshmem_device.bc, which NVIDIA's does not have"},
})

// join returns the constants of several lists as one.
func join(lists ...[]Constant) (all []Constant) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

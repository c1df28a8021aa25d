package table

// control has the area below a PE's user heap: the control page, and the sizes of the areas below
// it.
var control = Unit{
	Name:   "control",
	Doc:    "the control page of a PE, in the page just below its user heap, so that the fast path finds it from the heap base that it has loaded anyway. Every PE of the node maps it.",
	GoFile: "runtime/job/area/zz_control_unsafe.go",
	Constants: []Constant{
		{"CACHE_LINE", "cacheLine", cacheLine, "bytes that processors hand to each other at once"},
		{"PAGE", "Page", page, "bytes of a page, which the control page is"},
		{"DIRECT_PES", "DirectPEs", 16, "small reductions: in a group of up to so many PEs each writes to all others in one step (capi/front/exchange.c)"},
		{"SLOT", "Slot", 2048, "bytes of a slot, the memory for the contribution of one PE in such a reduction, of the world"},
		{"TEAM_SLOT", "TeamSlot", 512, "bytes of a slot of another team"},
		{"COLUMN_ROUNDS", "ColumnRounds", 4, "reductions between hosts: contributions of so many rounds may be under way (capi/front/columns.c)"},
		{"WORLD_ROUND", "WorldRound", 512 << 10, "bytes that a PE sends in a round, and as many that it receives, in the world"},
		{"TEAM_ROUND", "TeamRound", 32 << 10, "the same in another team, while there is room"},
		{"WIDE_TEAMS", "WideTeams", 12, "how many teams on several hosts have room for rounds of TEAM_ROUND"},
		{"NARROW_ROUND", "NarrowRound", 4 << 10, "as TEAM_ROUND, of a team that is made while WIDE_TEAMS others have that room"},
		{"NARROW_TEAMS", "NarrowTeams", 32, "how many teams have room for rounds of NARROW_ROUND"},
		{"LINES_BYTES", "linesBytes", 2 * 24 * cacheLine, "small collectives on a node: bytes of the lines of each team, for two exchanges (capi/front/lines.c)"},
		{"MAIL_LEAST", "mailLeast", 64, "two-sided messages: the least bytes of the ring in a sender's mailbox; they are a power of two"},
		{"MAIL_MOST", "mailMost", 64 << 10, "the most bytes of that ring"},
		{"MAIL_RECORD", "MailRecord", 4032, "the most bytes of a record in it: a message that is sent whole, with its header"},
		{"MAIL_SENDS", "mailSends", 64, "how many long messages a PE may send at once"},
		{"MAIL_SEND_BYTES", "mailSendBytes", 128, "bytes of the words in which the receiver of one requests its bytes: struct shmemi_mail_send"},
		{"LANDINGS", "landings", 4, "long messages to memory that is not symmetric that a PE may receive at once"},
		{"LANDING_BYTES", "landingBytes", 256 << 10, "bytes of a landing, the memory through which one comes"},
		{"LONG_WAITS", "", longWaits, "how many threads of a PE that wait for long are noted"},
	},
	Enums: []Enum{
		{Name: "stage", Prefix: "STAGE_", Doc: "how far a PE is. C alone writes and reads it.", Values: []Value{
			{Name: "NONE", Doc: "before the end of shmem_init"},
			{Name: "RUNNING", Doc: "from then on"},
			{Name: "LEAVING", Doc: "after the barrier of shmem_finalize, until every live PE has come there"},
			{Name: "FINALIZED", Doc: "shmem_finalize needs no other PE any more"},
		}},
		{Prefix: "DOING_", Go: "How", Base: "uint", Kind: "-", Bits: true, Doc: "what is to be said of a PE: bits.", Values: []Value{
			{Name: "GONE", Doc: "what became of it, if its process has ended"},
			{Name: "DEEP", Doc: "also what the PEs do that it waits for"},
		}},
	},
	Structs: []Struct{
		{Name: "long_wait", Go: "longWait", Private: true, Doc: "A wait of one thread that has become long. The thread that has the entry makes turn odd while it writes; a reader that finds turn odd, or changed, reads again.", Members: []Member{
			{Name: "taken", Type: "u32", Doc: "1: a thread has the entry"},
			{Name: "turn", Type: "u32", Doc: "odd while it is written"},
			{Name: "since", Type: "u64", Doc: "when the wait began; 0: there is none"},
			{Name: "call", Type: "char", Count: 48, Doc: "the call that waits"},
			{Name: "what", Type: "char", Count: 160, Doc: "the object of the wait"},
			{Name: "why", Type: "char", Count: 320, Doc: "the present work of the PEs that it waits for, or \"\""},
		}},
		{Name: "activity", Go: "activity", Private: true, Doc: "What a PE does, for the reports of PEs that wait for it. The PE writes it where something has become long or has ended, never on a fast path. Readers are the PEs of its node, also after its process has ended. Times are of CLOCK_MONOTONIC, in nanoseconds.", Members: []Member{
			{Name: "stage", Type: "u32", Doc: "enum shmemi_stage"},
			{Name: "exits", Type: "u32", Doc: "1: the process is in exit(), or main has returned"},
			{Name: "status", Type: "i32", Doc: "with exits: the status of exit()"},
			{Name: "left_turn", Type: "u32", Doc: "odd while left and left_call are written"},
			{Name: "stage_since", Type: "u64", Doc: "when the stage began"},
			{Name: "exit_since", Type: "u64", Doc: "when exit() began"},
			{Name: "left", Type: "u64", Doc: "when the last long wait ended, 0: there was none"},
			{Name: "left_call", Type: "char", Count: 48, Doc: "the call that it was of"},
			{Name: "waits", Type: "struct long_wait", Count: longWaits, Doc: "waits that are long"},
		}},
		{Name: "ctl", Go: "control", Private: true, Size: page, Doc: "One PE's control words, each line written by others than the lines beside it.", Members: []Member{
			{Name: "sleepers", Type: "u32", Align: cacheLine, Doc: "written by the owner before it sleeps, cleared by the thread that wakes it. A writer that has changed the owner's memory looks here, without a fence: the sleeper pays for the order with a process-wide membarrier"},
			{Name: "wakes", Type: "u32", Doc: "the futex word: incremented by each waker"},
			{Name: "membarriers_begun", Type: "u32", Align: cacheLine, Doc: "membarriers for sleepers of this node, in the control page of the node's first PE only: the one that began last. One is under way while it is not membarriers_done"},
			{Name: "membarriers_done", Type: "u32", Doc: "and the last that is over; written by the thread that began it"},
			{Name: "arrived", Type: "u32", Align: cacheLine, Doc: "node barrier, used in the control page of the node's first PE only: how many PEs of the node have come to the present one; each adds 1, and the PE that ends the barrier clears it"},
			{Name: "released", Type: "u32", Align: cacheLine, Doc: "in the same page: the epoch of the last node barrier that all have come to; the PE that ends the barrier stores it, with release, and the others wait for it"},
			{Name: "epoch", Type: "u32", Align: cacheLine, Doc: "how many barriers the PE has entered, for reports"},
			{Name: "processor", Type: "u32", Doc: "1 + the processor of the thread of the PE that last yielded in a wait; 0: none has"},
			{Name: "activity", Type: "struct activity", Align: cacheLine, Doc: "what the PE does"},
		}},
	},
}

// Numbers that this file uses for sizes and alignments, besides the constants of C and Go.
const (
	cacheLine = 64
	page      = 4096
	longWaits = 4
)

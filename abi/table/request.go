package table

// The answers of the engine to callers in C.
var request = Unit{
	Name:   "request",
	Doc:    "the answers of the core's operations, and the words that a caller waits for.",
	GoFile: "runtime/proxy/call/zz_request_unsafe.go",
	Enums: []Enum{
		{Go: "Status", Base: "int32", Kind: "-", First: -1, Doc: "the answer of an operation.", Values: []Value{
			{Name: "FAILED", Doc: "not posted: shmemi_core.error, in Go Engine.Err, has the text"},
			{Name: "DONE", Doc: "posted, and the source may be reused"},
			{Name: "PENDING", Doc: "posted: wait for the request, or for quiet"},
			{Name: "AGAIN", Doc: "not posted: poll, then call again"},
		}},
	},
	Structs: []Struct{
		{Name: "request", Go: "Request", Doc: "An operation that a caller waits for. It lives on the caller's stack, in C.", Members: []Member{
			{Name: "done", Type: "u32", Doc: "set last, with release"},
			{Name: "status", Type: "i32", Doc: "of the operation"},
			{Name: "value", Type: "u64", Doc: "what a fetching atomic fetched"},
		}},
	},
}

// Stores of a stream, as a driver gets them.
var store = Unit{
	Name:   "store",
	Doc:    "stores that a stream of a GPU does.",
	GoFile: "runtime/gpu/zz_store_unsafe.go",
	Constants: []Constant{
		{"CUDA_STORES", "MaxStores", 64, "the most that a driver is given at once; CUDA's takes 255"},
	},
	Structs: []Struct{
		{Name: "cuda_store", Go: "Store", Doc: "A store of a word that a stream is to do.", Members: []Member{
			{Name: "at", Type: "u64", GoType: "Address", Doc: "the word"},
			{Name: "value", Type: "u64", Doc: "what is stored"},
			{Name: "width", Type: "u32", Doc: "4 or 8 bytes"},
		}},
	},
}

// The state that peek.c and fabric/rail/peek both work on.
var peek = Unit{
	Name:      "peek",
	Doc:       "the state of several NICs that C and Go both change.",
	GoFile:    "fabric/rail/peek/zz_peek_unsafe.go",
	GoImports: []string{`"libshmem/fabric"`},
	Constants: []Constant{
		{"PEEK_RECEIPTS", "Receipts", 32, "how many receive buffers each NIC has, of the tokens from the first on"},
		{"PEEK_GROUP", "Group", 16, "small operations that a NIC gets, and then the next one does"},
		{"PEEK_GROUP_BYTES", "GroupBytes", 64 << 10, "or bytes of them"},
	},
	Structs: []Struct{
		{Name: "peek_buffer", Go: "Buffer", Doc: "A buffer of the caller's.", Members: []Member{
			{Name: "at", Type: "ptr", Doc: "where it is"},
			{Name: "n", Type: "u64", Doc: "bytes"},
			{Name: "token", Type: "u32", GoType: "fabric.Token", Doc: "comes back with the message"},
			{Name: "unused", Type: "u32", Go: "_"},
		}},
		{Name: "peek_state", Go: "State", Doc: "What C and Go both change.", Members: []Member{
			{Name: "cursor", Type: "u64", Doc: "which NIC small operations go by"},
			{Name: "grouped_bytes", Type: "u64", Doc: "of those since it moved"},
			{Name: "grouped", Type: "u32", Doc: "operations since it moved"},
			{Name: "work", Type: "u32", Doc: "1: Go has something for its caller, whatever the queues say"},
			{Name: "arrived", Type: "u32", Doc: "Go has messages for which there was no buffer: they come first"},
			{Name: "owed", Type: "u32", Go: "owed", Doc: "1: a NIC has receive buffers that found no room"},
			{Name: "posted", Type: "ptr", C: "struct shmemi_peek_buffer *", Go: "posted", GoType: "*Buffer", Doc: "the caller's buffers, a ring"},
			{Name: "head", Type: "u32", Go: "head", Doc: "the first of them"},
			{Name: "count", Type: "u32", Go: "count", Doc: "how many there are"},
			{Name: "room", Type: "u32", Go: "room", Doc: "and how many there may be"},
			{Name: "unused", Type: "u32", Go: "_"},
		}},
	},
}

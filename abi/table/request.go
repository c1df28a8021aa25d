package table

// request has the operations that callers in C post to an engine, and the engine's replies.
var request = Unit{
	Name:   "request",
	Doc:    "an operation on another PE, as it goes from the front through the core to the engine, the replies to it, and the words that a caller waits for.",
	GoFile: "runtime/proxy/call/zz_request_unsafe.go",
	Enums: []Enum{
		{Go: "Status", Base: "int32", Kind: "-", First: -1, Doc: "what became of an operation.", Values: []Value{
			{Name: "FAILED", Doc: "not posted: shmemi_core.error, in Go Engine.Err, has the text"},
			{Name: "DONE", Doc: "posted, and the source may be reused"},
			{Name: "PENDING", Doc: "posted: wait for the request, or for quiet"},
			{Name: "AGAIN", Doc: "not posted: poll, then call again"},
		}},
		{Name: "operation_kind", Prefix: "OPERATION_", Go: "Kind", Base: "uint32", Kind: "Kind", First: 1, Doc: "what an operation does.", Values: []Value{
			{Name: "PUT", Doc: "source, nbytes"},
			{Name: "GET", Doc: "dest, nbytes"},
			{Name: "PUT_SIGNAL", Doc: "as PUT, then op with operand at signal_offset"},
			{Name: "AMO", Doc: "op, width, operand, compare; dest, if it fetches without a request"},
		}},
	},
	Structs: []Struct{
		{Name: "request", Go: "Request", Doc: "The reply to an operation that a caller waits for. It lives on the caller's stack, in C, until done is set.", Members: []Member{
			{Name: "done", Type: "u32", Doc: "0 at the beginning; not 0 once the operation has ended. The engine sets it last, with release, and the caller loads it with acquire"},
			{Name: "status", Type: "i32", Doc: "of the operation"},
			{Name: "value", Type: "u64", Doc: "what a fetching atomic fetched; valid, as status, once done is set"},
		}},
		{Name: "host_operation", Go: "Operation", Doc: "One operation of the host on another PE, or the part of one that is posted at once. The caller fills it in; the core and the engine read it during the call.", Members: []Member{
			{Name: "kind", Type: "u32", GoType: "Kind", Doc: "SHMEMI_OPERATION_..."},
			{Name: "ctx", Type: "i32", Go: "_", Doc: "the program's context; 0: the default one"},
			{Name: "context", Type: "u32", Doc: "the core's number of that context"},
			{Name: "pe", Type: "i32", Doc: "number in the job"},
			{Name: "op", Type: "i32", Doc: "SHMEMI_AMO_..., of the signal or the atomic"},
			{Name: "width", Type: "u32", Doc: "bytes of the atomic's word"},
			{Name: "nbi", Type: "u32", Go: "_", Doc: "1: there is no request, and a quiet completes it"},
			{Name: "offset", Type: "i64", Doc: "bytes from the start of the PE's user heap; negative: below it", At: 32},
			{Name: "nbytes", Type: "u64", Doc: "bytes of source or dest"},
			{Name: "source", Type: "ptr", C: "const void *", Doc: "address at the caller of the bytes of a put"},
			{Name: "dest", Type: "ptr", Doc: "address at the caller where a get or a fetched value goes"},
			{Name: "signal_offset", Type: "i64", Doc: "where the signal is, as offset"},
			{Name: "operand", Type: "u64", Doc: "of op: also the value of the signal"},
			{Name: "compare", Type: "u64", Doc: "what a conditional swap compares with"},
			{Name: "request", Type: "ptr", C: "struct shmemi_request *", GoType: "*Request", Doc: "done when the operation is; NULL: a quiet completes it"},
			{Name: "call", Type: "ptr", C: "const char *", Go: "_", Doc: "the public name that the program used, for reports"},
		}},
	},
}

// store has the stores and copies that Go passes to the GPU's driver for a stream.
var store = Unit{
	Name:   "store",
	Doc:    "stores and copies that a stream of a GPU does.",
	GoFile: "runtime/gpu/zz_store_unsafe.go",
	Constants: []Constant{
		{"CUDA_STORES", "MaxStores", 192, "the most that a driver is given at once: bytes of 8 and a signal of 64 puts, and a mark. CUDA's takes 255"},
	},
	Structs: []Struct{
		{Name: "cuda_store", Go: "Store", Doc: "A store of a word that a stream is to do.", Members: []Member{
			{Name: "at", Type: "u64", GoType: "Address", Doc: "address of the word, in GPU or pinned memory"},
			{Name: "value", Type: "u64", Doc: "what is stored"},
			{Name: "width", Type: "u32", Doc: "4 or 8 bytes"},
		}},
		{Name: "cuda_copy", Go: "Copy", Doc: "A copy that a stream is to make: of rows, of which each side has its own distance.", Members: []Member{
			{Name: "to", Type: "u64", GoType: "Address", Doc: "address of the first row to write"},
			{Name: "from", Type: "u64", GoType: "Address", Doc: "address of the first row to read"},
			{Name: "n", Type: "u64", Go: "N", Doc: "bytes of a row"},
			{Name: "rows", Type: "u64", Doc: "how many rows; 1: to_pitch and from_pitch have no meaning"},
			{Name: "to_pitch", Type: "u64", Doc: "bytes from the start of a written row to the next"},
			{Name: "from_pitch", Type: "u64", Doc: "the same of the rows that are read"},
		}},
	},
}

// peek has the state that the C and the Go of fabric/rail/peek both change.
var peek = Unit{
	Name:      "peek",
	Doc:       "the state of several NICs that C and Go both change.",
	GoFile:    "fabric/rail/peek/zz_peek_unsafe.go",
	GoImports: []string{`"libshmem/fabric"`},
	Constants: []Constant{
		{"PEEK_RECEIPTS", "Receipts", 32, "how many receive buffers each NIC has, of the tokens from the first on"},
		{"PEEK_GROUP", "Group", 16, "a NIC gets so many small operations one after the other, and then the next NIC does"},
		{"PEEK_GROUP_BYTES", "GroupBytes", 64 << 10, "or so many bytes of them, if that comes first"},
	},
	Structs: []Struct{
		{Name: "peek_buffer", Go: "Buffer", Doc: "A receive buffer of the caller.", Members: []Member{
			{Name: "at", Type: "ptr", Doc: "its address"},
			{Name: "n", Type: "u64", Doc: "its bytes"},
			{Name: "token", Type: "u32", GoType: "fabric.Token", Doc: "comes back with the message"},
			{Name: "unused", Type: "u32", Go: "_"},
		}},
		{Name: "peek_state", Go: "State", Doc: "What C and Go both change.", Members: []Member{
			{Name: "cursor", Type: "u64", Doc: "counts the groups of small operations: modulo the NICs of this PE it is the NIC of the present group"},
			{Name: "grouped_bytes", Type: "u64", Doc: "bytes of the present group so far"},
			{Name: "grouped", Type: "u32", Doc: "operations of the present group so far"},
			{Name: "work", Type: "u32", Doc: "1: Go has something for its caller, whatever the queues say"},
			{Name: "arrived", Type: "u32", Doc: "Go has messages for which there was no buffer: they come first"},
			{Name: "owed", Type: "u32", Go: "owed", Doc: "1: a NIC has receive buffers that found no room"},
			{Name: "posted", Type: "ptr", C: "struct shmemi_peek_buffer *", Go: "posted", GoType: "*Buffer", Doc: "the caller's buffers, a ring"},
			{Name: "head", Type: "u32", Go: "head", Doc: "index in posted of the first of them"},
			{Name: "count", Type: "u32", Go: "count", Doc: "how many there are"},
			{Name: "room", Type: "u32", Go: "room", Doc: "how many posted has room for"},
			{Name: "unused", Type: "u32", Go: "_"},
		}},
	},
}

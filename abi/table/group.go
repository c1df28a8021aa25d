package table

// group has the operations that libshmem_rma.so submits for the ranks of a group.
var group = Unit{
	Name:   "group",
	Doc:    "the queue by which a thread in C submits operations to the proxy of a group (runtime/rma), and what becomes of them.",
	GoFile: "runtime/rma/zz_operation_unsafe.go",
	Enums: []Enum{
		{Name: "group_operation_kind", Prefix: "GROUP_", Go: "opKind", Base: "uint32", Kind: "kind", First: 1, Doc: "what an operation of a group does.", Values: []Value{
			{Name: "PUT", Doc: "copy nbytes from local to offset; then change the signal, if signal_memory is not 0"},
			{Name: "GET", Doc: "copy nbytes from offset to local"},
		}},
		{Name: "group_operation_state", Prefix: "GROUP_", Go: "opState", Base: "uint32", Kind: "state", First: 0, Doc: "how far an operation of a group is.", Values: []Value{
			{Name: "UNDERWAY", Doc: "local is in use"},
			{Name: "DONE", Doc: "a put's bytes may change again, a get's are there"},
			{Name: "FAILED", Doc: "the group's failure has the reason"},
		}},
	},
	Structs: []Struct{
		{Name: "group_operation", Go: "Operation", Private: true, Doc: "One operation of a rank. C fills it in, and does not touch it, except to read state, until that is no longer UNDERWAY.", Members: []Member{
			{Name: "next", Type: "ptr", C: "struct shmemi_group_operation *", GoType: "*Operation", Doc: "the operation that was submitted before this one"},
			{Name: "state", Type: "u32", Doc: "SHMEMI_GROUP_UNDERWAY when it is submitted; the proxy sets it last, with release"},
			{Name: "kind", Type: "u32", GoType: "opKind", Doc: "SHMEMI_GROUP_PUT or _GET"},
			{Name: "rank", Type: "u32", Doc: "the target"},
			{Name: "context", Type: "i32", Doc: "its number in the group"},
			{Name: "ordered", Type: "u32", Doc: "1: bytes and signal follow all earlier operations of the context on the rank"},
			{Name: "signal_op", Type: "u32", Doc: "SHMEMI_RMA_SET or SHMEMI_RMA_ADD"},
			{Name: "local", Type: "ptr", Doc: "address of the bytes at this rank"},
			{Name: "nbytes", Type: "u64", Doc: "of local; 0: a signal alone"},
			{Name: "memory", Type: "u64", Doc: "number of registered memory, of which the target's part is read or written"},
			{Name: "offset", Type: "u64", Doc: "bytes from the start of that part"},
			{Name: "signal_memory", Type: "u64", Doc: "number of registered memory; 0: no signal"},
			{Name: "signal_offset", Type: "u64", Doc: "bytes from the start of the target's part of it, a multiple of 8"},
			{Name: "signal_value", Type: "u64", Doc: "what is set or added"},
		}},
		{Name: "group_queue", Go: "Queue", Private: true, Doc: "The operations of a rank that the proxy has not taken. Any thread may submit; the proxy takes all.", Members: []Member{
			{Name: "last", Type: "ptr", C: "struct shmemi_group_operation *", GoType: "*Operation", Doc: "submitted last; NULL: none"},
			{Name: "asleep", Type: "u32", Doc: "1: the proxy sleeps, or is about to, and has to be woken"},
			{Name: "failed", Type: "u32", Doc: "1: no operation ends any more; the group's failure has the reason"},
			{Name: "lost", Type: "u32", Doc: "1: a rank is lost, though perhaps no operation has failed; the group's failure has the reason"},
		}},
	},
}

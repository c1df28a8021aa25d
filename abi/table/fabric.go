package table

import "math"

// fabric has the types that the runtime and the C code of a network pass to each other.
var fabric = Unit{
	Name:   "fabric",
	Doc:    "completions of a provider, and atomic operations.",
	GoFile: "fabric/zz_fabric_unsafe.go",
	Constants: []Constant{
		{"IN_GO", "", math.MinInt32, "what a provider's poll returns when Go has to fetch its completions"},
	},
	Enums: []Enum{
		{Name: "completion_kind", Prefix: "COMPLETION_", Go: "Kind", Base: "uint8", Kind: "Kind", First: 1, Doc: "what a Completion completes.", Values: []Value{
			{Name: "SEND", Doc: "a message was sent: its buffer may be reused"},
			{Name: "RECV", Doc: "len bytes arrived in the buffer that the token names"},
			{Name: "WRITE", Doc: "the bytes of a Write are at the target where Caps.DeliveryComplete holds, else the source buffer may be reused"},
			{Name: "READ", Doc: "the bytes of a Read are in local memory"},
			{Name: "DATA", Doc: "a peer's Write with data: all its bytes are here, see RMA.Notify"},
			{Name: "ATOMIC", Doc: "an atomic operation: its result is in local memory, when it has one"},
			{Name: "TROUBLE", Doc: "err is of no operation that the provider can name, and its token is NoToken: operations on a peer that was never reached may never end, or those on the one that Completion.From names"},
		}},
		{Name: "amo", Prefix: "AMO_", Go: "Op", Base: "uint8", Kind: "Op", First: 1, Doc: "an atomic operation, as it travels in messages, in rings and to NICs.", Values: operations()},
	},
	Structs: []Struct{
		{Name: "completion", Go: "Completion", Size: 24, Doc: "One entry of the completion queue.", Members: []Member{
			{Name: "token", Type: "u32", GoType: "Token", Doc: "the token that the operation or the receive buffer was posted with"},
			{Name: "kind", Type: "u8", GoType: "Kind", Doc: "enum shmemi_completion_kind"},
			{Name: "len", Type: "u64", Doc: "of a message: bytes that arrived; of a peer's Write with data and of trouble: see Completion.From"},
			{Name: "err", Type: "i32", Doc: "0, or a libfabric error number; ErrorText explains the last one"},
			{Name: "data", Type: "u32", Doc: "of a peer's Write with data: RMA.Data"},
		}},
	},
}

// atomics has the atomic operations. op is an operation's name in Go in messages (package fabric),
// and kind its name in rings (package queue).
var atomics = []struct{ name, op, kind, doc string }{
	{"SET", "OpSet", "KindSet", "writes the operand"},
	{"ADD", "OpAdd", "KindAdd", "adds the operand, modulo the width"},
	{"AND", "OpAnd", "KindAnd", "bitwise and with the operand"},
	{"OR", "OpOr", "KindOr", "bitwise or with it"},
	{"XOR", "OpXor", "KindXor", "bitwise exclusive or with it"},
	{"SWAP", "OpSwap", "KindSwap", "writes the operand; the reply has the old value, as of all that follow"},
	{"CSWAP", "OpCompareSwap", "KindCSwap", "writes the operand if the object equals the comparand"},
	{"FETCH", "OpFetch", "KindFetch", "only returns the value"},
	{"FETCH_ADD", "OpFetchAdd", "KindFetchAdd", "adds"},
	{"FETCH_AND", "OpFetchAnd", "KindFetchAnd", "bitwise and"},
	{"FETCH_OR", "OpFetchOr", "KindFetchOr", "bitwise or"},
	{"FETCH_XOR", "OpFetchXor", "KindFetchXor", "bitwise exclusive or"},
}

// operations returns the atomic operations as values of enum shmemi_amo, which messages have.
func operations() (all []Value) {
	for _, a := range atomics {
		all = append(all, Value{Name: a.name, Go: a.op, Doc: a.doc})
	}
	return all
}

// kinds returns the atomic operations as constants for the slots of rings, with the numbers that
// they have in messages.
func kinds() (all []Constant) {
	for i, a := range atomics {
		all = append(all, Constant{"KIND_" + a.name, a.kind, 1 + i, a.doc})
	}
	return all
}

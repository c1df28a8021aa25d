package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// messageSize is the largest active message. 4 KiB keeps a put that is worth a
// copy within one message and the receive buffers at half a megabyte.
const messageSize = 4096

// maxPayload is the largest put that travels as a message.
const maxPayload = messageSize - layout.HeaderSize

// Op is an atomic operation, enum shmemi_amo of abi/zz_fabric.h.
type Op = fabric.Op

// The atomic operations.
const (
	OpSet         = fabric.OpSet
	OpAdd         = fabric.OpAdd
	OpAnd         = fabric.OpAnd
	OpOr          = fabric.OpOr
	OpXor         = fabric.OpXor
	OpSwap        = fabric.OpSwap
	OpCompareSwap = fabric.OpCompareSwap
	OpFetch       = fabric.OpFetch
	OpFetchAdd    = fabric.OpFetchAdd
	OpFetchAnd    = fabric.OpFetchAnd
	OpFetchOr     = fabric.OpFetchOr
	OpFetchXor    = fabric.OpFetchXor
)

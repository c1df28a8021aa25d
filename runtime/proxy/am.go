package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

const (
	messageSize = layout.MessageSize
	maxPayload  = layout.MaxPayload
	tokens      = layout.Tokens
	receives    = layout.Receives
)

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

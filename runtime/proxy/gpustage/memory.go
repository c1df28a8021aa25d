package gpustage

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage/stream"
)

// Memory moves bytes of GPU memory by streams.
type Memory = stream.Memory

// Stream is one queue of a Memory.
type Stream = stream.Stream

// The streams.
const (
	StreamIn   = stream.In
	StreamOut  = stream.Out
	StreamPeer = stream.Peer
	StreamWord = stream.Word
	Streams    = stream.Streams
)

// AllAtomics is the set of every atomic operation.
const AllAtomics = stream.AllAtomics

// PlainAtomics are the operations that one copy or one store does.
var PlainAtomics = stream.PlainAtomics

// AtomicBit returns the bit of an atomic operation on 4 or 8 bytes in such a set.
func AtomicBit(op fabric.Op, width uint8) uint64 { return stream.AtomicBit(op, width) }

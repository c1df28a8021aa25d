package stream

import (
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/backlog"
)

// Stream is one queue of a Memory. Reports use the same type.
type Stream = backlog.Stream

// The values of Stream.
const (
	In      = backlog.StreamIn
	Out     = backlog.StreamOut
	Peer    = backlog.StreamPeer
	Word    = backlog.StreamWord
	Streams = backlog.Streams
)

// Copy is a copy of N bytes.
type Copy struct {
	To, From unsafe.Pointer
	N        uint64
}

// Memory moves bytes of GPU memory by copy engines and stream memory operations, which also run
// while kernels occupy the whole GPU. Its methods are called with the engine's lock held, from one
// thread after another, and none of them waits for the GPU. Each engine has a Memory of its own.
//
// The addresses of main memory that its methods get are in blocks from Pin.
type Memory interface {
	// Holds reports whether n bytes at p are memory of a GPU that the CPU cannot touch. It is
	// called for every local buffer: a freed address may be another kind of memory the next time.
	Holds(p unsafe.Pointer, n uint64) bool
	// Pin allocates zeroed main memory that copy engines and the CPU reach at the same address;
	// Unpin releases it.
	Pin(n uint64) (unsafe.Pointer, error)
	Unpin(p unsafe.Pointer) error
	// Copy puts copies into a stream, at most MaxCopies. The effect is that of one after the
	// other.
	Copy(s Stream, copies []Copy) error
	// Write puts a store of an aligned element of 4 or 8 bytes into a stream. A kernel that sees
	// the store sees the effects of all earlier work in the stream.
	Write(s Stream, at unsafe.Pointer, width uint8, value uint64) error
	// MaxStores returns the largest number of 8-byte stores that a stream does sooner than one copy
	// of the same bytes; 0: not even one store is sooner, or there are no stores in streams.
	MaxStores() uint64
	// Atomics returns the AtomicBit of each operation that Atomic can do.
	Atomics() uint64
	// Atomic puts an atomic operation into a stream. It is atomic with those of kernels. Unless old
	// is nil, it stores the old value there, in pinned memory. It may be a kernel itself, which
	// waits while the GPU is full, so its stream has no other work.
	Atomic(s Stream, at unsafe.Pointer, op fabric.Op, width uint8, operand, compare uint64, old unsafe.Pointer) error
	// Mark puts a mark into a stream and returns its number: 1, and one more each time. A Memory
	// may hold operations back until the mark after them.
	Mark(s Stream) (uint64, error)
	// Marked returns the last mark that a stream has passed. The operations before it are done, and
	// the CPU and kernels see their effects.
	Marked(s Stream) (uint64, error)
	// Close releases the streams. Preconditions: they have no work left, or the job has failed.
	Close() error
}

// AtomicBit returns the bit of an atomic operation on 4 or 8 bytes, for sets of operations.
func AtomicBit(op fabric.Op, width uint8) uint64 { return 1 << (uint(op)*2 + uint(width)/8) }

// OwnerAlone is a bit in a set of AtomicBits: the owner of the memory carries out atomic operations
// in several steps, so no other PE may change the words.
const OwnerAlone = 1 << 63

// AllAtomics is the set of every operation.
const AllAtomics = 1<<(2*(uint(fabric.OpFetchXor)+1)) - 1

// PlainAtomics are the operations that a stream can do by one copy or one store: set and fetch, of
// 4 or 8 bytes.
var PlainAtomics = AtomicBit(fabric.OpSet, 4) | AtomicBit(fabric.OpSet, 8) | AtomicBit(fabric.OpFetch, 4) | AtomicBit(fabric.OpFetch, 8)

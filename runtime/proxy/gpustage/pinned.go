package gpustage

import (
	"errors"
	"fmt"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
)

const (
	// defaultChunk is the size of a chunk. A put of 16 MiB from GPU memory over tcp, without its
	// copies, took 3.8 ms of processor time with chunks of 1 MiB, 4.9 ms with 512 KiB and 6.0 ms
	// with 256 KiB; a put from main memory took 3.4 ms (2 cores, one thread for both ends,
	// docs/decisions/0009). Each chunk costs three messages. Larger ones would leave the cache.
	defaultChunk = 1 << 20
	LeastChunk   = 8192      // least bytes of a chunk or a part of one: fewer bytes fit a message
	MaxChunks    = 64        // largest number of chunks in each direction
	smallSlots   = 256       // slots for bytes that fit a message, in each direction
	asideBytes   = 256 << 10 // bytes of the memory in which a stream packs copies (stream.Set.Aside)
)

// Chunks is the number of chunks that an engine has in each direction. Over tcp between two H200,
// with each PE on its own processors, each of consecutive puts of 1 MiB took 160 to 183 us with 4,
// 8, 12, 16, 24 and 32 chunks. The number showed no effect: two runs with 8 chunks gave both limits
// of that range.
const Chunks = 8

// queueSlack is the number of entries of StreamQueue that Full leaves free, for work that cannot
// wait: the later steps of operations that have started, and work that holds an entry of a pool, so
// that the sizes of the pools bound it.
const queueSlack = MaxChunks + maxWords + smallSlots + layout.MaxPieces

// pinned is a Stage's pinned memory, which the GPU and the fabric access. The zero value has no
// memory.
type pinned struct {
	block     unsafe.Pointer
	region    fabric.Region
	inChunks  pool           // chunks into which this PE reads from others, or parts of them
	outChunks pool           // chunks to which bytes are copied out of GPU memory, or parts of them
	inSlots   pool           // slots for bytes of messages from other PEs
	outSlots  pool           // slots for bytes of messages to other PEs
	aside     unsafe.Pointer // asideBytes for stream.In, then asideBytes for stream.Peer
}

// open allocates pinned memory of m for chunks and slots, of the sizes in the Config or the
// defaults, and registers all of it as one region. Half of the chunks and slots are for arriving
// bytes, and half for departing ones; asideBytes at the end are for streams.
func (p *pinned) open(prov fabric.Provider, m stream.Memory, c Config) error {
	if c.Chunk == 0 {
		c.Chunk = defaultChunk
	}
	if c.Chunks == 0 {
		c.Chunks = Chunks
	}
	if c.Chunk < LeastChunk || c.Chunk%LeastChunk != 0 || c.Chunks < 1 || c.Chunks > MaxChunks {
		return fmt.Errorf("%d chunks of %d bytes are not possible (take 1 to %d, each a multiple of %d)", c.Chunks, c.Chunk, MaxChunks, LeastChunk)
	}
	chunks, slots := c.Chunk*uint64(c.Chunks), uint64(smallSlots*layout.MessageSize)
	n := 2*chunks + 2*slots + 2*asideBytes
	block, err := m.Pin(n)
	if err != nil {
		return fmt.Errorf("pin %d bytes: %w", n, err)
	}
	if p.region, err = prov.Register(block, n); err != nil {
		return errors.Join(fmt.Errorf("register %d bytes: %w", n, err), m.Unpin(block))
	}
	p.block = block
	p.inChunks = newDivisiblePool(block, c.Chunk, LeastChunk, c.Chunks)
	p.outChunks = newDivisiblePool(unsafe.Add(block, chunks), c.Chunk, LeastChunk, c.Chunks)
	p.inSlots = newPool(unsafe.Add(block, 2*chunks), layout.MessageSize, smallSlots)
	p.outSlots = newPool(unsafe.Add(block, 2*chunks+slots), layout.MessageSize, smallSlots)
	p.aside = unsafe.Add(block, 2*chunks+2*slots)
	return nil
}

// pools returns all pools of the pinned memory.
func (p *pinned) pools() []*pool {
	return []*pool{&p.inChunks, &p.outChunks, &p.inSlots, &p.outSlots}
}

// connect sets the number of PEs.
func (p *pinned) connect(pes int) {
	for _, x := range p.pools() {
		x.Connect(pes)
	}
}

// CheckIdle returns an error that describes the pieces of pinned memory in use, or nil if all are
// free. Tests call it at their end.
func (p *pinned) CheckIdle() error {
	for _, x := range p.pools() {
		if !x.AllFree() {
			return fmt.Errorf("some of %d pieces of %d bytes are not free", x.Len(), x.Size())
		}
	}
	return nil
}

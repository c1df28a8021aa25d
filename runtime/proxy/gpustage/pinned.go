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
	// defaultChunk is the size of a chunk. Of 16 MiB over tcp, both ends on one thread, 8 chunks of
	// 1 MiB take 3.8 ms, 16 of 512 KiB 4.9 and 16 of 256 KiB 6.0, where main memory takes 3.4: each
	// chunk costs three messages, and few chunks stay in the cache.
	defaultChunk = 1 << 20
	LeastChunk   = 8192 // bytes of the least chunk, and of the least part of one: a smaller piece fits a message
	MaxChunks    = 64
	smallSlots   = 256       // slots for bytes that fit a message, each way
	asideBytes   = 256 << 10 // memory in which a stream packs bytes: see stream.Set.Aside
)

// Chunks is the number of chunks that an engine has each way. Over tcp between two H200, with each
// end on its own processors, puts of 1 MiB in a row took 160 to 183 us with 4, 8, 12, 16, 24 and 32
// chunks, in no order; two runs with 8 chunks gave both ends of that range.
const Chunks = 8

// queueSlack is the part of StreamQueue that Full leaves free, for work that cannot wait: the
// second halves of operations, and work that pools bound.
const queueSlack = MaxChunks + maxWords + smallSlots + layout.MostPieces

// pinned is a Stage's pinned memory, which the fabric reaches, too. The zero value has none.
type pinned struct {
	block   unsafe.Pointer
	region  fabric.Region
	landing pool           // chunks that are read into, or parts of them
	leaving pool           // chunks that are copied out to, or parts of them
	coming  pool           // slots for bytes of messages from other PEs
	going   pool           // slots for bytes of messages to other PEs
	aside   unsafe.Pointer // asideBytes for stream.In, and as many for stream.Peer
}

// open allocates pinned memory of m for chunks and slots, as the Config says, and registers it.
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
	p.landing = newDivisiblePool(block, c.Chunk, LeastChunk, c.Chunks)
	p.leaving = newDivisiblePool(unsafe.Add(block, chunks), c.Chunk, LeastChunk, c.Chunks)
	p.coming = newPool(unsafe.Add(block, 2*chunks), layout.MessageSize, smallSlots)
	p.going = newPool(unsafe.Add(block, 2*chunks+slots), layout.MessageSize, smallSlots)
	p.aside = unsafe.Add(block, 2*chunks+2*slots)
	return nil
}

// pools returns all pools of the pinned memory.
func (p *pinned) pools() []*pool {
	return []*pool{&p.landing, &p.leaving, &p.coming, &p.going}
}

// connect sets the number of PEs.
func (p *pinned) connect(pes int) {
	for _, x := range p.pools() {
		x.Connect(pes)
	}
}

// CheckIdle returns an error that names the pieces in use; nil: none.
func (p *pinned) CheckIdle() error {
	for _, x := range p.pools() {
		if !x.AllFree() {
			return fmt.Errorf("some of %d pieces of %d bytes are not free", x.Len(), x.Size())
		}
	}
	return nil
}

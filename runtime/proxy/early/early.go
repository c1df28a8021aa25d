// Package early stores messages that arrived before earlier messages of the same PE, until those
// have been applied. The credits of the sender bound how many of its messages are stored. The
// package knows neither credits nor the contents of a message.
//
// A message is stored in a chain of small blocks, and the blocks of all messages are allocated from
// one list. So the memory is in proportion to the length of the messages, even if their sizes vary.
// With one buffer of 4 KiB for each message of more than 128 bytes, messages of 136 bytes took 30
// times their length.
package early

import "unsafe"

// BlockSize is the size of a block. The credit for a message covers its blocks, because no unit of
// credit is smaller (runtime/proxy/credit.go). The memory for a block, with its part of the index,
// is at most 1.6 times BlockSize.
const BlockSize = 64

const (
	chunkBlocks = 48         // with their records nearly 4 KiB, one of Go's allocation sizes
	spareChunks = 128        // chunks that stay allocated when no message is stored: half a megabyte
	leastHeads  = 64         // hash chains of an empty store
	none        = ^uint32(0) // the number of no block
)

// Messages stores early messages of all PEs. New makes one.
type Messages struct {
	heads  []uint32 // first blocks of the first messages, by hash of the message; their number is a power of two
	count  int
	chunks []*chunk
	fresh  uint32   // the first block that has not been used since m was empty
	free   uint32   // the first block of the list of free ones
	whole  [][]byte // buffers for whole messages that Reuse got back
	size   int      // of each buffer in whole
}

// chunk is memory for several blocks.
type chunk struct {
	_       [0]uint64 // aligns the blocks, and so the header at the beginning of a message
	blocks  [chunkBlocks][BlockSize]byte
	records [chunkBlocks]record
}

// record describes one block. All fields but next are set only in the first block of a message.
type record struct {
	next        uint32 // next block of the same message, or of the list of free blocks
	nextInChain uint32 // first block of the next message in the same hash chain
	from, seq   uint32
	length      uint32 // of the message
}

// New returns an empty Messages for messages of at most longest bytes.
func New(longest int) *Messages {
	return &Messages{heads: noHeads(leastHeads), free: none, size: longest}
}

// noHeads returns n empty hash chains, each as the number of its first block: none.
func noHeads(n int) []uint32 {
	heads := make([]uint32, n)
	for i := range heads {
		heads[i] = none
	}
	return heads
}

// Len returns the number of stored messages.
func (m *Messages) Len() int { return m.count }

// Bytes returns the bytes of memory that m has allocated, in use or spare.
func (m *Messages) Bytes() int {
	return len(m.chunks)*int(unsafe.Sizeof(chunk{})) + 8*cap(m.chunks) + 4*len(m.heads) + len(m.whole)*m.size
}

// Has reports whether message seq of a PE is stored.
func (m *Messages) Has(from, seq uint32) bool { return *m.find(from, seq) != none }

// find returns the link to a message's first block in its hash chain: the head of the chain, or
// nextInChain of the message before it. It points to none if the message is not stored. The link is
// valid until a message is added or removed.
func (m *Messages) find(from, seq uint32) *uint32 {
	at := m.head(from, seq)
	for *at != none {
		_, r := m.block(*at)
		if r.from == from && r.seq == seq {
			break
		}
		at = &r.nextInChain
	}
	return at
}

// head returns the head of the hash chain to which a message belongs.
func (m *Messages) head(from, seq uint32) *uint32 {
	h := (uint64(from)<<32 | uint64(seq)) * 0x9e3779b97f4a7c15 >> 32 // 2^64 by the golden ratio
	return &m.heads[h&uint64(len(m.heads)-1)]
}

// block returns the bytes of the block with a number, and its record.
func (m *Messages) block(at uint32) (*[BlockSize]byte, *record) {
	c, i := m.chunks[at/chunkBlocks], at%chunkBlocks
	return &c.blocks[i], &c.records[i]
}

// Keep stores a copy of a message, which must not be empty or stored already. from and seq, the PE
// and its sequence number, identify the message. Its blocks are chained by next, and the message is
// put at the head of its hash chain.
func (m *Messages) Keep(from, seq uint32, message []byte) {
	if m.count == len(m.heads) {
		m.grow()
	}
	length, first := uint32(len(message)), none
	for link := &first; len(message) > 0; {
		at := m.allocateBlock()
		b, r := m.block(at)
		message = message[copy(b[:], message):]
		*link, link = at, &r.next
		r.next = none
	}
	head := m.head(from, seq)
	_, r := m.block(first)
	r.from, r.seq, r.length, r.nextInChain = from, seq, length, *head
	*head = first
	m.count++
}

// allocateBlock returns the number of a free block, and marks it as in use. Blocks that were used
// before come first; only then it takes a fresh one, and a new chunk of memory if all chunks are
// full.
func (m *Messages) allocateBlock() uint32 {
	if at := m.free; at != none {
		_, r := m.block(at)
		m.free = r.next
		return at
	}
	if int(m.fresh) == len(m.chunks)*chunkBlocks {
		m.chunks = append(m.chunks, new(chunk))
	}
	m.fresh++
	return m.fresh - 1
}

// grow doubles the number of hash chains, and moves the messages to their new chains.
func (m *Messages) grow() {
	old := m.heads
	m.heads = noHeads(2 * len(old))
	for _, at := range old {
		for at != none {
			_, r := m.block(at)
			head := m.head(r.from, r.seq)
			at, r.nextInChain, *head = r.nextInChain, *head, at
		}
	}
}

// Begin returns the first bytes of a message, at most BlockSize, or nil if it is not stored. The
// bytes belong to m, and stay valid until the message is removed.
func (m *Messages) Begin(from, seq uint32) []byte {
	at := *m.find(from, seq)
	if at == none {
		return nil
	}
	b, r := m.block(at)
	return b[:min(r.length, BlockSize)]
}

// Remove removes a message, which must be stored, and returns it. The caller owns the result until
// it calls Reuse.
func (m *Messages) Remove(from, seq uint32) []byte {
	message := m.Copy(from, seq)
	m.Forget(from, seq)
	return message
}

// Copy returns a copy of a message, which must be stored and stays so. The caller owns the copy
// until it calls Reuse.
func (m *Messages) Copy(from, seq uint32) []byte {
	at := *m.find(from, seq)
	_, first := m.block(at)
	message := m.buffer()[:first.length]
	for rest := message; at != none; {
		b, r := m.block(at)
		rest = rest[copy(rest, b[:]):]
		at = r.next
	}
	return message
}

// Forget removes a message, which must be stored, and frees its blocks.
func (m *Messages) Forget(from, seq uint32) {
	m.forget(m.find(from, seq))
	m.shrink()
}

// buffer returns memory for the longest message, which the caller later passes to Reuse.
func (m *Messages) buffer() []byte {
	last := len(m.whole) - 1
	if last < 0 {
		return make([]byte, m.size)
	}
	b := m.whole[last]
	m.whole = m.whole[:last]
	return b
}

// Reuse returns to m the memory of a message that Remove or Copy returned.
func (m *Messages) Reuse(message []byte) { m.whole = append(m.whole, message[:m.size]) }

// Drop removes all messages of a PE. It searches all hash chains, because a chain has messages of
// any PE; it is called only for a lost PE.
func (m *Messages) Drop(from uint32) {
	for i := range m.heads {
		for at := &m.heads[i]; *at != none; {
			if _, r := m.block(*at); r.from != from {
				at = &r.nextInChain
				continue
			}
			m.forget(at)
		}
	}
	m.shrink()
}

// forget removes a message from its hash chain and frees its blocks. at is the link to its first
// block, as find returns it.
func (m *Messages) forget(at *uint32) {
	block := *at
	_, r := m.block(block)
	*at = r.nextInChain
	for block != none {
		_, r := m.block(block)
		block, r.next, m.free = r.next, m.free, block
	}
	m.count--
}

// shrink frees most of the memory if no message is stored: a burst of early messages is rare, and
// its memory would stay allocated until the end of the job.
func (m *Messages) shrink() {
	if m.count > 0 {
		return
	}
	m.free, m.fresh = none, 0
	if len(m.chunks) > spareChunks {
		m.chunks = append([]*chunk(nil), m.chunks[:spareChunks]...)
		m.heads = noHeads(leastHeads)
	}
}

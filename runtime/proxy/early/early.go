// Package early keeps messages that came before their turn until the messages before them have
// come. The credits of the sender bound how many of its messages are kept here. The package knows
// neither credits nor the contents of a message.
package early

// Messages are the kept messages of all PEs. New makes one.
type Messages struct {
	kept  map[key][]byte
	spare [classes][][]byte
}

// key names a message by its sender and its sequence number.
type key struct{ from, seq uint32 }

// Most messages are headers, and few are kept for long. Their memory is used again.
const (
	smallCopy   = 128
	classes     = 2   // small, and of the largest size
	spareCopies = 128 // of each class: half a megabyte
)

// New returns a Messages without messages.
func New() *Messages { return &Messages{kept: map[key][]byte{}} }

// Len returns how many messages are kept.
func (m *Messages) Len() int { return len(m.kept) }

// Bytes returns the length of all of them together.
func (m *Messages) Bytes() (n int) {
	for _, b := range m.kept {
		n += len(b)
	}
	return n
}

// Has reports whether a message is kept.
func (m *Messages) Has(from, seq uint32) bool {
	_, ok := m.kept[key{from, seq}]
	return ok
}

// Keep keeps a copy of a message. No message is longer than most.
func (m *Messages) Keep(from, seq uint32, message []byte, most int) {
	class := 0
	if len(message) > smallCopy {
		class = 1
	}
	spare := &m.spare[class]
	var b []byte
	if last := len(*spare) - 1; last >= 0 {
		b, *spare = (*spare)[last], (*spare)[:last]
	} else {
		b = make([]byte, [classes]int{smallCopy, most}[class])
	}
	b = b[:len(message)] // the memory may have been a shorter message's
	copy(b, message)
	m.kept[key{from, seq}] = b
}

// Get returns a message, which stays kept; nil: it is not kept.
func (m *Messages) Get(from, seq uint32) []byte { return m.kept[key{from, seq}] }

// Take ends the keeping of a message. Its bytes are the caller's until Reuse.
func (m *Messages) Take(from, seq uint32) { delete(m.kept, key{from, seq}) }

// Reuse takes the memory of a message back.
func (m *Messages) Reuse(message []byte) {
	class := 0
	if cap(message) > smallCopy {
		class = 1
	}
	if spare := &m.spare[class]; len(*spare) < spareCopies {
		*spare = append(*spare, message)
	}
}

// Drop forgets all messages of a PE.
func (m *Messages) Drop(from uint32) {
	for k := range m.kept {
		if k.from == from {
			delete(m.kept, k)
		}
	}
}

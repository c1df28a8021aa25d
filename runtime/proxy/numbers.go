package proxy

import (
	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/sequence"
)

// States of a flow's sequence stream. A flow that has one has sequenceGiven plus its number.
const (
	sequenceNone      uint32 = iota // not asked for
	sequenceRequested               // the answer is under way
	sequenceRefused                 // there is none left
	sequenceGiven
)

// writeNumbers says whether the writes of a context have numbers, on a network where messages
// overtake writes.
type writeNumbers struct {
	On     bool           // writes may have numbers
	Spares bool           // a write that finds the window full goes without a number
	Small  uint32         // writes do not wait for windows of fewer writes
	Space  sequence.Space // its window is that of all PEs

	Counters notificationCounters // that the writes of the first context may notify
}

// Counters are the notification counters of each PE: words of 8 bytes in the internal area, in one
// place on all PEs. A write whose provider names its writer has room for the number of a counter
// above its own number.
type notificationCounters struct {
	Offset libshmem.Offset // of the first
	Count  uint32
}

// carried returns the number of a counter and 1 if the message after a write is a notification: an
// addition of 1 to that counter. It returns 0 for other messages.
func (c notificationCounters) carried(h *layout.Header) uint32 {
	at := uint64(h.Offset - c.Offset)
	if h.Kind != layout.KindAMO || h.Op != fabric.OpAdd || h.Width != 8 || h.Operand != 1 || at%8 != 0 || at/8 >= uint64(c.Count) {
		return 0
	}
	return uint32(at/8) + 1
}

// Split returns the number of a write, and what is above it in the immediate data: the number of a
// counter and 1, or 0, where the provider names the writer; elsewhere the writer's sequence stream.
func (n *writeNumbers) Split(data uint32) (number, above uint32) {
	return data & (1<<n.Space.Bits - 1), data >> n.Space.Bits
}

// In a window of fewer writes than this, the answers limit the rate, because one is under way at a
// time; the wait of each signal for its bytes does not. 32 writes of 8 KiB to one PE have 0.15 of a
// link of 200 Gb/s, and 0.44 if the rest goes without numbers; 64 have 0.29 and 0.48, but to eight
// PEs 0.67 and 0.45 (TestSimWindowRates).
const smallWindow = 64

// Advertise begins with the window for which this PE's queue has room.
func (n *writeNumbers) Advertise(net *network, npes int) {
	n.Small, n.Space = smallWindow, sequence.Space{Bits: sequence.Default.Bits}
	if net.Unordered && net.Caps.Data >= 4 {
		n.Space.Window = writeWindow(npes, net.Caps.Arrivals)
	}
}

// Agree takes the window of a reachable PE: the least one holds for all.
func (n *writeNumbers) Agree(window uint32) { n.Space.Window = min(n.Space.Window, window) }

// Open is called when all PEs have agreed, before any operation.
func (n *writeNumbers) Open(net *network) {
	n.Spares = net.Caps.DeliveryComplete && n.Space.Window < n.Small
	n.On = net.Unordered && net.Caps.Data >= 4 && n.Space.Window > 0
}

// Window returns how many writes with numbers may be under way to each other PE; 0: writes have no
// numbers.
func (n *writeNumbers) Window() uint32 {
	if !n.On {
		return 0
	}
	return n.Space.Window
}

// AllNumbered reports whether each write of the context has a number, once its target has given a
// sequence stream.
func (e *Engine) AllNumbered() bool { return e.rma.allNumbered() }

func (x *transfers) allNumbered() bool {
	return x.Numbers.On && !x.Numbers.Spares && x.Net.Caps.Stripe == 0
}

// prepare prepares for a PE before the first operation on it. Where the provider names the writer,
// each PE has the one sequence stream that it needs.
func (x *transfers) prepare(p *layout.Peer) {
	p.Out.Space = x.Numbers.Space
	if x.Numbers.On && x.Net.Caps.Source {
		p.SetStream(sequenceGiven)
	}
}

// Given takes a PE's reply to the request for a sequence stream: its number plus 1, or 0 for none.
// It returns false if the reply is invalid.
func (n *writeNumbers) Given(p *layout.Peer, answer uint64) bool {
	switch {
	case p.Stream != sequenceRequested || answer > 1<<(32-n.Space.Bits):
		return false
	case answer == 0:
		p.SetStream(sequenceRefused)
	default:
		p.SetStream(sequenceGiven + uint32(answer) - 1)
	}
	return true
}

// data returns the immediate data of a write with a number.
func (n *writeNumbers) data(p *layout.Peer, number uint32) uint32 {
	return (p.Stream-sequenceGiven)<<n.Space.Bits | number
}

// numbered reports whether the next write to a PE has a number. A write behind one without a number
// has none either, or its number would have to wait for that write. A write that is split over
// several NICs has none if its completion says that it has arrived: with a number it would go
// through one NIC. A write that finds a small window full has none either.
func (x *transfers) numbered(pe libshmem.PE, p *layout.Peer, n uint64) bool {
	if !x.Numbers.On || p.Bare > 0 || x.Numbers.Spares && !p.Out.HasRoom() || x.Net.Caps.Stripe > 0 && n > x.Net.Caps.Stripe && x.Net.Caps.DeliveryComplete {
		return false
	}
	if p.Stream == sequenceNone {
		p.SetStream(sequenceRequested)
		x.Messages.sendOwn(pe, x.Epoch, noParity, layout.Header{Kind: layout.KindSequence})
	}
	return p.Stream >= sequenceGiven
}

// notified returns what stands for the notification of a write in its immediate data, or 0 if the
// notification follows as a message. So it does where the target's GPU has to be flushed first.
func (x *transfers) notified(s *record) uint32 {
	if !s.Then || x.GPU != nil || !x.Net.Caps.Source {
		return 0
	}
	return x.Numbers.Counters.carried(&s.After)
}

// void reports to the target that a write, and the signal that follows it, will not come: without
// that, later messages would wait for its number for ever.
func (x *transfers) void(s *record) {
	h := layout.Header{Kind: layout.KindVoid, Operand: uint64(s.Number)}
	if s.Signalled {
		h.Fetch = 1
	}
	x.Messages.sendOwn(s.PE, x.Epoch, noParity, h)
}

package proxy

import (
	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/sequence"
)

// Values of layout.Peer.Stream, the sequence stream of this PE's writes to another PE: that PE
// grants each writer one, by which it tells the numbers of different writers apart.
const (
	sequenceNone      uint32 = iota // none, and none requested
	sequenceRequested               // the reply is under way
	sequenceRefused                 // the PE has none left
	sequenceGranted                 // granted: sequenceGranted plus the number of the stream
)

// writeNumbers has the rules for whether the writes of a context have numbers, by which a target
// restores the order on a network where messages overtake writes.
type writeNumbers struct {
	On     bool           // writes may have numbers
	Spares bool           // a write for which the window has no room goes without a number
	Small  uint32         // Spares is set only for windows of fewer writes
	Space  sequence.Space // with the window that all PEs use

	Counters notificationCounters // counters to which a write of the first context may add 1
}

// notificationCounters are the notification counters of each PE: words of 8 bytes in the internal
// area, at the same offset on all PEs. If the provider names the writer, the immediate data of a
// write can hold the number of a counter, above the write's own number.
type notificationCounters struct {
	Offset libshmem.Offset // of the first
	Count  uint32
}

// counterOf returns the number of a counter plus 1 if the message after a write is a notification:
// an addition of 1 to that counter. It returns 0 for other messages.
func (c notificationCounters) counterOf(h *layout.Header) uint32 {
	at := uint64(h.Offset - c.Offset)
	if h.Kind != layout.KindAMO || h.Op != fabric.OpAdd || h.Width != 8 || h.Operand != 1 || at%8 != 0 || at/8 >= uint64(c.Count) {
		return 0
	}
	return uint32(at/8) + 1
}

// Split divides the immediate data of a write into the number of the write and the bits above it.
// If the provider names the writer, those are the number of a notification counter plus 1, or 0;
// otherwise they are the writer's sequence stream.
func (n *writeNumbers) Split(data uint32) (number, above uint32) {
	return data & (1<<n.Space.Bits - 1), data >> n.Space.Bits
}

// smallWindow is the window below which writes beyond the window go without numbers. With small
// windows the replies that acknowledge writes limit the rate, because one flush is under way at a
// time; the signal of a write without a number only waits for its own bytes. A window of 32 writes
// of 8 KiB to one PE reaches 0.15 of a link of 200 Gb/s, and 0.44 if the rest goes without numbers;
// 64 writes reach 0.29 and 0.48, but to eight PEs 0.67 and 0.45 (TestSimWindowRates).
const smallWindow = 64

// Advertise sets the window to the number of arrivals that the completion queue of this PE can hold
// for each PE. The window stays 0 on a network that keeps the order, where writes need no numbers,
// and if the immediate data has less than 4 bytes: it cannot hold a number and the bits above it.
// The PE announces the window with its address.
func (n *writeNumbers) Advertise(net *network, npes int) {
	n.Small, n.Space = smallWindow, sequence.Space{Bits: sequence.Default.Bits}
	if net.Unordered && net.Caps.Data >= 4 {
		n.Space.Window = writeWindow(npes, net.Caps.Arrivals)
	}
}

// Agree lowers the window to that of another PE: all PEs use the smallest one.
func (n *writeNumbers) Agree(window uint32) { n.Space.Window = min(n.Space.Window, window) }

// Open decides whether writes have numbers. It is called when Agree has seen the windows of all
// PEs, before any operation.
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

// AllNumbered reports whether each write of the context has a number, by which its target restores
// the order, once the target has granted a sequence stream.
func (e *Engine) AllNumbered() bool { return e.rma.allNumbered() }

// allNumbered reports, for this context, what Engine.AllNumbered does: whether every write has a
// sequence number.
func (x *transfers) allNumbered() bool {
	return x.Numbers.On && !x.Numbers.Spares && x.Net.Caps.Stripe == 0
}

// startPeer is called before the first operation on a PE. If the provider names the writer, the PE
// gets its only sequence stream, number 0, without a request.
func (x *transfers) startPeer(p *layout.Peer) {
	p.Out.Space = x.Numbers.Space
	if x.Numbers.On && x.Net.Caps.Source {
		p.SetStream(sequenceGranted)
	}
}

// HandleGrant handles a PE's reply to the request for a sequence stream: the number of the stream
// plus 1, or 0 for none. It returns false if the reply is invalid.
func (n *writeNumbers) HandleGrant(p *layout.Peer, reply uint64) bool {
	switch {
	case p.Stream != sequenceRequested || reply > 1<<(32-n.Space.Bits):
		return false
	case reply == 0:
		p.SetStream(sequenceRefused)
	default:
		p.SetStream(sequenceGranted + uint32(reply) - 1)
	}
	return true
}

// immediateData returns the immediate data of a write with a number: the target's number of the
// sequence stream in the upper bits, and the write's number in the lower ones.
func (n *writeNumbers) immediateData(p *layout.Peer, number uint32) uint32 {
	return (p.Stream-sequenceGranted)<<n.Space.Bits | number
}

// tryNumber reports whether the next write to a PE, of n bytes, gets a sequence number. If writes
// have numbers (On), it gets none in three cases:
//   - An earlier write without a number is in flight (Bare): a write with a number would have to
//     wait for it.
//   - The write is split over several NICs, and its completion says that it has arrived: a write
//     with a number would go through one NIC.
//   - The window is small (Spares, see smallWindow) and full: the write would have to wait until
//     the target has acknowledged an earlier one.
//
// Otherwise, if this PE has no sequence stream to the other PE yet, tryNumber requests one. Writes
// have no numbers until it is granted.
func (x *transfers) tryNumber(pe libshmem.PE, p *layout.Peer, n uint64) bool {
	if !x.Numbers.On || p.Bare > 0 || x.Numbers.Spares && !p.Out.HasRoom() || x.Net.Caps.Stripe > 0 && n > x.Net.Caps.Stripe && x.Net.Caps.DeliveryComplete {
		return false
	}
	if p.Stream == sequenceNone {
		p.SetStream(sequenceRequested)
		x.Messages.sendOwn(pe, x.Epoch, noParity, layout.Header{Kind: layout.KindSequence})
	}
	return p.Stream >= sequenceGranted
}

// notifiedCounter returns the counter, plus 1, that the immediate data of a write names so that the
// target adds 1 to it. It returns 0 if the write has no notification, or if the notification
// follows as a message: so it does in a job with heaps in GPU memory (x.GPU), where the target may
// have to flush its GPU first, and if completions do not name the writer (Source).
func (x *transfers) notifiedCounter(s *record) uint32 {
	if !s.Then || x.GPU != nil || !x.Net.Caps.Source {
		return 0
	}
	return x.Numbers.Counters.counterOf(&s.After)
}

// sendVoid tells the target that a write, and the signal that follows it, will not arrive: without
// that, later messages would wait for the write's number for ever.
func (x *transfers) sendVoid(s *record) {
	h := layout.Header{Kind: layout.KindVoid, Operand: uint64(s.Number)}
	if s.Signalled {
		h.Fetch = 1
	}
	x.Messages.sendOwn(s.PE, x.Epoch, noParity, h)
}

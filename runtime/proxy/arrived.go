package proxy

import (
	"fmt"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	flow "libshmem/runtime/sequence"
)

// On a network where messages overtake writes, the target keeps the order. A write has a number,
// its immediate data; a message says how many writes it follows; and the target stores a message
// that arrives before one of these writes (package sequence). The sender keeps the order of a write
// without a number (queue.go). A write has no number if the provider has no immediate data, before
// the target has granted the sender a sequence stream (a series of numbers), and when the target
// has no sequence stream left.

// maxSequences is the number of sequence streams that immediate data can distinguish: of its 32
// bits a write's number has at most 16 (sequence.Space.Bits).
const maxSequences = 1 << (32 - 16)

// grantSequence handles a PE's request for a sequence stream, a series of numbers for its writes.
// The reply has the stream's number plus one, or 0 if this PE has no stream left: then the PE's
// writes have no numbers. If no PE needs a stream, because the provider names the writer or writes
// have no numbers, the request is malformed.
func (r *receiver) grantSequence(h *layout.Header) {
	reply := layout.Header{Kind: layout.KindSequenced}
	if r.Sequences == nil {
		r.FailMalformed(h)
		return
	}
	if n, ok := r.Sequences.Open(h.From); ok {
		reply.Operand = uint64(n) + 1
	}
	r.out.sendOwn(libshmem.PE(h.From), r.Epoch, noParity, reply)
}

// HandleArrival handles the completion of another PE's write with immediate data, the write's
// number. The bytes are in place. A completion with invalid data is counted and dropped
// (Report.Refuse): PEs of this job send only valid numbers, so it comes from another process or is
// a repeat. If the provider names the writer (Caps.Source), the bits above the number are a
// notification counter plus 1, or 0; otherwise they are the writer's sequence stream.
func (r *receiver) HandleArrival(c *fabric.Completion) {
	if r.Net.Receiving(c.Token) { // the provider used up a receive buffer for the write
		r.Net.Repost(c.Token)
	}
	if !r.numbers.On {
		r.report.Refuse("write with data")
		return
	}
	number, above := r.numbers.Split(c.Data)
	if !r.Net.Caps.Source {
		from, err := r.Sequences.Of(above)
		if err != nil {
			r.report.Refuse("write of sequence stream %d, which no PE has", above)
			return
		}
		r.noteWrite(from, number, 0)
		return
	}
	switch from := uint32(c.From()); {
	case from >= uint32(len(r.Peers)):
		r.report.Refuse("write of PE %d, which is not in this job", int32(from))
	case above > r.numbers.Counters.Count:
		r.report.Refuse("write of PE %d that notifies counter %d, there are %d", from, above-1, r.numbers.Counters.Count)
	default:
		r.noteWrite(from, number, above)
	}
}

// noteWrite notes that the write `number` of PE `from` has arrived, or will not arrive because it
// failed (handleVoid), and applies early messages that waited for it. If notify is not 0, it first
// adds 1 to notification counter notify-1, so that the counter is right when these messages are
// applied. The edge, up to which f.Ack counts, is the number of the PE's writes that have arrived
// without a gap: messages wait for it (writesArrived). A write that has arrived before is refused,
// unless the network may repeat one (Caps.Repeats: its sender lost a NIC).
func (r *receiver) noteWrite(from, number, notify uint32) {
	if r.Flows[from] == nil {
		r.Flows[from] = flow.NewIn(r.numbers.Space)
	}
	f, p := r.Flows[from], &r.Peers[from]
	if err := f.Arrive(number); err != nil {
		if !r.Net.Caps.Repeats {
			r.report.Refuse("write %d of PE %d, which has arrived before", number, from)
		}
		return
	}
	if notify != 0 {
		r.addToCounter(notify - 1)
	}
	if edge := f.Ack(); edge != p.Edge {
		p.Arrive(edge)
		r.Recorder.Note(libshmem.PE(from), layout.EventArrived, 0, edge)
		r.applyEarly(from, p)
		r.out.Drive(libshmem.PE(from)) // an applied message may have been a reply
	}
}

// addToCounter adds 1 to a notification counter of this PE, which waits of the program observe.
func (r *receiver) addToCounter(counter uint32) {
	if at, ok := r.Net.Segment.At(r.numbers.Counters.Offset+8*libshmem.Offset(counter), 8); ok {
		mem.Apply(fabric.OpAdd, at, 8, 1, 0)
	}
}

// writesArrived reports whether the writes that the message h of PE p follows have arrived: the
// message needs the first h.Need writes, and the first p.Edge have arrived. Both counts may wrap
// around, so their distance decides.
func writesArrived(h *layout.Header, p *layout.Peer) bool { return int32(h.Need-p.Edge) <= 0 }

// checkNeed returns false, and fails the job, if a message needs more writes than may be under way:
// it would wait for ever. A message whose writes have arrived or can still arrive is valid.
func (r *receiver) checkNeed(h *layout.Header, p *layout.Peer) bool {
	if !writesArrived(h, p) && (!r.numbers.On || h.Need-p.Edge > r.numbers.Space.Window) {
		r.FailMalformed(h)
		return false
	}
	return true
}

// noteAcknowledged notes how many writes of this PE have arrived at the sender of a message, as the
// message's header says. It returns false, and fails the job, if the number is impossible.
func (r *receiver) noteAcknowledged(h *layout.Header, p *layout.Peer) bool {
	if h.Ack == p.Out.In {
		return true
	}
	err := p.Out.HandleAck(h.Ack)
	if err != nil {
		r.Net.Fatal(fmt.Errorf("receive: PE %d: %w", h.From, err))
	}
	return err == nil
}

// handleVoid handles a message of KindVoid, at once even if earlier messages are missing: the
// numbered write in Operand has failed at its sender and will not arrive, so no message may wait
// for it. If Fetch is set, the write's signal was sent, and must not be applied (isDropped). It
// returns false, and fails the job, if the message is malformed.
func (r *receiver) handleVoid(h *layout.Header) bool {
	if !r.numbers.On || h.Operand >= 1<<r.numbers.Space.Bits {
		r.FailMalformed(h)
		return false
	}
	if h.Fetch != 0 {
		if r.Dropped == nil {
			r.Dropped = map[uint64]struct{}{}
		}
		r.Dropped[signalKey(h.From, uint32(h.Operand))] = struct{}{}
	}
	r.noteWrite(h.From, uint32(h.Operand), 0)
	return true
}

// signalKey returns the key in receiver.Dropped of the signal that follows the numbered write of a
// PE.
func signalKey(from, number uint32) uint64 { return uint64(from)<<32 | uint64(number) }

// isDropped reports whether an operation is the signal of a write that failed and did not arrive,
// and removes the signal from Dropped. Such a signal must not take effect, because it says that the
// bytes are there. A signal's token is the number of its write plus 1; with 0 the message follows
// no numbered write.
func (r *receiver) isDropped(h *layout.Header) bool {
	if len(r.Dropped) == 0 || h.Kind != layout.KindAMO || h.Fetch != 0 || h.Token == 0 {
		return false
	}
	key := signalKey(h.From, h.Token-1)
	_, drop := r.Dropped[key]
	delete(r.Dropped, key)
	return drop
}

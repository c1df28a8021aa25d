package proxy

import (
	"sync/atomic"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// Small operations on one PE leave in one message when several are at hand: operations in the PE's
// queue, the signals of consecutive writes, and the operations of a caller's burst. A batch is a
// message of the queue (queue.go) that may still grow. The target applies its operations in the
// order of posting. A batch belongs to one epoch and one generation, so fence and quiet need no
// rule for it.
//
// A batch that could leave is held for a while, because more operations may come:
//
//   - a batch of signals that follow many writes, until some of those writes are complete. Earlier
//     the target could not apply the signals anyway, because their bytes have not arrived;
//   - a batch of a burst, until it is full, or a caller polls, or the loop finds that it has not
//     changed since the last check;
//   - a batch of operations that lay in a ring together, until the proxy has posted all of those.
//
// A quiet, or an operation that cannot be merged and has to follow, sends the batch at once. A
// single operation is never held.

// If manyWrites or more writes to a PE are under way, the signals that follow them are held back,
// so that they share a message. The message is sent when it has maxSignals signals.
const manyWrites, maxSignals = 8, 8

// recordBytes returns the bytes that an operation with n bytes of payload takes in a batch: its
// record, the beginning of a header, and the payload up to a multiple of 8.
func recordBytes(n int) uint32 { return layout.RecordSize + uint32(n+7)&^7 }

// batches has the rules for batches (messages that several small operations share): which
// operations join one, and how long it is held for more. An open batch is the last message in the
// queue of its PE; the record of the PE and that of the batch's token have its state.
type batches struct {
	*operations
	bursts  *bursts
	gathers bool // between BurstBegins and BurstEnds
}

// bursts count the batches that contexts hold because a caller's burst, a row of small operations,
// may go on. All contexts share the counts.
type bursts struct {
	First *layout.State // of the first context: its Held counts the held batches
	Held  uint64        // batches that were held so far
	seen  uint64        // Held at the loop's last check
}

// mergeable reports whether operations of n bytes of payload may share a message with others.
func mergeable(n int) bool { return n <= layout.MergeMost }

// shareMessages reports whether small operations are to share messages now: a caller has posted
// several in a row (a burst), or the proxy is between BurstBegins and BurstEnds.
func (x *batches) shareMessages() bool { return x.Burst >= layout.BurstAfter || x.gathers }

// batchHasSpace reports whether an operation with n bytes of payload, posted now, may join the
// batch at the end of p's queue.
func (x *batches) batchHasSpace(p *layout.Peer, n int) bool {
	return p.Batch != nil && p.BatchEpoch == x.Epoch && mergeable(n) &&
		p.BatchUsed+recordBytes(n) <= layout.MessageSize && x.Table.Records[p.Last].Parity == x.Quiets.Parity()
}

// addToBatch adds an operation to the batch of token t: its header h lies at the end of the batch,
// where draftRecord placed it, and n bytes of payload follow.
func (x *batches) addToBatch(t fabric.Token, h *layout.Header, payload unsafe.Pointer, n int) call.Status {
	p := &x.Peers[x.Table.Records[t].PE]
	if h.Kind == layout.KindPut || h.Kind == layout.KindPutSignal {
		h.Token = uint32(n)
	}
	if n > 0 {
		mem.Copy(unsafe.Add(unsafe.Pointer(h), layout.RecordSize), payload, n)
	}
	p.GrowBatch(recordBytes(n))
	p.Count[h.Kind]++
	p.Count[layout.Merged]++
	return call.Done
}

// closeBatch closes the batch of a PE, if it has one: no more operations join it, and Drive sends
// it when order allows.
func (x *batches) closeBatch(p *layout.Peer) {
	if p.Batch == nil {
		return
	}
	s := &x.Table.Records[p.Last]
	if s.Hold == forBurst {
		atomic.AddUint32(&x.bursts.First.Held, ^uint32(0))
	}
	s.Hold, s.Length = notHeld, p.BatchUsed
	p.CloseBatch()
}

// holdForBurst holds back the batch of a PE that a burst has just opened, so that more operations
// may join it.
func (x *batches) holdForBurst(p *layout.Peer) {
	s := &x.Table.Records[p.Last]
	if s.Hold != notHeld || p.Queued != 1 { // it is held already, or waits for operations before it
		return
	}
	if x.gathers {
		s.Hold = forRing
		return
	}
	s.Hold = forBurst
	x.bursts.Held++
	if atomic.AddUint32(&x.bursts.First.Held, 1) == 1 {
		x.Net.Wake() // the loop must not sleep while a batch is held
	}
}

// batchStaysHeld reports whether the batch of a PE, whose message is the record s, stays unsent
// because more operations may join it. s.Hold says why it was held: for signals of writes, it stays
// as long as such writes are under way and a limit is not reached; for a burst of calls or of a
// ring, as long as it has room for another element.
func (x *batches) batchStaysHeld(p *layout.Peer, s *record) bool {
	switch s.Hold {
	case forSignals:
		return p.BatchUsed < layout.HeaderSize+maxSignals*layout.RecordSize && p.Written() < s.Until && p.Writes > 0
	case forBurst, forRing:
		return p.BatchUsed+recordBytes(8) <= layout.MessageSize
	}
	return false
}

// onlyHeldBatchQueued reports whether the queue of p has nothing but a held batch of the present
// epoch: a write may overtake that.
func (x *batches) onlyHeldBatchQueued(p *layout.Peer) bool {
	return p.Queued == 1 && p.Batch != nil && p.BatchEpoch == x.Epoch && x.Table.Records[p.Last].Hold != notHeld
}

// NoneSinceLastCall reports whether no batch was held for a burst since its last call, so that the
// callers' bursts are over. A burst is a series of small operations that are posted without a
// pause.
func (b *bursts) NoneSinceLastCall() bool {
	if b.Held == b.seen {
		return true
	}
	b.seen = b.Held
	return false
}

// draftRecord returns where to fill the header of an operation with n bytes of payload that joins
// the batch of a PE. It opens a batch if the PE has none with enough space. The caller fills the
// header and calls appendRecord.
func (x *sender) draftRecord(p *layout.Peer, pe libshmem.PE, n int) (*layout.Header, call.Status) {
	if !x.batchHasSpace(p, n) {
		if st := x.openBatch(p, pe); st != call.Done {
			return nil, st
		}
	}
	x.Drafted, x.Recording = fabric.Token(p.Last), true
	return (*layout.Header)(unsafe.Add(p.Batch, p.BatchUsed)), call.Done
}

// openBatch opens an empty batch, a message that several small operations share, at the end of a
// PE's queue. It returns Again if no message can be drafted now.
func (x *sender) openBatch(p *layout.Peer, pe libshmem.PE) call.Status {
	h, st := x.draftQueued(p, pe, 0)
	if h == nil {
		return st
	}
	t := x.Drafted
	x.Drafted = 0
	*h = layout.Header{Kind: layout.KindBatch, Token: x.State.EpochToken(x.Epoch)}
	s := &x.Table.Records[t]
	s.Hold = notHeld
	x.Enqueue(t, s)
	p.OpenBatch(unsafe.Pointer(h), x.Epoch)
	return call.Done
}

// addSignalToBatch adds the signal of a write to a batch while many writes to the PE are under way:
// until the bytes have arrived, the target cannot apply the signals anyway, so they may share a
// message. The batch is held until a quarter of those writes are complete. It returns false, and
// the caller sends the signal alone, if the signal belongs to an earlier epoch or generation, if
// messages of the engine itself to the PE are parked, because the provider's queue was full, if
// operations are queued that it cannot join, if fewer than manyWrites writes are under way, or if no
// token is free.
func (x *sender) addSignalToBatch(p *layout.Peer, s *record) bool {
	if s.Epoch != x.Epoch || s.Parity != x.Quiets.Parity() || p.Parked > 0 {
		return false
	}
	if p.Queued > 0 && !x.batchHasSpace(p, 0) || p.Queued == 0 && p.Writes < manyWrites {
		return false
	}
	h, st := x.draftRecord(p, s.PE, 0)
	if st != call.Done {
		return false
	}
	batch := &x.Table.Records[p.Last]
	if p.BatchUsed == layout.HeaderSize && p.Queued == 1 {
		batch.Hold, batch.Until = forSignals, p.Written()+uint64(p.Writes)/4
	}
	*(*[layout.RecordSize]byte)(unsafe.Pointer(h)) = *(*[layout.RecordSize]byte)(unsafe.Pointer(&s.After))
	x.appendRecord(h, nil, 0)
	if p.BatchUsed >= layout.HeaderSize+maxSignals*layout.RecordSize {
		x.Drive(s.PE)
	}
	return true
}

// SendBatch closes the batch of a PE, if it has one, and sends it as far as order, credit and the
// provider's queue allow.
func (x *sender) SendBatch(pe libshmem.PE, p *layout.Peer) {
	if p.Batch != nil {
		x.closeBatch(p)
		x.Drive(pe)
	}
}

// appendRecord adds the operation whose header draftRecord placed, with its payload, to its batch.
func (x *sender) appendRecord(h *layout.Header, payload unsafe.Pointer, n int) call.Status {
	t := x.Drafted
	x.Drafted, x.Recording = 0, false
	return x.addToBatch(t, h, payload, n)
}

// SendBatches sends the batches of all PEs: messages that several small operations share.
func (x *sender) SendBatches() {
	for _, pe := range x.Queues {
		x.SendBatch(pe, &x.Peers[pe])
	}
}

package layout

import "unsafe"

// These methods change the record of a PE. In Go no other code does, except for the members that
// TestWriters lists: the counters, those of the flight recorder, and those of GPU staging. C
// changes some members by the same rules, in runtime/proxy/fastpath/fastpath.h. The caller holds
// the engine's lock.

// Reachability: Reachable is true only while operations on the PE may be posted without first
// asking the network whether there is a path. A lost PE never becomes reachable again.

// SetReachable notes whether operations on the PE may be posted.
func (p *Peer) SetReachable(reachable bool) { p.Reachable = reachable }

// Lose makes C leave all operations on the lost PE, and all its messages, to Go, which refuses
// them. The early messages of the PE are not counted any more.
func (p *Peer) Lose() {
	p.Reachable, p.Behind = false, true
	p.Early = 0
}

// Leave records that the PE's program has announced its end.
func (p *Peer) Leave() { p.Left = true }

// Operations under way: Tokens counts the operation records of the PE, and Bytes the one-sided
// bytes of those records.

// AddToken counts an operation on the PE that now uses a token.
func (p *Peer) AddToken() { p.Tokens++ }

// AddBytes counts n bytes of one-sided operations under way on the PE.
func (p *Peer) AddBytes(n uint64) { p.Bytes += n }

// RemoveToken decrements the number of operations under way on the PE, and subtracts the
// operation's n one-sided bytes. The number falls only here, so its maximum is updated here.
func (p *Peer) RemoveToken(n uint64) {
	p.Count[MostUnderWay] = max(p.Count[MostUnderWay], uint64(p.Tokens))
	p.Tokens--
	p.Bytes -= n
}

// Messages to the PE: Sent is the sequence number of the last one that the provider has accepted.
// Parked counts the engine's own messages that it could not post, because the provider's queue was
// full; while Parked is not 0, no other message may go to the PE.

// SendMessage counts a message of n bytes that the provider has accepted.
func (p *Peer) SendMessage(k Kind, n int) {
	p.Sent++
	p.CountMessage(k, n)
}

// Park counts a message of the engine's own to the PE that could not be posted.
func (p *Peer) Park() { p.Parked++ }

// Unpark records that none of the engine's own messages to the PE is parked: all were sent or
// dropped.
func (p *Peer) Unpark() { p.Parked = 0 }

// Flushes are messages whose reply acknowledges what was sent before them. Charged counts the
// messages sent that need credits, in units of credit (State.Cost), and Acked those of them that the
// PE has acknowledged; Wrote and WroteAcked count bytes (CountUnconfirmed). At most one flush is
// under way, while Flushing. Its reply covers FlushCharged of Charged, and FlushWrote of Wrote. Acked
// and WroteAcked never exceed Charged and Wrote.

// NextFlushID returns the number that the reply to the next flush has to carry.
func (p *Peer) NextFlushID() uint32 { return (p.FlushTurn+1)<<16 | FlushToken }

// BeginFlush records that the flush with the number of NextFlushID was sent, and how much its reply
// will acknowledge.
func (p *Peer) BeginFlush() {
	p.FlushTurn++
	p.FlushCharged, p.FlushWrote = p.Charged, p.Wrote
	p.Flushing = true
}

// EndFlush records that the reply to the flush under way has arrived: the PE has acknowledged
// everything that was sent before the flush. The number of unacknowledged units falls only here, so
// its maximum is updated here.
func (p *Peer) EndFlush() {
	p.Count[MostUnacknowledged] = max(p.Count[MostUnacknowledged], p.Charged-p.Acked)
	p.Acked, p.WroteAcked = p.FlushCharged, p.FlushWrote
	p.Flushing = false
}

// Excuse counts everything that was sent to the PE as acknowledged, because the PE has left or is
// lost, and will not reply.
func (p *Peer) Excuse() { p.Acked, p.WroteAcked = p.Charged, p.Wrote }

// AbandonFlush drops the flush under way: its reply will not arrive, because the PE is lost.
func (p *Peer) AbandonFlush() { p.Flushing = false }

// One-sided writes: Writes counts those in flight, Bare those of them that have no number and that
// messages may therefore overtake. Wrote grows by the bytes whose arrival no completion confirms.

// BeginWrite counts a one-sided write to the PE that was posted in an epoch.
func (p *Peer) BeginWrite(epoch uint64) {
	p.Writes++
	p.WriteEpoch = epoch
}

// EndWrite decrements the number of writes in flight, after a write has completed or failed.
func (p *Peer) EndWrite() { p.Writes-- }

// BeginBare counts a write that was posted without a number, so that messages may overtake it.
func (p *Peer) BeginBare() { p.Bare++ }

// EndBare counts one write without a number less in flight, after it has completed or failed.
func (p *Peer) EndBare() { p.Bare-- }

// CountUnconfirmed counts n written bytes whose arrival no completion confirms, only a later reply
// of the PE.
func (p *Peer) CountUnconfirmed(n uint64) { p.Wrote += n }

// SetStream sets the state of the sequence stream, the series of numbers of writes to the PE.
func (p *Peer) SetStream(state uint32) { p.Stream = state }

// The queue: Queued operations wait to be posted, in order, from token First to token Last. Listed
// says that the sender's list of queues has the PE.

// Enqueue puts the operation of a token at the end of the PE's queue. It reports whether the caller
// has to add the PE to the sender's list of queues.
func (p *Peer) Enqueue(token uint32) (list bool) {
	if p.Queued++; p.Queued == 1 {
		p.First = token
		list, p.Listed = !p.Listed, true
	}
	p.Last = token
	return list
}

// Dequeue removes the first operation of the queue. next is the token of the operation after it.
func (p *Peer) Dequeue(next uint32) {
	p.First = next
	p.Queued--
}

// DropQueue empties the queue of a lost PE.
func (p *Peer) DropQueue() { p.Queued = 0 }

// Unlist records that the list of queues has dropped the PE.
func (p *Peer) Unlist() { p.Listed = false }

// The batch: Batch is the last message of the queue while it may grow, or nil. It has BatchUsed
// bytes of one epoch.

// OpenBatch begins an empty batch, a message that small operations of an epoch share. The caller
// has filled the header at message.
func (p *Peer) OpenBatch(message unsafe.Pointer, epoch uint64) {
	p.Batch, p.BatchUsed, p.BatchEpoch = message, HeaderSize, epoch
}

// GrowBatch counts n more bytes in the batch of the PE, a message that small operations share.
func (p *Peer) GrowBatch(n uint32) { p.BatchUsed += n }

// CloseBatch closes the batch of the PE: no more operations join it.
func (p *Peer) CloseBatch() { p.Batch = nil }

// Messages from the PE: Received is the sequence number of the last one that was applied. Early is
// how many later ones have arrived and wait for a missing one. Edge is how many of the PE's
// numbered writes have arrived without a gap.

// Receive increments Received: the message with the next sequence number is applied.
func (p *Peer) Receive() { p.Received++ }

// AddEarly counts a message of the PE that has arrived and waits for an earlier one.
func (p *Peer) AddEarly() { p.Early++ }

// RemoveEarly decrements the number of waiting messages: the earlier ones have been applied.
func (p *Peer) RemoveEarly() { p.Early-- }

// Arrive records that all of the PE's numbered writes below edge have arrived.
func (p *Peer) Arrive(edge uint32) { p.Edge = edge }

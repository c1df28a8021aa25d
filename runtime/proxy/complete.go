package proxy

import (
	"fmt"
	"unsafe"

	"libshmem/fabric"
)

// Poll makes progress and handles what completed. It returns the number of
// completions, and one more while a copy of the GPU's is under way, which ends
// without one.
func (e *Engine) Poll() (int, error) {
	n, err := e.prov.Poll(e.comps[:])
	if err != nil {
		return n, err
	}
	e.Complete(e.comps[:n])
	return n + int(e.Busy&busyCopies), nil
}

// Complete handles completions that a caller in C took from the queue, in
// their order.
func (e *Engine) Complete(comps []fabric.Completion) {
	if e.stage != nil {
		e.stage.flushed = false
	}
	for i := range comps {
		e.complete(&comps[i])
	}
	e.retry()
	e.settle()
	if len(comps) > 0 {
		e.wakeSleepers()
	}
}

// retry does what found no room before.
func (e *Engine) retry() {
	if e.NUnposted > 0 {
		e.postReceives()
	}
	if e.staged() {
		e.advance()
	}
	if e.Stuck == 0 {
		return
	}
	e.unpark()
	e.coverLate()
	e.driveAll()
	if len(e.parked)+len(e.late) == 0 && !e.jammed {
		e.Stuck = 0
	}
}

// stuck tells whether something still finds none.
func (e *Engine) stuck() bool {
	return int(e.NUnposted)+len(e.parked)+len(e.late) > 0 || e.jammed || e.stage != nil && e.stage.waits
}

func (e *Engine) complete(c *fabric.Completion) {
	if c.Kind == fabric.KindData && c.Err == 0 {
		e.arrived(c)
		return
	}
	if c.Token >= tokens {
		e.notInFlight(c.Token)
		return
	}
	if c.Err != 0 {
		e.completeError(c)
		return
	}
	if c.Token < receives {
		e.receive(e.buffer(c.Token), int(c.Len))
		if err := e.postReceive(c.Token); err != nil {
			e.fatal(err)
		}
		return
	}
	s := &e.slots[c.Token]
	if s.ended && e.tookEnded(c.Token) {
		return
	}
	switch s.use {
	case useSend:
	case useWrite:
		e.wrote(s)
		p := &e.peers[s.pe]
		var status int32
		if s.registered {
			status = e.dropRegion(s, false)
		}
		if s.then {
			e.own(s.pe, s.epoch, s.lane, &s.after)
		} else if s.flush {
			p.ask(1, s.epoch)
			e.account(s.pe, s.lane)
		}
		if s.request != nil {
			e.finish(s.request, status, 0)
		}
		e.give(c.Token)
		e.drive(s.pe)
		return
	case useRead:
		var status int32
		if s.registered {
			status = e.dropRegion(s, true)
		}
		if s.flush {
			e.settleWrites()
		}
		if s.request != nil {
			e.finish(s.request, status, 0)
		} else {
			e.pending[s.lane]--
		}
	case usePull:
		e.landed(c.Token, 0)
	default:
		e.notInFlight(c.Token)
		return
	}
	e.give(c.Token)
}

// completeError ends the operation that failed: its caller gets the status,
// and a non-blocking one fails the next quiet. A message that does not arrive
// is the end: its answer never comes, or on an unordered fabric the turn of
// those after it.
func (e *Engine) completeError(c *fabric.Completion) {
	text := e.prov.ErrorText(c)
	if c.Token < receives && c.Err == truncated {
		e.refuse("message of more than %d bytes", messageSize)
		if err := e.postReceive(c.Token); err != nil {
			e.fatal(err)
		}
		return
	}
	if c.Token < receives {
		e.receiveFailed(c, text)
		return
	}
	s := &e.slots[c.Token]
	if s.ended && e.tookEnded(c.Token) {
		return
	}
	err := fmt.Errorf("PE %d: %s: %s", s.pe, s.use, text)
	switch s.use {
	case usePull:
		e.landed(c.Token, c.Err) // which tells the PE that offered it, or ends the get
		e.give(c.Token)
		return
	case useSend:
		e.unreachable(s.pe, err)
	case useWrite:
		e.wrote(s)
		if s.number != noNumber {
			e.void(s)
		}
	case useRead:
		if s.request == nil {
			e.pending[s.lane]--
		}
	default:
		e.notInFlight(c.Token)
		return
	}
	if s.registered {
		e.dropRegion(s, false)
	}
	switch {
	case s.use == useSend: // no caller waits for a message
	case s.request != nil:
		e.err = err
		e.finish(s.request, c.Err, 0)
	default:
		e.lose(s.lane, err)
	}
	e.give(c.Token)
	e.drive(s.pe)
}

// wrote counts a write off that is complete, or failed.
func (e *Engine) wrote(s *slot) {
	e.pending[s.lane]--
	p := &e.peers[s.pe]
	p.writes--
	if e.unordered && s.number == noNumber {
		p.bare--
	}
}

func (e *Engine) notInFlight(t fabric.Token) {
	e.fatal(fmt.Errorf("completion of token %d, which is not in flight", t))
}

func (u use) String() string {
	return [...]string{"idle", "send", "write", "read", "atomic", "put", "put", "get", "read", "send", "write"}[u]
}

// furthest bounds how many messages of one PE may come before their turn: more
// than any provider has under way between two endpoints.
const furthest = 1 << 16

// receive applies a message, or keeps it until those before it have come.
func (e *Engine) receive(m unsafe.Pointer, n int) {
	if n < headerSize || n > messageSize {
		e.refuse("message of %d bytes", n)
		return
	}
	h := (*header)(m)
	if h.Job != e.Job {
		e.refuse("message with the token of another job")
		return
	}
	if h.From < uint32(len(e.peers)) && e.isLost(fabric.PE(h.From)) {
		return
	}
	if h.From >= uint32(len(e.peers)) || !e.routed(&e.peers[h.From], fabric.PE(h.From)) {
		e.refuse("message from PE %d, which is none of this job", h.From)
		return
	}
	p := &e.peers[h.From]
	if due := p.received + 1; h.Seq != due || p.early > 0 {
		if _, twice := e.early[earlyKey(h.From, h.Seq)]; twice || int32(h.Seq-due) < 0 {
			if !e.caps.Repeats { // else its sender lost a NIC and could not know that it had come
				e.refuse("message %d of PE %d, which has come before", h.Seq, h.From)
			}
			return
		}
		if h.Seq-due >= furthest {
			e.fatal(fmt.Errorf("receive: message %d of PE %d came when %d was due: provider %s lost messages "+
				"(name another by SHMEM_PROVIDER)", h.Seq, h.From, due, e.caps.Provider))
			return
		}
	}
	p.count[Received]++
	p.count[ReceivedBytes] += uint64(n)
	e.acknowledged(h, p)
	if h.Kind == kindVoid {
		e.voided(h)
	}
	if h.Seq == p.received+1 && e.reached(h, p) {
		e.applyNext(h, p, unsafe.Add(m, headerSize), n-headerSize)
		e.applyEarly(h.From, p)
	} else {
		if int32(h.Need-p.edge) > 0 {
			p.count[Held]++
		}
		e.early[earlyKey(h.From, h.Seq)] = e.copyOf(m, n)
		p.early++
		p.count[Early]++
	}
	e.drive(fabric.PE(h.From))
}

// applyNext applies the message whose turn it is.
func (e *Engine) applyNext(h *header, p *peer, payload unsafe.Pointer, n int) {
	p.received++
	if !e.isDropped(h) {
		e.apply(h, payload, n)
	}
}

// copyOf is a message that has to be kept. Most are headers, and few are kept for
// long, so their memory is used again.
func (e *Engine) copyOf(m unsafe.Pointer, n int) []byte {
	class := 0
	if n > smallCopy {
		class = 1
	}
	spare := &e.spareKept[class]
	var b []byte
	if last := len(*spare) - 1; last >= 0 {
		b, *spare = (*spare)[last], (*spare)[:last]
	} else {
		b = make([]byte, []int{smallCopy, messageSize}[class])
	}
	copy(b[:n], unsafe.Slice((*byte)(m), n))
	return b[:n]
}

// reuse takes one back.
func (e *Engine) reuse(b []byte) {
	class := 0
	if cap(b) > smallCopy {
		class = 1
	}
	if spare := &e.spareKept[class]; len(*spare) < spareCopies {
		*spare = append(*spare, b)
	}
}

const (
	smallCopy   = 128
	spareCopies = 128 // of each size: half a megabyte
)

func earlyKey(from, seq uint32) uint64 { return uint64(from)<<32 | uint64(seq) }

// applyEarly applies the kept messages whose turn has come.
func (e *Engine) applyEarly(from uint32, p *peer) {
	for p.early > 0 {
		key := earlyKey(from, p.received+1)
		kept, ok := e.early[key]
		if !ok {
			return
		}
		m := unsafe.Pointer(unsafe.SliceData(kept))
		if !e.reached((*header)(m), p) {
			return
		}
		delete(e.early, key)
		p.early--
		e.applyNext((*header)(m), p, unsafe.Add(m, headerSize), len(kept)-headerSize)
		e.reuse(kept)
	}
}

// apply does what a message asks for, or has it wait for bytes that were offered
// before.
func (e *Engine) apply(h *header, payload unsafe.Pointer, n int) {
	if e.stages(h) {
		e.applyStaged(h, payload, n)
	} else {
		e.applyHost(h, payload, n)
	}
}

// applyHost does it now, in main memory. What does not fit leaves the memory as
// it is.
func (e *Engine) applyHost(h *header, payload unsafe.Pointer, n int) {
	switch h.Kind {
	case kindAMO:
		if at := e.word(h, h.Offset, h.Width); at != nil {
			old := applyOp(h.Op, at, h.Width, h.Operand, h.Extra)
			if h.Fetch != 0 {
				e.answer(h, old)
			}
		}
	case kindStore:
		if w := h.Width; w == 0 || w > 8 || w&(w-1) != 0 {
			e.malformed(h)
		} else if at := e.target(h, h.Offset, uint64(w)); at != nil {
			store(at, w, h.Operand)
		}
	case kindPut:
		if at := e.target(h, h.Offset, uint64(n)); at != nil {
			copyBytes(at, payload, n)
		}
	case kindPutSignal:
		signal := e.word(h, int64(h.Extra), 8)
		if signal == nil {
			return
		}
		if at := e.target(h, h.Offset, uint64(n)); at != nil {
			copyBytes(at, payload, n)
			applyOp(h.Op, signal, 8, h.Operand, 0)
		}
	case kindFlush:
		e.answer(h, 0)
	case kindReply:
		e.answered(h)
	case kindOffer:
		e.takeOffer(h, payload, n)
	case kindTaken:
		e.taken(h)
	case kindFetch:
		e.takeFetch(h)
	case kindData:
		e.takeData(h, payload, n)
	case kindPing:
	case kindExtent:
		e.takeExtent(h)
	case kindVoid:
	case kindBatch:
		e.applyBatch(h, payload, n)
	case kindStream:
		e.giveStream(h)
	case kindStreamed:
		e.takeStream(h)
	default:
		e.malformed(h)
	}
}

// target returns n bytes at an offset, or nil when they are not in this PE's
// heap. The sender checked against its own heap, so the two differ: a job of
// mixed settings.
func (e *Engine) target(h *header, offset int64, n uint64) unsafe.Pointer {
	at, ok := e.segment.at(offset, n)
	if !ok {
		e.fatal(fmt.Errorf("receive: PE %d sent a message of kind %d for %d bytes at heap offset %#x, outside this PE's heap of %#x bytes "+
			"(set the same SHMEM_SYMMETRIC_SIZE on every PE)", h.From, h.Kind, n, offset, e.segment.Size-e.segment.Internal))
		return nil
	}
	return at
}

// word returns what the message's atomic operation changes, or nil.
func (e *Engine) word(h *header, offset int64, width uint8) unsafe.Pointer {
	if width != 4 && width != 8 || h.Op < OpSet || h.Op > OpFetchXor {
		e.malformed(h)
		return nil
	}
	at := e.target(h, offset, uint64(width))
	if uintptr(at)%uintptr(width) != 0 {
		e.fatal(fmt.Errorf("receive: PE %d sent an atomic operation on %d bytes at heap offset %#x, which is not aligned "+
			"(align the object to its size)", h.From, width, offset))
		return nil
	}
	return at
}

// malformed reports a message that no engine of this version sends.
func (e *Engine) malformed(h *header) {
	e.fatal(fmt.Errorf("receive: PE %d sent a message of kind %d, operation %d, width %d, which is not one of this job",
		h.From, h.Kind, h.Op, h.Width))
}

func applyOp(op Op, at unsafe.Pointer, width uint8, operand, compare uint64) uint64 {
	if width == 4 {
		return uint64(apply32(op, at, uint32(operand), uint32(compare)))
	}
	return apply64(op, at, operand, compare)
}

func (e *Engine) answer(h *header, value uint64) {
	e.own(fabric.PE(h.From), e.Epoch, noLane, &header{Kind: kindReply, Token: h.Token, Operand: value})
}

// answered completes the request that an answer names.
func (e *Engine) answered(h *header) {
	t := fabric.Token(h.Token & 0xffff)
	if t == flushToken {
		e.flushed(h)
		return
	}
	if t >= tokens || e.question(t) != h.Token || uint32(e.slots[t].pe) != h.From {
		e.unasked(h)
		return
	}
	s := &e.slots[t]
	switch {
	case s.use != useReply:
		e.unasked(h)
		return
	case s.request != nil:
		e.finish(s.request, 0, h.Operand)
	default:
		if s.width == 4 {
			*(*uint32)(s.fetch) = uint32(h.Operand)
		} else {
			*(*uint64)(s.fetch) = h.Operand
		}
		e.pending[s.lane]--
	}
	e.give(t)
}

func (e *Engine) unasked(h *header) {
	e.fatal(fmt.Errorf("receive: PE %d answered request %#x, which was not asked", h.From, h.Token))
}

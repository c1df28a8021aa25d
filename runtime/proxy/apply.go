package proxy

import (
	"fmt"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/ops"
	"libshmem/runtime/proxy/quiet"
)

// apply does what a message asks for, or makes it wait for bytes that were announced before.
func (e *Engine) apply(h *layout.Header, payload unsafe.Pointer, n int) {
	if e.gpu == nil || !e.gpu.Apply(h, payload, n) {
		e.applyHost(h, payload, n)
	}
}

// applyHost does it now, in main memory. A message that does not fit leaves the memory as it is.
func (e *Engine) applyHost(h *layout.Header, payload unsafe.Pointer, n int) {
	switch h.Kind {
	case layout.KindAMO, layout.KindStore, layout.KindPut, layout.KindPutSignal:
		e.change(h, payload, n)
	case layout.KindFlush:
		e.answer(h, 0)
	case layout.KindReply:
		e.answered(h)
	case layout.KindPing:
	case layout.KindVoid:
	case layout.KindBatch:
		e.applyBatch(h, payload, n)
	case layout.KindAsk:
		e.tellDoing(fabric.PE(h.From))
	case layout.KindTold:
		e.hearDoing(h, payload, n)
	case layout.KindSequence:
		e.giveSequence(h)
	case layout.KindSequenced:
		if !e.rma.Numbers.Given(&e.Peers[h.From], h.Operand) {
			e.malformed(h)
		}
	default:
		e.malformed(h)
	}
}

// change is applyHost for messages that change memory; false: the message was refused.
func (e *Engine) change(h *layout.Header, payload unsafe.Pointer, n int) bool {
	switch h.Kind {
	case layout.KindAMO:
		at := e.word(h, h.Offset, h.Width)
		if at == nil {
			return false
		}
		old := mem.Apply(h.Op, at, h.Width, h.Operand, h.Extra)
		if h.Fetch != 0 {
			e.answer(h, old)
		}
	case layout.KindStore:
		w := h.Width
		if w == 0 || w > 8 || w&(w-1) != 0 {
			e.malformed(h)
			return false
		}
		at := e.target(h, h.Offset, uint64(w))
		if at == nil {
			return false
		}
		mem.Store(at, w, h.Operand)
	case layout.KindPut:
		at := e.target(h, h.Offset, uint64(n))
		if at == nil {
			return false
		}
		mem.Copy(at, payload, n)
	case layout.KindPutSignal:
		signal := e.word(h, int64(h.Extra), 8)
		if signal == nil {
			return false
		}
		at := e.target(h, h.Offset, uint64(n))
		if at == nil {
			return false
		}
		mem.Copy(at, payload, n)
		mem.Apply(h.Op, signal, 8, h.Operand, 0)
	}
	return true
}

// target returns n bytes at an offset, or nil if they are not in this PE's heap. The sender has
// checked the offset against its own heap, so the two heaps differ: the job has mixed settings.
func (e *Engine) target(h *layout.Header, offset int64, n uint64) unsafe.Pointer {
	at, ok := e.Net.Segment.At(offset, n)
	if !ok {
		e.Net.Fatal(fmt.Errorf("receive: PE %d sent a message of kind %d for %d bytes at heap offset %#x, outside this PE's heap of %#x bytes "+
			"(set the same SHMEM_SYMMETRIC_SIZE on every PE)", h.From, h.Kind, n, offset, e.Net.Segment.Size-e.Net.Segment.Internal))
		return nil
	}
	return at
}

// word returns the word that the message's atomic operation changes, or nil.
func (e *Engine) word(h *layout.Header, offset int64, width uint8) unsafe.Pointer {
	if width != 4 && width != 8 || h.Op < OpSet || h.Op > OpFetchXor {
		e.malformed(h)
		return nil
	}
	at := e.target(h, offset, uint64(width))
	if uintptr(at)%uintptr(width) != 0 {
		e.Net.Fatal(fmt.Errorf("receive: PE %d sent an atomic operation on %d bytes at heap offset %#x, which is not aligned "+
			"(align the object to its size)", h.From, width, offset))
		return nil
	}
	return at
}

// malformed reports a message that no engine of this version sends.
func (e *Engine) malformed(h *layout.Header) {
	e.Net.Fatal(fmt.Errorf("receive: PE %d sent a message of kind %d, operation %d, width %d, which is not one of this job",
		h.From, h.Kind, h.Op, h.Width))
}

func (e *Engine) answer(h *layout.Header, value uint64) {
	e.own(fabric.PE(h.From), e.Epoch, quiet.NoParity, &layout.Header{Kind: layout.KindReply, Token: h.Token, Operand: value})
}

// answered completes the request that an answer names.
func (e *Engine) answered(h *layout.Header) {
	t := fabric.Token(h.Token & 0xffff)
	if t == layout.FlushToken {
		e.flushed(h)
		return
	}
	if t >= tokens || e.Table.Question(t) != h.Token {
		e.unasked(h)
		return
	}
	s := &e.Table.Records[t]
	switch {
	case s.Use != ops.UseReply || uint32(s.PE) != h.From || uint32(s.Stream) != e.Number:
		e.unasked(h)
		return
	case s.Request != nil:
		e.Tell(s.Request, 0, h.Operand)
	default:
		if s.Width == 4 {
			*(*uint32)(s.Fetch) = uint32(h.Operand)
		} else {
			*(*uint64)(s.Fetch) = h.Operand
		}
		e.Quiets.Pending[s.Lane]--
	}
	e.Give(t)
}

func (e *Engine) unasked(h *layout.Header) {
	e.Net.Fatal(fmt.Errorf("receive: PE %d answered request %#x, which was not asked", h.From, h.Token))
}

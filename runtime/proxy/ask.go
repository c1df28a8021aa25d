package proxy

import (
	"fmt"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/quiet"
)

// Ask asks a PE what its program does. The PE's proxy answers. If there is no room, Ask sends
// nothing.
func (e *Engine) Ask(pe fabric.PE) {
	if p := &e.Peers[pe]; e.routed(p, pe) && !e.Net.IsLost(pe) {
		e.seen(pe, p, layout.KindAsk)
	}
}

// tellDoing answers Ask. If there is no room, it sends nothing: the PE asks again with its next
// report.
func (e *Engine) tellDoing(pe fabric.PE) {
	text := []byte(e.Report.Doing())
	if n := min(len(text), maxPayload); n > 0 {
		e.sendBytes(pe, e.Epoch, quiet.NoParity, &layout.Header{Kind: layout.KindTold}, unsafe.Pointer(&text[0]), n)
	}
}

func (e *Engine) hearDoing(h *layout.Header, payload unsafe.Pointer, n int) {
	e.Report.HearDoing(fabric.PE(h.From), string(unsafe.Slice((*byte)(payload), n)))
}

// Ping sends a PE a message without a meaning, so that the network notices if the PE is gone. It
// returns Done also for a PE that this one has never talked to. Again may mean that the PE is gone:
// some providers try to connect for ever.
func (e *Engine) Ping(pe fabric.PE) Status {
	p := &e.Peers[pe]
	if !e.Net.Reachable(pe) || p.Sent == 0 && p.Received == 0 {
		return Done
	}
	return e.ping(pe, p)
}

func (e *Engine) ping(pe fabric.PE, p *layout.Peer) Status { return e.seen(pe, p, layout.KindPing) }

// seen sends a message without payload and does not inject it: an injected message has no
// completion, and so reports no error.
func (e *Engine) seen(pe fabric.PE, p *layout.Peer, k layout.Kind) Status {
	if e.parkedAhead(p) {
		return Again
	}
	op := &e.sending
	op.To, op.Len, op.Inject, op.Fence = pe, layout.HeaderSize, false, false
	h := e.draftBuffer(p)
	if h == nil {
		return Again
	}
	*h = layout.Header{Kind: k}
	st := e.send(h, nil, 0, false)
	if st == Failed {
		e.unreachable(pe, fmt.Errorf("PE %d: send: %w", pe, e.Net.Err))
	}
	return st
}

package proxy

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// Probe asks a PE whether it is there, for Standing. Its proxy answers, whatever the
// program does.
func (e *Engine) Probe(pe fabric.PE) {
	p := &e.peers[pe]
	if !e.routed(p, pe) || e.flush(pe) != Pending {
		return // no room: there is something else to say of it
	}
	if e.probed == nil {
		e.probed = map[fabric.PE]time.Time{}
	}
	e.probed[pe] = time.Now()
}

// OnAsked has says answer what this PE's program does, as the end of a sentence, when another PE
// asks, and hears take such an answer of a PE. Both are called with the lock held, and take no
// lock of an engine. It comes before Connect.
func (e *Engine) OnAsked(says func() string, hears func(pe fabric.PE, doing string)) {
	e.says, e.hears = says, hears
}

// Ask asks a PE what its program does. The PE's proxy answers. A question that finds no room is
// not asked.
func (e *Engine) Ask(pe fabric.PE) {
	if p := &e.peers[pe]; e.routed(p, pe) && !e.isLost(pe) {
		e.seen(pe, p, layout.KindAsk)
	}
}

// tellDoing answers Ask. An answer that finds no room is not sent: the PE asks again when it
// reports the next time.
func (e *Engine) tellDoing(pe fabric.PE) {
	if e.says == nil {
		return
	}
	text := []byte(e.says())
	if n := min(len(text), maxPayload); n > 0 {
		e.sendBytes(pe, e.Epoch, noLane, &layout.Header{Kind: layout.KindTold}, unsafe.Pointer(&text[0]), n)
	}
}

func (e *Engine) hearDoing(h *layout.Header, payload unsafe.Pointer, n int) {
	if e.hears != nil {
		e.hears(fabric.PE(h.From), string(unsafe.Slice((*byte)(payload), n)))
	}
}

// Ping sends a PE a message that means nothing: the network finds out whether
// anybody is there. Done also where this PE has never talked to it; Again may mean
// that nobody is, where a provider goes on to connect.
func (e *Engine) Ping(pe fabric.PE) Status {
	p := &e.peers[pe]
	if !e.has(pe) || p.Sent == 0 && p.Received == 0 {
		return Done
	}
	return e.ping(pe, p)
}

func (e *Engine) ping(pe fabric.PE, p *layout.Peer) Status { return e.seen(pe, p, layout.KindPing) }

// seen sends a message without payload that is not injected: what is injected leaves no completion,
// and so no error.
func (e *Engine) seen(pe fabric.PE, p *layout.Peer, k layout.Kind) Status {
	if e.held(p) {
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
		e.unreachable(pe, fmt.Errorf("PE %d: send: %w", pe, e.err))
	}
	return st
}

// Socket is the address of a PE where the fabric's is that of an IP socket.
func (e *Engine) Socket(pe fabric.PE) (at netip.AddrPort, ok bool) { return socketOf(e.addrs[pe]) }

// NameProvider has reports name the provider so. It is called before a loop runs.
func (e *Engine) NameProvider(name string) { e.named = name }

// answerTime is what a PE may take to answer before that is remarkable.
const answerTime = 40 * time.Millisecond

// Standing is how far the engine is with a PE, for people; "" where that is not
// remarkable and nobody asked.
func (e *Engine) Standing(pe fabric.PE, asked bool) string {
	p := &e.peers[pe]
	var what []string
	if since, ok := e.probed[pe]; ok && p.Flushing && time.Since(since) > answerTime {
		what = append(what, fmt.Sprintf("has not answered for %.1f s", time.Since(since).Seconds()))
	}
	var tokens, bytes uint64
	e.all(func(s *Engine) {
		tokens, bytes = tokens+uint64(s.peers[pe].Tokens), bytes+s.peers[pe].Bytes
	})
	if tokens > 0 || asked {
		what = append(what, fmt.Sprintf("has %d operations of %d bytes under way", tokens, bytes))
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %d messages posted and %d received, %d of %d units completed, at %s over %s on %s", strings.Join(what, ", "),
		p.Sent, p.Received, p.Acked, p.Asked, addressText(e.addrs[pe]), cmp.Or(e.named, e.caps.Provider), e.caps.Domain)
}

// addressText is a fabric address for people: as a socket's where it is one.
func addressText(a []byte) string {
	if at, ok := socketOf(a); ok {
		return at.String()
	}
	return fmt.Sprintf("%x", a)
}

func socketOf(a []byte) (at netip.AddrPort, ok bool) {
	const inet, inet6 = 2, 10
	if len(a) < 16 {
		return at, false
	}
	port := binary.BigEndian.Uint16(a[2:])
	switch family := binary.NativeEndian.Uint16(a); {
	case family == inet && len(a) == 16:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(a[4:8])), port), true
	case family == inet6 && len(a) == 28:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(a[8:24])), port), true
	}
	return at, false
}

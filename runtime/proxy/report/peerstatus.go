package report

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"libshmem"
	"libshmem/runtime/proxy/layout"
)

// Probe asks a PE for a sign of life, for PeerStatus. The PE's proxy answers, whatever its program
// does.
func (e *Endpoint) Probe(pe libshmem.PE) {
	if !e.engine.AskProgress(pe) {
		return // no room: PeerStatus has other things to say of the PE
	}
	if e.probed == nil {
		e.probed = map[libshmem.PE]time.Time{}
	}
	e.probed[pe] = time.Now()
}

// Socket returns the address of a PE if its fabric address is that of an IP socket.
func (e *Endpoint) Socket(pe libshmem.PE) (at netip.AddrPort, ok bool) {
	return socketOf(e.engine.Address(pe))
}

// AddressText returns the fabric address of a PE for people.
func (e *Endpoint) AddressText(pe libshmem.PE) string { return addressText(e.engine.Address(pe)) }

// NameProvider sets the name that reports give the provider. It is called before a loop runs.
func (e *Endpoint) NameProvider(name string) { e.named = name }

// answerTime is the longest time to an answer that PeerStatus leaves out.
const answerTime = 40 * time.Millisecond

// PeerStatus describes the state of the engine's work with a PE, as the end of a sentence. It is ""
// if nothing is remarkable and the caller did not ask about this PE.
func (e *Endpoint) PeerStatus(pe libshmem.PE, asked bool) string {
	p := &e.peers[pe]
	var what []string
	if since, ok := e.probed[pe]; ok && p.Flushing && time.Since(since) > answerTime {
		what = append(what, fmt.Sprintf("has not answered for %.1f s", time.Since(since).Seconds()))
	}
	var tokens, bytes uint64
	e.engine.EachContext(func(peers []layout.Peer) {
		tokens, bytes = tokens+uint64(peers[pe].Tokens), bytes+peers[pe].Bytes
	})
	if tokens > 0 || asked {
		what = append(what, fmt.Sprintf("has %d operations of %d bytes under way", tokens, bytes))
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %d messages posted and %d received, %d of %d units completed, at %s over %s on %s", strings.Join(what, ", "),
		p.Sent, p.Received, p.Acked, p.Asked, addressText(e.engine.Address(pe)), cmp.Or(e.named, e.caps.Provider), e.caps.Domain)
}

// addressText formats a fabric address for people: an IP socket as such, any other in hexadecimal.
func addressText(a []byte) string {
	if at, ok := socketOf(a); ok {
		return at.String()
	}
	return fmt.Sprintf("%x", a)
}

func socketOf(a []byte) (at netip.AddrPort, ok bool) {
	const inet, inet6, id = 2, 10, 16 // the ID of an endpoint may follow, see fabric/ofi/connected.go
	if len(a) < 16 {
		return at, false
	}
	port := binary.BigEndian.Uint16(a[2:])
	switch family := binary.NativeEndian.Uint16(a); {
	case family == inet && (len(a) == 16 || len(a) == 16+id):
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(a[4:8])), port), true
	case family == inet6 && (len(a) == 28 || len(a) == 28+id):
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(a[8:24])), port), true
	}
	return at, false
}

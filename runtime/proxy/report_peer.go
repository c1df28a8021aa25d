package proxy

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

// Probe sends a PE a flush, so that PeerStatus can say for how long the PE has not replied. The
// PE's proxy replies, whatever its program does.
func (e *Report) Probe(pe libshmem.PE) {
	if !e.engine.requestProgress(pe) {
		if e.full == nil {
			e.full = map[libshmem.PE]uint32{}
		}
		e.full[pe] = e.peers[pe].Sent
		return
	}
	delete(e.full, pe)
	flush := e.peers[pe].FlushID()
	if before, ok := e.probed[pe]; ok && before.flush == flush {
		return // an earlier Probe has sent or found this flush
	}
	if e.probed == nil {
		e.probed = map[libshmem.PE]probe{}
	}
	e.probed[pe] = probe{flush: flush, at: time.Now()}
}

// probe is the flush of a PE that a Probe has sent or, if one was under way, found.
type probe struct {
	flush uint32    // what the reply carries, see layout.Peer.FlushID
	at    time.Time // the time of the first Probe that sent or found it
}

// Socket returns the address of a PE if its fabric address is that of an IP socket.
func (e *Report) Socket(pe libshmem.PE) (at netip.AddrPort, ok bool) {
	return socketOf(e.engine.address(pe))
}

// AddressText returns the fabric address of a PE as text, for messages.
func (e *Report) AddressText(pe libshmem.PE) string { return addressText(e.engine.address(pe)) }

// NameProvider sets the name of the provider in reports. NameProvider must be called before a loop
// runs.
func (e *Report) NameProvider(name string) { e.named = name }

// replyTime is the time that a reply may take before PeerStatus says that the PE has not replied.
const replyTime = 40 * time.Millisecond

// silence returns for how long at least a PE has owed the reply to the flush of the last Probe. It
// returns false if the PE has replied, if at most replyTime has passed, or if no Probe has been
// posted. A flush that a quiet has sent since then does not count, because its age is not known.
func (e *Report) silence(pe libshmem.PE) (time.Duration, bool) {
	last, ok := e.probed[pe]
	p := &e.peers[pe]
	d := time.Since(last.at)
	return d, ok && p.Flushing && p.FlushID() == last.flush && d > replyTime
}

// noRoom reports whether the last Probe of a PE could not be posted, no message to the PE has been
// sent since, and the provider still accepts none. Most providers accept no message to a PE before
// they have connected to it.
func (e *Report) noRoom(pe libshmem.PE) bool {
	if sent, tried := e.full[pe]; !tried || sent != e.peers[pe].Sent {
		return false
	}
	e.Probe(pe)
	_, still := e.full[pe]
	return still
}

// Silent reports whether a PE has not replied to the last Probe, or the Probe could not be posted.
func (e *Report) Silent(pe libshmem.PE) bool {
	_, waits := e.silence(pe)
	return waits || e.noRoom(pe)
}

// PeerStatus describes the engine's work with a PE, as the end of a sentence. Unless always is set,
// it returns "" if the PE replies and no operation waits for it.
func (e *Report) PeerStatus(pe libshmem.PE, always bool) string {
	p := &e.peers[pe]
	var clauses []string
	if d, waits := e.silence(pe); waits {
		clauses = append(clauses, fmt.Sprintf("has not answered for %.1f s", d.Seconds()))
	}
	full := e.noRoom(pe)
	switch {
	case !full:
	case p.Sent == 0 && p.Received == 0:
		clauses = append(clauses, "was never reached (the provider has no room for a first message to it)")
	default:
		clauses = append(clauses, "cannot be asked (the provider has no room for a message to it)")
	}
	var tokens, bytes uint64
	e.engine.forEachPeerTable(func(peers []layout.Peer) {
		tokens, bytes = tokens+uint64(peers[pe].Tokens), bytes+peers[pe].Bytes
	})
	if tokens > 0 || always {
		clauses = append(clauses, fmt.Sprintf("has %d operations of %d bytes under way", tokens, bytes))
	}
	if len(clauses) == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %d messages posted and %d received, %d of %d units completed, at %s over %s on %s", strings.Join(clauses, ", "),
		p.Sent, p.Received, p.Acked, p.Charged, addressText(e.engine.address(pe)), cmp.Or(e.named, e.caps.Provider), e.caps.Domain)
}

// addressText formats a fabric address for messages: that of an IP socket as address and port, and
// any other in hexadecimal.
func addressText(a []byte) string {
	if at, ok := socketOf(a); ok {
		return at.String()
	}
	return fmt.Sprintf("%x", a)
}

// socketOf parses a fabric address that is that of an IP socket, a sockaddr_in or sockaddr_in6.
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

package pods

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// names is the name server of the cluster: it knows the addresses of the pods that have been
// published, and says of other names that they do not exist.
type names struct {
	mu      sync.Mutex
	known   map[string]netip.Addr
	unknown map[string]int // questions for names that it did not know
}

func newNames() *names {
	return &names{known: map[string]netip.Addr{}, unknown: map[string]int{}}
}

func (n *names) publish(name string, a netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known[name] = a
}

// refused returns the number of questions for a name whose answer was that it does not exist.
func (n *names) refused(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.unknown[name]
}

func (n *names) find(name string) (netip.Addr, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, ok := n.known[name]
	if !ok {
		n.unknown[name]++
	}
	return a, ok
}

// serve answers until the connection is closed.
func (n *names) serve(conn net.PacketConn) {
	b := make([]byte, 1500)
	for {
		size, from, err := conn.ReadFrom(b)
		if err != nil {
			return
		}
		if reply := n.answer(b[:size]); reply != nil {
			_, _ = conn.WriteTo(reply, from)
		}
	}
}

// answer returns the reply to a question (RFC 1035, section 4), or nil for what is none.
func (n *names) answer(question []byte) []byte {
	const (
		header   = 12
		nxdomain = 3
		typeA    = 1
	)
	if len(question) < header {
		return nil
	}
	var labels []string
	rest := question[header:]
	for len(rest) > 0 && rest[0] != 0 {
		size := int(rest[0])
		if size > 63 || size >= len(rest) {
			return nil
		}
		labels = append(labels, string(rest[1:1+size]))
		rest = rest[1+size:]
	}
	if len(rest) < 5 {
		return nil
	}
	asked := question[header : len(question)-len(rest)+5]
	address, ok := n.find(strings.ToLower(strings.Join(labels, ".")))
	answers, flags := 0, uint16(0x8580) // a reply of the authority, which also recurses
	switch {
	case !ok:
		flags |= nxdomain
	case binary.BigEndian.Uint16(rest[1:]) == typeA:
		answers = 1
	}
	reply := append([]byte(nil), question[:2]...)
	for _, count := range []uint16{flags, 1, uint16(answers), 0, 0} {
		reply = binary.BigEndian.AppendUint16(reply, count)
	}
	reply = append(reply, asked...)
	if answers > 0 {
		// The name by its place in the question, type A, class IN, for no time, 4 bytes.
		reply = append(reply, 0xc0, header, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4)
		reply = append(reply, address.AsSlice()...)
	}
	return reply
}

// TestNames asks the server as the pods' resolver does.
func TestNames(t *testing.T) {
	n := newNames()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go n.serve(conn)
	resolver := &net.Resolver{PreferGo: true, Dial: dialTo(conn.LocalAddr().String())}
	const name = "pod.svc.cluster.test"
	if a, err := resolver.LookupNetIP(t.Context(), "ip", name+"."); err == nil {
		t.Errorf("a name that is not published has %v", a)
	}
	want := netip.AddrFrom4([4]byte{198, 18, 0, 2})
	n.publish(name, want)
	if a, err := resolver.LookupNetIP(t.Context(), "ip4", name+"."); err != nil || len(a) != 1 || a[0] != want {
		t.Errorf("%v, %v, not %v", a, err, want)
	}
	if n.refused(name) == 0 {
		t.Error("the server has not counted the question for the unknown name")
	}
}

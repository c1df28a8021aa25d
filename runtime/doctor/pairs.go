package doctor

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/runtime/bootstrap"
)

// This file has the tests that hosts make with each other when the doctor looks for the causes of a
// bad network: large transfers and datagrams to each address, and look-ups of names.

// probe is what a host has found out about an address of another host.
type probe struct {
	Host, Address int    // the other host, and which of its addresses
	Silent        bool   // no reply to the TCP connection, not even a refusal
	Refused       string // why there is no connection; "": there is one
	Seen          string // this host's address, as the other host saw it
	Bulk          bool   // a large transfer has arrived in both directions
	Largest       int    // without Bulk: bytes of the largest IP packet that arrived; 0: not known
}

// arrival is the first datagram that a host has received from another host at one of its addresses.
type arrival struct {
	From, Address int    // the other host, and which address of the receiving host
	Interface     string // the interface on which it arrived
	Back          string // the interface by which the reply leaves
}

// lookup is the time that a host took to look up a name.
type lookup struct {
	Name string
	Took time.Duration
}

const (
	bulkBytes = 256 << 10   // the bytes that bulk sends over a connection, and gets back
	seenBytes = 64          // the bytes of the field with the caller's address
	slowName  = time.Second // a look-up of a name that takes this long is reported as slow
	smallest  = 576         // bytes of an IP packet that every host accepts (RFC 791)
)

// echo is the other side of bulk: after the listener has sent its token on the connection, it sends
// the address from which the caller has connected, reads a number and as many bytes, and sends as
// many bytes back.
func echo(c net.Conn) {
	host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	seen := make([]byte, seenBytes)
	copy(seen, host)
	if _, err := c.Write(seen); err != nil {
		return
	}
	var n uint32
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // longer than any caller waits
	if binary.Read(c, binary.BigEndian, &n) != nil || n > bulkBytes {
		return
	}
	if _, err := io.CopyN(io.Discard, c, int64(n)); err != nil {
		return
	}
	_, _ = c.Write(make([]byte, n))
}

// bulk sends and receives a large transfer on a connection whose token was read. It sets p.Seen,
// the address that the other host has seen, and p.Bulk, whether the transfer was complete: a wrong
// MTU stops only large packets.
func bulk(c net.Conn, p *probe, timeout time.Duration) {
	_ = c.SetDeadline(time.Now().Add(timeout))
	seen := make([]byte, seenBytes)
	if _, err := io.ReadFull(c, seen); err != nil {
		return
	}
	p.Seen = strings.TrimRight(string(seen), "\x00")
	if binary.Write(c, binary.BigEndian, uint32(bulkBytes)) != nil {
		return
	}
	if _, err := c.Write(make([]byte, bulkBytes)); err != nil {
		return
	}
	_, err := io.CopyN(io.Discard, c, bulkBytes)
	p.Bulk = err == nil
}

// A receiver receives the datagrams of other hosts at the addresses of this one.
type receiver struct {
	mu      sync.Mutex
	arrived []arrival
	open    []*net.UDPConn
}

// receive opens a socket for datagrams to the address a of this host, and stores the socket's port
// in a. A goroutine replies to each datagram with the datagram's size, and stores the first one of
// each host as an arrival at address number index.
func (r *receiver) receive(index int, a *Address) {
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(a.IP)})
	if err != nil {
		return // the address was added or removed this moment
	}
	raw, err := c.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1) // one of the two works, by the socket's family
		})
	}
	if err != nil {
		_ = c.Close()
		return
	}
	a.UDP = c.LocalAddr().(*net.UDPAddr).Port
	r.open = append(r.open, c)
	go func() {
		data, control := make([]byte, 64<<10), make([]byte, 256)
		for {
			n, k, _, from, err := c.ReadMsgUDP(data, control)
			if err != nil {
				return // close has closed the socket
			}
			host, ok := sender(data[:n], a.Token)
			if !ok {
				continue // a datagram of another program, without this host's token
			}
			r.mu.Lock()
			if in := arrivedOn(control[:k]); !slices.ContainsFunc(r.arrived, func(x arrival) bool { return x.From == host && x.Address == index }) {
				r.arrived = append(r.arrived, arrival{host, index, in, outInterface(from.IP)})
			}
			r.mu.Unlock()
			_, _ = c.WriteToUDP([]byte(strconv.Itoa(n)), from) // if it is lost, the caller sends again
		}
	}()
}

// sender returns the index of the host that has sent a datagram. A datagram consists of the token,
// that index and filling. sender returns false if the datagram does not begin with token.
func sender(data []byte, token string) (host int, ok bool) {
	rest, ok := strings.CutPrefix(string(data), token+" ")
	if !ok {
		return 0, false
	}
	number, _, _ := strings.Cut(rest, " ")
	host, err := strconv.Atoi(number)
	return host, err == nil
}

// close closes the sockets, which ends the receiver's goroutines.
func (r *receiver) close() {
	for _, c := range r.open {
		_ = c.Close()
	}
}

// arrivals returns the datagrams received so far.
func (r *receiver) arrivals() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.arrived)
}

// arrivedOn returns the interface on which a datagram arrived, from its control messages; "" if
// they do not name it.
func arrivedOn(control []byte) string {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return ""
	}
	for _, m := range messages {
		index := 0
		switch {
		case m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_PKTINFO && len(m.Data) >= 4:
			index = int(binary.NativeEndian.Uint32(m.Data))
		case m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_PKTINFO && len(m.Data) >= 20:
			index = int(binary.NativeEndian.Uint32(m.Data[16:])) // after the address
		}
		if i, err := net.InterfaceByIndex(index); index > 0 && err == nil {
			return i.Name
		}
	}
	return ""
}

// outInterface returns the interface by which packets to an address leave this host: the one with
// the source address that the kernel chooses for them.
func outInterface(to net.IP) string {
	// Connecting a UDP socket sends nothing, so any port will do; 9 is that of discard.
	c, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: to, Port: 9})
	if err != nil {
		return ""
	}
	defer c.Close()
	mine := c.LocalAddr().(*net.UDPAddr).IP.String()
	for _, a := range local() {
		if a.IP == mine {
			return a.Interface
		}
	}
	return ""
}

// sendDatagrams sends a datagram in an IP packet of n bytes to an address, three times at most, and
// reports whether a reply has arrived. The packet is larger than n if the token and me, the number
// of this host, need more. It waits at most `timeout` after each datagram.
func sendDatagrams(a Address, me, n int, timeout time.Duration) bool {
	c, err := net.Dial("udp", net.JoinHostPort(a.IP, strconv.Itoa(a.UDP)))
	if err != nil {
		return false
	}
	defer c.Close()
	header := 28 // bytes of the headers of IPv4 and UDP
	if raw, err := c.(*net.UDPConn).SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // no fragments, whatever MTU the kernel has for the path
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE)
		})
	}
	if strings.Contains(a.IP, ":") {
		header = 48 // of IPv6 and UDP
	}
	data := []byte(fmt.Sprintf("%s %d ", a.Token, me))
	for len(data) < n-header {
		data = append(data, '.')
	}
	for range 3 {
		if _, err := c.Write(data); err != nil {
			continue // for example too long for the interface
		}
		_ = c.SetReadDeadline(time.Now().Add(timeout))
		back := make([]byte, 16)
		if k, err := c.Read(back); err == nil && string(back[:k]) == strconv.Itoa(len(data)) {
			return true
		}
	}
	return false
}

// findLargest finds, by bisection and to 8 bytes, the size of the largest IP packet, up to limit
// bytes, that arrives at an address. It returns 0 if not even the smallest packet arrives, or if
// limit is no larger than that one.
func findLargest(a Address, me, limit int) int {
	const timeout = 150 * time.Millisecond // a size that does not arrive costs three of them
	if limit <= smallest || !sendDatagrams(a, me, smallest, timeout) {
		return 0
	}
	if sendDatagrams(a, me, limit, timeout) {
		return limit
	}
	low, high := smallest, limit+1
	for high-low > 8 {
		if middle := (low + high) / 2; sendDatagrams(a, me, middle, timeout) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// probeAll probes each address of the other hosts, at most maxDials at a time. me is the index of
// this host.
func probeAll(hosts []Host, me int, timeout time.Duration) []probe {
	var (
		mu   sync.Mutex
		all  []probe
		wait sync.WaitGroup
	)
	slots := make(chan struct{}, maxDials)
	for h := range hosts {
		for a, address := range hosts[h].Address {
			if h == me {
				continue
			}
			slots <- struct{}{}
			wait.Go(func() {
				defer func() { <-slots }()
				p := probeOne(address, me, timeout)
				p.Host, p.Address = h, a
				mu.Lock()
				defer mu.Unlock()
				all = append(all, p)
			})
		}
	}
	wait.Wait()
	return all
}

// probeOne tries datagrams, a connection and a large transfer to an address. If the large transfer
// fails, it finds the largest datagram that arrives.
func probeOne(a Address, me int, timeout time.Duration) (p probe) {
	sendDatagrams(a, me, 0, timeout/10) // the other host records whether this host's datagrams arrive
	c, err := dial(a, timeout)
	if err != nil {
		p.Silent, p.Refused = err == errSilent, err.Error()
		return p
	}
	defer c.Close()
	if bulk(c, &p, timeout); !p.Bulk {
		p.Largest = findLargest(a, me, a.MTU)
	}
	return p
}

// lookUpNames looks up the names of all hosts, including this one, and returns how long each took.
func lookUpNames(hosts []Host, timeout time.Duration) []lookup {
	var all []lookup
	for _, h := range hosts {
		began := time.Now()
		ctx, done := context.WithTimeout(context.Background(), timeout)
		_, _ = net.DefaultResolver.LookupHost(ctx, h.Name) // for a name that does not exist it returns at once
		done()
		all = append(all, lookup{h.Name, time.Since(began)})
	}
	return all
}

// exchange probes the other hosts if this PE is the first of its host, gathers what all hosts have
// found, and returns the findings about causes. All PEs call it. me is the number of this host, or
// -1 if this PE is not the first of its host. first has the first PE of each host, and r the
// datagrams that have reached this host.
func exchange(boot bootstrap.Bootstrap, hosts []Host, first []int, me int, r *receiver, timeout time.Duration) ([]Finding, error) {
	var tried []probe
	var lookups []lookup
	if me >= 0 {
		tried = probeAll(hosts, me, timeout)
		lookups = lookUpNames(hosts, timeout)
	}
	allTried, err := gather(boot, tried)
	if err != nil {
		return nil, err
	}
	// The allgather was a barrier: every host has sent its datagrams now.
	var arrived []arrival
	if me >= 0 {
		arrived = r.arrivals()
	}
	allArrived, err := gather(boot, arrived)
	if err != nil {
		return nil, err
	}
	allLookups, err := gather(boot, lookups)
	if err != nil {
		return nil, err
	}
	found := &pairs{hosts: hosts}
	for _, pe := range first {
		found.tried = append(found.tried, allTried[pe])
		found.arrived = append(found.arrived, allArrived[pe])
		found.names = append(found.names, allLookups[pe])
	}
	return found.causes(), nil
}

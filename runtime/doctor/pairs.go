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

// This file has what hosts try with each other when the doctor looks for the causes of a bad
// network: large transfers and datagrams to each address, and names.

// probe is what a host has found about an address of another one.
type probe struct {
	Host, Address int
	Silent        bool   // TCP had no answer, not even a refusal
	Refused       string // TCP had another answer than a connection
	Seen          string // the caller's address, as the other host saw it
	Bulk          bool   // a large transfer has arrived in both directions
	Largest       int    // where it has not: bytes of the largest IP packet that arrived; 0: not known
}

// arrival is a datagram that has come from another host.
type arrival struct {
	From, Address int    // the host, and the own address
	Interface     string // where it came in
	Back          string // where an answer leaves
}

// lookup is a name that a host has looked up.
type lookup struct {
	Name string
	Took time.Duration
}

const (
	bulkBytes = 256 << 10
	seenBytes = 64 // of the field with the caller's address
	slowName  = time.Second
	smallest  = 576 // bytes that every network passes
)

// answer is the other side of a connection, behind the token: it says whose it is, and takes and
// returns as many bytes as the caller says.
func answer(c net.Conn) {
	host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	seen := make([]byte, seenBytes)
	copy(seen, host)
	if _, err := c.Write(seen); err != nil {
		return
	}
	var n uint32
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // the caller gives up before
	if binary.Read(c, binary.BigEndian, &n) != nil || n > bulkBytes {
		return
	}
	if _, err := io.CopyN(io.Discard, c, int64(n)); err != nil {
		return
	}
	_, _ = c.Write(make([]byte, n))
}

// bulk sends and receives a large transfer. The token was read.
func bulk(c net.Conn, p *probe, patience time.Duration) {
	_ = c.SetDeadline(time.Now().Add(patience))
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

// A receiver takes datagrams at the addresses of a host.
type receiver struct {
	mu   sync.Mutex
	came []arrival
	open []*net.UDPConn
}

// receive opens a socket for the datagrams to an address, and notes its port.
func (r *receiver) receive(index int, a *Address) {
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(a.IP)})
	if err != nil {
		return // an address that came or went this moment
	}
	raw, err := c.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1) // of its own family one works
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
				return // closed
			}
			host, ok := sender(data[:n], a.Token)
			if !ok {
				continue // another program's
			}
			r.mu.Lock()
			if in := arrivedOn(control[:k]); !slices.ContainsFunc(r.came, func(x arrival) bool { return x.From == host && x.Address == index }) {
				r.came = append(r.came, arrival{host, index, in, leaves(from.IP)})
			}
			r.mu.Unlock()
			_, _ = c.WriteToUDP([]byte(strconv.Itoa(n)), from) // the caller tries again
		}
	}()
}

// sender reads a datagram: the token, the number of the host, and filling.
func sender(data []byte, token string) (host int, ok bool) {
	rest, ok := strings.CutPrefix(string(data), token+" ")
	if !ok {
		return 0, false
	}
	number, _, _ := strings.Cut(rest, " ")
	host, err := strconv.Atoi(number)
	return host, err == nil
}

func (r *receiver) close() {
	for _, c := range r.open {
		_ = c.Close()
	}
}

// arrivals are those so far.
func (r *receiver) arrivals() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.came)
}

// arrivedOn is the interface that the kernel names beside a datagram.
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
			index = int(binary.NativeEndian.Uint32(m.Data[16:]))
		}
		if i, err := net.InterfaceByIndex(index); index > 0 && err == nil {
			return i.Name
		}
	}
	return ""
}

// leaves is the interface by which packets to an address leave: that of the address that the kernel
// gives them.
func leaves(to net.IP) string {
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

// datagrams sends datagrams to an address, and reports whether one of n bytes of IP is answered. A
// lost one is sent again.
func datagrams(a Address, me, n int, each time.Duration) bool {
	c, err := net.Dial("udp", net.JoinHostPort(a.IP, strconv.Itoa(a.UDP)))
	if err != nil {
		return false
	}
	defer c.Close()
	header := 28
	if raw, err := c.(*net.UDPConn).SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // in one piece, whatever the kernel believes of the path
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE)
		})
	}
	if strings.Contains(a.IP, ":") {
		header = 48
	}
	data := []byte(fmt.Sprintf("%s %d ", a.Token, me))
	for len(data) < n-header {
		data = append(data, '.')
	}
	for range 3 {
		if _, err := c.Write(data); err != nil {
			continue // for example too long for the interface
		}
		_ = c.SetReadDeadline(time.Now().Add(each))
		back := make([]byte, 16)
		if k, err := c.Read(back); err == nil && string(back[:k]) == strconv.Itoa(len(data)) {
			return true
		}
	}
	return false
}

// largest is the largest packet of IP up to most bytes that arrives at an address.
func largest(a Address, me, most int) int {
	const each = 150 * time.Millisecond
	if most <= smallest || !datagrams(a, me, smallest, each) {
		return 0
	}
	if datagrams(a, me, most, each) {
		return most
	}
	low, high := smallest, most+1
	for high-low > 8 {
		if middle := (low + high) / 2; datagrams(a, me, middle, each) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// probeAll tries each address of the other hosts in each way.
func probeAll(hosts []Host, me int, patience time.Duration) []probe {
	var (
		mu   sync.Mutex
		all  []probe
		wait sync.WaitGroup
	)
	slots := make(chan struct{}, atOnce)
	for h := range hosts {
		for a, address := range hosts[h].Address {
			if h == me {
				continue
			}
			slots <- struct{}{}
			wait.Go(func() {
				defer func() { <-slots }()
				p := probeOne(address, me, patience)
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

func probeOne(a Address, me int, patience time.Duration) (p probe) {
	datagrams(a, me, 0, patience/10) // the other host notes what arrives
	c, err := dial(a, patience)
	if err != nil {
		p.Silent, p.Refused = err == errSilent, err.Error()
		return p
	}
	defer c.Close()
	if bulk(c, &p, patience); !p.Bulk {
		p.Largest = largest(a, me, a.MTU)
	}
	return p
}

// names looks up the names of all hosts, this one's included.
func names(hosts []Host, patience time.Duration) []lookup {
	var all []lookup
	for _, h := range hosts {
		began := time.Now()
		ctx, done := context.WithTimeout(context.Background(), patience)
		_, _ = net.DefaultResolver.LookupHost(ctx, h.Name) // a name that does not exist says so at once
		done()
		all = append(all, lookup{h.Name, time.Since(began)})
	}
	return all
}

// findings between hosts, when each has told what it found.
func exchange(boot bootstrap.Bootstrap, hosts []Host, first []int, me int, r *receiver, patience time.Duration) ([]Finding, error) {
	var tried []probe
	var looked []lookup
	if me >= 0 {
		tried = probeAll(hosts, me, patience)
		looked = names(hosts, patience)
	}
	allTried, err := gather(boot, tried)
	if err != nil {
		return nil, err
	}
	// Every host has sent its datagrams now.
	var came []arrival
	if me >= 0 {
		came = r.arrivals()
	}
	allCame, err := gather(boot, came)
	if err != nil {
		return nil, err
	}
	allLooked, err := gather(boot, looked)
	if err != nil {
		return nil, err
	}
	found := &pairs{hosts: hosts}
	for _, pe := range first {
		found.tried = append(found.tried, allTried[pe])
		found.came = append(found.came, allCame[pe])
		found.names = append(found.names, allLooked[pe])
	}
	return found.causes(), nil
}

// Package faultproxy breaks connections in tests: it refuses, resets, delays or truncates those
// between the PEs of a unique id and its root. It knows the layout of an id, as in
// runtime/bootstrap/uid, and nothing else of it.
package faultproxy

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Offsets of the parts of an id that the Proxy changes.
const (
	atCount     = 9
	atPort      = 10
	atAddresses = 44
	atSum       = 124
)

// Proxy passes on the connections between the PEs and the root, and breaks some of them.
type Proxy struct {
	listener net.Listener
	to       string
	seed     uint64
	count    atomic.Uint64
	faults   [Kinds]atomic.Int64 // connections that got a fault, by its kind
	open     sync.WaitGroup
}

// The kinds of faults of a connection.
const (
	Refuses   = iota // it is reset before a byte has passed
	Resets           // it is reset after some bytes
	Delays           // each write is late
	Truncates        // it ends after some bytes
	Kinds
)

// New makes a Proxy in front of the root of an id, and returns the id with which PEs connect to it.
// Its faults follow from the seed and from the order in which PEs connect.
func New(id [128]byte, seed uint64) (*Proxy, [128]byte, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, id, err
	}
	m := &Proxy{listener: l, to: fmt.Sprintf("127.0.0.1:%d", binary.BigEndian.Uint16(id[atPort:])), seed: seed}
	m.open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			m.open.Go(func() { m.carry(conn) })
		}
	})
	return m, m.through(id), nil
}

// Faults returns, by kind of fault, how many connections got one.
func (m *Proxy) Faults() (n [Kinds]int64) {
	for k := range n {
		n[k] = m.faults[k].Load()
	}
	return n
}

// Close stops accepting connections, and waits until those that there are have ended.
func (m *Proxy) Close() {
	m.listener.Close()
	m.open.Wait()
}

// carry passes on a connection to the root. Half of the connections get a fault: the proxy refuses
// the connection, resets it or ends it after some bytes, or delays what it passes on.
func (m *Proxy) carry(from net.Conn) {
	defer from.Close()
	r := rand.New(rand.NewPCG(m.seed, m.count.Add(1)))
	fault := -1
	if r.IntN(2) == 0 {
		fault = r.IntN(Kinds)
		m.faults[fault].Add(1)
	}
	tcp := from.(*net.TCPConn) //nolint:forcetypeassert // it listens on TCP
	if fault == Refuses {
		_ = tcp.SetLinger(0)
		return
	}
	to, err := net.Dial("tcp", m.to)
	if err != nil {
		return
	}
	defer to.Close()
	// Break one of the two directions after some bytes: within the handshake, or later.
	var limits [2]int
	for i := range limits {
		limits[i] = 1 << 30
	}
	if fault == Resets || fault == Truncates {
		limits[r.IntN(2)] = r.IntN(1 << (3 + r.IntN(10))) // below 8, 16, ... or 4096 bytes
	}
	pause := time.Duration(0)
	if fault == Delays {
		pause = time.Duration(r.IntN(20)) * time.Millisecond
	}
	end := func() {
		if fault == Resets {
			_ = tcp.SetLinger(0)
			_ = to.(*net.TCPConn).SetLinger(0) //nolint:forcetypeassert // it dials TCP
		}
		from.Close()
		to.Close()
	}
	var both sync.WaitGroup
	both.Go(func() { relay(to, from, limits[0], pause); end() })
	both.Go(func() { relay(from, to, limits[1], pause); end() })
	both.Wait()
}

// relay copies up to limit bytes, with a pause before each write.
func relay(to io.Writer, from io.Reader, limit int, pause time.Duration) {
	b := make([]byte, 4096)
	for limit > 0 {
		n, err := from.Read(b)
		n = min(n, limit)
		time.Sleep(pause)
		if _, werr := to.Write(b[:n]); err != nil || werr != nil {
			return
		}
		limit -= n
	}
}

// through returns the id with the Proxy's address in place of the root's.
func (m *Proxy) through(id [128]byte) [128]byte {
	clear(id[atAddresses:atSum])
	at := m.listener.Addr().(*net.TCPAddr).AddrPort() //nolint:forcetypeassert // it listens on TCP
	id[atCount] = 1
	id[atAddresses] = 4
	copy(id[atAddresses+1:], at.Addr().Unmap().AsSlice())
	binary.BigEndian.PutUint16(id[atPort:], at.Port())
	binary.BigEndian.PutUint32(id[atSum:], crc32.ChecksumIEEE(id[4:atSum]))
	return id
}

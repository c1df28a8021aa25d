package uid

import (
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	inits = flag.Int("inits", 50, "inits through a middleman")
	seed  = flag.Uint64("seed", 1, "of the middleman")
)

// middleman is between the PEs and the root, and breaks what goes through it.
type middleman struct {
	listener net.Listener
	to       string
	seed     uint64
	count    atomic.Uint64
	ills     [4]atomic.Int64 // how often it did each
	open     sync.WaitGroup
}

// What it does to a connection.
const (
	refuses = iota
	resets
	delays
	truncates
)

func newMiddleman(t *testing.T, to string, seed uint64) *middleman {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &middleman{listener: l, to: to, seed: seed}
	m.open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			m.open.Go(func() { m.carry(conn) })
		}
	})
	return m
}

func (m *middleman) close() {
	m.listener.Close()
	m.open.Wait()
}

// carry takes a connection through, or not. Half of them suffer.
func (m *middleman) carry(from net.Conn) {
	defer from.Close()
	r := rand.New(rand.NewPCG(m.seed, m.count.Add(1)))
	ill := -1
	if r.IntN(2) == 0 {
		ill = r.IntN(4)
		m.ills[ill].Add(1)
	}
	tcp := from.(*net.TCPConn) //nolint:forcetypeassert // it listens on TCP
	if ill == refuses {
		_ = tcp.SetLinger(0)
		return
	}
	to, err := net.Dial("tcp", m.to)
	if err != nil {
		return
	}
	defer to.Close()
	// One side or the other, after some bytes: in the handshake, or in what follows.
	var limits [2]int
	for i := range limits {
		limits[i] = 1 << 30
	}
	if ill == resets || ill == truncates {
		limits[r.IntN(2)] = r.IntN(1 << (3 + r.IntN(10)))
	}
	pause := time.Duration(0)
	if ill == delays {
		pause = time.Duration(r.IntN(20)) * time.Millisecond
	}
	end := func() {
		if ill == resets {
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

// through is the id with the middleman in the place of the root's addresses.
func (m *middleman) through(id ID) ID {
	clear(id[atAddresses:atSum])
	at := m.listener.Addr().(*net.TCPAddr).AddrPort() //nolint:forcetypeassert // it listens on TCP
	id[atCount] = 1
	id[atAddresses] = 4
	copy(id[atAddresses+1:], at.Addr().Unmap().AsSlice())
	binary.BigEndian.PutUint16(id[atPort:], at.Port())
	binary.BigEndian.PutUint32(id[atSum:], crc32.ChecksumIEEE(id[4:atSum]))
	return id
}

// TestMiddleman: whatever connections suffer, no PE fails, and nothing is lost, doubled
// or out of order.
func TestMiddleman(t *testing.T) {
	const pes = 3
	var ills [4]int64
	for i := range *inits {
		r, id := root(t)
		r.mu.Lock()
		r.patience = patient // a busy machine does not make a loss of what comes back
		r.mu.Unlock()
		c, err := decode(&id)
		if err != nil {
			t.Fatal(err)
		}
		m := newMiddleman(t, c.addresses[0].String(), *seed+uint64(i))
		bad := m.through(id)
		all(t, pes, func(pe int) error {
			b, err := Join(Options{ID: bad, PE: pe, Size: pes, Timeout: patient})
			if err != nil {
				return err
			}
			err = errors.Join(live(b, pe, pes, 3), b.Close())
			if lost := b.Losses(); len(lost) > 0 {
				t.Errorf("PE %d is told of %+v", pe, lost)
			}
			return err
		})
		r.Close()
		m.close()
		for k := range ills {
			ills[k] += m.ills[k].Load()
		}
		if t.Failed() {
			t.Fatalf("with -seed=%d -inits=1", *seed+uint64(i))
		}
	}
	for k, n := range ills {
		if n == 0 && *inits >= 50 {
			t.Errorf("the middleman did nothing of kind %d", k)
		}
	}
	t.Logf("%d refused, %d reset, %d delayed, %d cut off", ills[refuses], ills[resets], ills[delays], ills[truncates])
}

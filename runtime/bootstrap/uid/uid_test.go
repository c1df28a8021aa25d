package uid

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/shmerr"
	"libshmem/tests/mutate"
)

const eventTimeout = 30 * time.Second // for an event that comes at once

// root makes one that listens on this machine only.
func root(t *testing.T) (*Root, ID) {
	t.Helper()
	r, id, err := NewRoot(Filter{Interfaces: "=lo"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, id
}

// abroad joins as a PE of another process does.
func abroad(o Options) (*Member, error) {
	rootsMu.Lock()
	r := roots[o.ID]
	delete(roots, o.ID)
	defer func() {
		rootsMu.Lock()
		defer rootsMu.Unlock()
		if r != nil {
			roots[o.ID] = r
		}
	}()
	rootsMu.Unlock()
	return join(o, dialTCP)
}

// all has each PE of a job do f.
func all(t *testing.T, n int, f func(pe libshmem.PE) error) {
	t.Helper()
	var wg sync.WaitGroup
	for pe := range libshmem.PE(n) {
		wg.Go(func() {
			if err := f(pe); err != nil {
				t.Errorf("PE %d: %v", pe, err)
			}
		})
	}
	wg.Wait()
}

// live is the life of a PE between join and leave.
func live(b bootstrap.Bootstrap, pe libshmem.PE, n, steps int) error {
	for step := range steps {
		mine := bytes.Repeat([]byte{byte(int(pe) + step)}, 1+int(pe)*1000*step)
		parts, err := b.Allgather(mine)
		if err != nil {
			return err
		}
		for i, p := range parts {
			if want := bytes.Repeat([]byte{byte(i + step)}, 1+i*1000*step); !bytes.Equal(p, want) {
				return fmt.Errorf("step %d: %d bytes of PE %d, want %d, or others", step, len(p), i, len(want))
			}
		}
		if err := b.Barrier(); err != nil {
			return err
		}
	}
	return b.LeaveBarrier()
}

func TestJob(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		_, id := root(t)
		secrets := make([][32]byte, n)
		all(t, n, func(pe libshmem.PE) error {
			joins := abroad
			if int(pe) == n/2 {
				joins = Join // the root's own process
			}
			m, err := joins(Options{ID: id, PE: pe, Size: n, Timeout: eventTimeout})
			if err != nil {
				return err
			}
			if m.Rank() != pe || m.Size() != n || m.Name() != "uid" || m.Over() {
				return fmt.Errorf("it is %s, PE %d of %d", m.Name(), m.Rank(), m.Size())
			}
			secrets[pe] = *m.Secret()
			return errors.Join(live(m, pe, n, 3), m.Close())
		})
		for _, s := range secrets {
			if s != secrets[0] || s == [32]byte{} {
				t.Error("the PEs have different secrets, or none")
			}
		}
	}
}

// Connections that say nothing push out the oldest of them where there are too many, and the
// PEs join beside them.
func TestManyStrangers(t *testing.T) {
	const more = 20
	r, id := root(t)
	var conns []net.Conn
	for range maxUnproven + more {
		conn, err := net.DialTimeout("tcp", r.listener.Addr().String(), eventTimeout)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	const soon = handshakeLimit / 2
	begin := time.Now()
	for i, conn := range conns[:more] {
		_ = conn.SetReadDeadline(begin.Add(soon))
		if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Fatalf("connection %d of %d is not closed: %v", i, len(conns), err)
		}
	}
	for i, conn := range conns[more:] {
		_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("connection %d of %d is closed: %v", more+i, len(conns), err)
		}
	}
	all(t, 3, func(pe libshmem.PE) error {
		m, err := abroad(Options{ID: id, PE: pe, Size: 3, Timeout: eventTimeout})
		if err != nil {
			return err
		}
		return errors.Join(live(m, pe, 3, 2), m.Close())
	})
}

// When all have left, nothing listens any more, and nothing is kept.
func TestRootEndsWithTheJob(t *testing.T) {
	r, id := root(t)
	all(t, 3, func(pe libshmem.PE) error {
		m, err := abroad(Options{ID: id, PE: pe, Size: 3, Timeout: eventTimeout})
		if err != nil {
			return err
		}
		return m.Close()
	})
	select {
	case <-r.over:
	case <-time.After(eventTimeout):
		t.Fatal("the root goes on")
	}
	if _, err := Join(Options{ID: id, PE: 0, Size: 3, Timeout: 2 * time.Second}); err == nil ||
		!strings.Contains(err.Error(), "did not answer PE 0 of 3, on host "+hostName()+", within 2s: ") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("join after the end: %v", err)
	}
}

// Ids that are made and not used do not add up: the oldest end. One that is used stays.
func TestUnused(t *testing.T) {
	used, usedID := root(t)
	m, err := abroad(Options{ID: usedID, PE: 0, Size: 1, Timeout: eventTimeout})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]ID, maxUnused+2)
	for i := range ids {
		_, ids[i] = root(t)
	}
	for i, id := range ids {
		m, err := abroad(Options{ID: id, PE: 0, Size: 1, Timeout: map[bool]time.Duration{true: 100 * time.Millisecond, false: eventTimeout}[i < 2]})
		if (err == nil) != (i >= 2) {
			t.Errorf("id %d of %d: %v", i, len(ids), err)
		}
		if err == nil {
			m.Close()
		}
	}
	select {
	case <-used.over:
		t.Error("the one that is used has ended")
	default:
	}
	if err := errors.Join(live(m, 0, 1, 1), m.Close()); err != nil {
		t.Error(err)
	}
}

// PEs that do not come are named by the PEs that wait.
func TestMissing(t *testing.T) {
	_, id := root(t)
	pes := []libshmem.PE{0, 2}
	members := make([]*Member, len(pes))
	for i, pe := range pes {
		var err error
		if members[i], err = abroad(Options{ID: id, PE: pe, Size: 5, Timeout: 3 * time.Second, Connect: eventTimeout}); err != nil {
			t.Fatal(err)
		}
		defer members[i].Close()
	}
	all(t, len(pes), func(i libshmem.PE) error {
		_, err := members[i].Allgather(nil)
		var missing *bootstrap.MissingError
		if !errors.As(err, &missing) || shmerr.PEs(missing.Missing) != "PEs 1, 3, 4" {
			return fmt.Errorf("%v does not name the missing", err)
		}
		return nil
	})
}

// A PE that ends without a word is named, to PEs that wait and to PEs that do not.
func TestDeath(t *testing.T) {
	_, id := root(t)
	ready := make(chan struct{})
	all(t, 3, func(pe libshmem.PE) error {
		m, err := abroad(Options{ID: id, PE: pe, Size: 3, Timeout: eventTimeout})
		if err != nil {
			return err
		}
		if err := m.Barrier(); err != nil {
			return err
		}
		switch pe {
		case 1:
			m.link.conversation.end() // as a process that is killed
			close(ready)
			return nil
		case 2:
			<-ready
			err := m.Barrier()
			var peer *bootstrap.PeerError
			if !errors.As(err, &peer) || peer.PE != 1 {
				return fmt.Errorf("%v does not name PE 1", err)
			}
		}
		for end := time.Now().Add(eventTimeout); ; time.Sleep(time.Millisecond) {
			if lost := m.Losses(); len(lost) > 0 {
				if lost[0].PE != 1 || lost[0].Ends {
					return fmt.Errorf("%+v", lost)
				}
				return m.Close()
			}
			if time.Now().After(end) {
				return errors.New("nothing is heard of PE 1")
			}
		}
	})
}

// A PE that ends the job ends it for all, with the status.
func TestExit(t *testing.T) {
	for _, abort := range []bool{false, true} {
		_, id := root(t)
		all(t, 3, func(pe libshmem.PE) error {
			m, err := abroad(Options{ID: id, PE: pe, Size: 3, Timeout: eventTimeout})
			if err != nil {
				return err
			}
			defer m.Close()
			if err := m.Barrier(); err != nil {
				return err
			}
			if pe == 1 && abort {
				m.Abort(7, "no reason")
				return nil
			} else if pe == 1 {
				m.Exit(0)
				return nil
			}
			for end := time.Now().Add(eventTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if lost := m.Losses(); len(lost) > 0 {
					if l := lost[0]; l.PE != 1 || !l.Ends || l.Status != map[bool]int{true: 7}[abort] {
						return fmt.Errorf("%+v", l)
					}
					return nil
				}
			}
			return errors.New("nothing is heard of the end")
		})
	}
}

// Two that say they are the same PE, and PEs that do not agree how many there are.
func TestContradictions(t *testing.T) {
	_, id := root(t)
	m, err := abroad(Options{ID: id, PE: 1, Size: 2, Timeout: eventTimeout})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, c := range []struct {
		pe   libshmem.PE
		size int
		want string
	}{
		{1, 2, "there is already a PE 1"},
		{0, 3, "PE 0 says that the job has 3 PEs, PE 1 said 2"},
		{2, 2, "PE 2 of 2 (PEs are numbered from 0"},
		{-1, 2, "PE -1 of 2 (PEs are numbered from 0"},
		{0, 0, "PE 0 of 0 (PEs are numbered from 0"},
	} {
		if m, err := abroad(Options{ID: id, PE: c.pe, Size: c.size, Timeout: eventTimeout}); err == nil {
			m.Close()
			t.Errorf("PE %d of %d was let in", c.pe, c.size)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("PE %d of %d: %v, not %q", c.pe, c.size, err, c.want)
		}
	}
}

// The process of the id is stopped, as by a debugger: a PE that waits for it does not wait for
// ever.
func TestRootFallsSilent(t *testing.T) {
	r, id := root(t)
	m, err := abroad(Options{ID: id, PE: 0, Size: 1, Timeout: 50 * time.Millisecond, Connect: eventTimeout})
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock() // it needs this lock to answer
	_, err = m.Allgather(nil)
	r.mu.Unlock()
	if err == nil || !strings.Contains(err.Error(), "did not answer within 50ms (") {
		t.Errorf("%v", err)
	}
	m.Close()
}

func TestID(t *testing.T) {
	_, id := root(t)
	c, err := decode(&id)
	if err != nil || len(c.addresses) == 0 || !c.addresses[0].Addr().IsLoopback() || c.addresses[0].Port() == 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	// Every byte counts, but for the unused ones.
	for i := range id {
		bad := id
		bad[i] ^= 0x40
		if _, err := decode(&bad); err == nil {
			t.Errorf("byte %d was changed, and decode does not see it", i)
		} else if !strings.Contains(err.Error(), "unique id, byte ") {
			t.Errorf("byte %d: %v", i, err)
		}
	}
	for _, c := range []struct {
		what string
		id   ID
		want string
	}{
		{"nothing", ID{}, "byte 0: it is empty"},
		{"an initialiser", ID{0: 0x80, 2: 1}, "byte 4: it was not filled"},
		{"of another library", ID{0: 0x80, 2: 1, 4: 'N'}, `byte 4: "N\x00\x00\x00", expected "SHMU"`},
		{"another version of the struct", ID{0: 0x80, 2: 2}, "byte 0: version 0x20080, expected 0x10080"},
		{"no addresses", encode(ofRoot, c.secret, 7, nil), "byte 9: no addresses"},
		{"no port", encode(ofRoot, c.secret, 0, nil), "byte 10: port 0"},
	} {
		if _, err := decode(&c.id); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", c.what, err, c.want)
		}
	}
}

// More addresses than fit: the first ones are in it.
func TestIDIsFull(t *testing.T) {
	var many []netip.Addr
	for i := range byte(20) {
		many = append(many, netip.AddrFrom4([4]byte{10, 0, 0, i}), netip.AddrFrom16([16]byte{0xfd, 15: i}))
	}
	id := encode(ofRoot, [32]byte{}, 9, many)
	c, err := decode(&id)
	if err != nil || len(c.addresses) < 6 || c.addresses[0] != netip.AddrPortFrom(many[0], 9) || c.addresses[1] != netip.AddrPortFrom(many[1], 9) {
		t.Errorf("%v, %v", c.addresses, err)
	}
	// 16 of five bytes fill it to the last one.
	many = nil
	for i := range byte(20) {
		many = append(many, netip.AddrFrom4([4]byte{10, 0, 0, i}))
	}
	id = encode(ofRoot, [32]byte{}, 9, many)
	if c, err = decode(&id); err != nil || len(c.addresses) != 16 {
		t.Errorf("%d addresses of IPv4, want 16: %v", len(c.addresses), err)
	}
}

// FuzzDecode: whatever 128 bytes are, they are an id or are refused.
func FuzzDecode(f *testing.F) {
	good := encode(ofRoot, [32]byte{1}, 9, []netip.Addr{netip.MustParseAddr("::1"), netip.MustParseAddr("10.1.2.3")})
	f.Add(good[:])
	f.Fuzz(decodeChanged)
}

func decodeChanged(t *testing.T, b []byte) {
	var id ID
	copy(id[:], b)
	if c, err := decode(&id); err == nil && len(c.addresses) == 0 {
		t.Error("an id without addresses")
	}
}

// TestMutations is FuzzDecode for changed ids.
func TestMutations(t *testing.T) {
	good := encode(ofRoot, [32]byte{1}, 9, []netip.Addr{netip.MustParseAddr("::1"), netip.MustParseAddr("10.1.2.3")})
	mutate.Each(t, [][]byte{good[:]}, func(in []byte) { decodeChanged(t, in) })
}

func TestAddresses(t *testing.T) {
	ip := netip.MustParseAddr
	host := []Interface{
		{Name: "lo", Up: true, Loopback: true, Addrs: []netip.Addr{ip("127.0.0.1"), ip("::1")}},
		{Name: "docker0", Up: true, Virtual: true, Addrs: []netip.Addr{ip("172.17.0.1")}},
		{Name: "eth0", Up: true, Addrs: []netip.Addr{ip("10.0.0.5"), ip("fd00::5"), ip("fe80::5")}},
		{Name: "eth1", Addrs: []netip.Addr{ip("10.1.0.5")}},
		{Name: "ib0", Up: true, Addrs: []netip.Addr{ip("10.2.0.5"), ip("10.0.0.5")}},
	}
	for _, c := range []struct {
		f    Filter
		want string
	}{
		{Filter{}, "[10.0.0.5 fd00::5 10.2.0.5 172.17.0.1 fe80::5 127.0.0.1 ::1]"},
		{Filter{Family: IPv4}, "[10.0.0.5 10.2.0.5 172.17.0.1 127.0.0.1]"},
		{Filter{Family: IPv6}, "[fd00::5 fe80::5 ::1]"},
		{Filter{Interfaces: "eth"}, "[10.0.0.5 fd00::5 fe80::5]"},
		{Filter{Interfaces: "ib0, docker0"}, "[10.2.0.5 10.0.0.5 172.17.0.1]"},
		{Filter{Interfaces: "^docker,lo", Family: IPv4}, "[10.0.0.5 10.2.0.5]"},
		{Filter{Interfaces: "=lo", Family: IPv6}, "[::1]"},
		{Filter{Interfaces: "=et"}, ""},
		{Filter{Interfaces: "eth1"}, ""},
		{Filter{Interfaces: "ib0", Family: IPv6}, ""},
	} {
		got, err := choose(host, c.f)
		switch {
		case c.want == "" && (err == nil || !strings.Contains(err.Error(), "eth1 down") || !strings.Contains(err.Error(), "SHMEM_BOOTSTRAP_INTERFACE")):
			t.Errorf("%+v: %v, %v", c.f, got, err)
		case c.want != "" && fmt.Sprint(got) != c.want:
			t.Errorf("%+v: %v, not %v (%v)", c.f, got, c.want, err)
		}
	}
}

package rail_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/rail"
	"libshmem/fabric/sim"
	"libshmem/tests/need"
)

// A NIC is lost while writes, reads and messages are under way: all of them end well, all bytes are
// right, each message comes, and the loss is reported once.
func TestPlayedLoss(t *testing.T) {
	type link struct{ host, nic int }
	again, seeds := 0, uint64(need.Load("losses"))
	if need.Race { // make test comes once more without the detector
		seeds = 1
	}
	for _, c := range []struct {
		name  string
		model sim.Model
		links []link
		tell  []string // NICs of end 0 that report their failure
	}{
		{"here", sim.EFA(), []link{{0, 1}}, []string{"nic1"}},
		{"here, efa-direct", sim.EFADirect(), []link{{0, 1}}, []string{"nic1"}},
		{"there", sim.EFA(), []link{{1, 2}}, []string{"nic2"}},
		{"there, efa-direct", sim.EFADirect(), []link{{1, 2}}, []string{"nic2"}},
		{"one here and one there", sim.EFA(), []link{{0, 0}, {1, 3}}, []string{"nic0", "nic3"}},
		{"one here and one there, efa-direct", sim.EFADirect(), []link{{0, 0}, {1, 3}}, []string{"nic0", "nic3"}},
		{"all but one", sim.EFA(), []link{{0, 0}, {0, 1}, {0, 2}}, []string{"nic0", "nic1", "nic2"}},
		{"all but one, efa-direct", sim.EFADirect(), []link{{0, 0}, {0, 1}, {0, 2}}, []string{"nic0", "nic1", "nic2"}},
		{"worst", sim.Worst(), []link{{0, 2}}, []string{"nic2"}},
		{"of four, with two there", sim.EFA(), []link{{0, 2}}, []string{"nic2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range seeds {
				m := c.model
				m.NICs, m.Rails = 4, 4
				others := 4
				if strings.Contains(c.name, "two there") {
					m.Rails, others = 2, 2
				}
				if seed%3 == 2 {
					m = sim.Unread(m, 1)
				}
				net := sim.New(m, seed)
				a, b := newSite(t, net, 0, 4, rail.Auto), newSite(t, net, 1, others, rail.Auto)
				connect(t, a, b)
				again += work(t, net, a, b, func() {
					for _, l := range c.links {
						if err := net.Link(l.host, l.nic, false); err != nil {
							t.Fatal(err)
						}
					}
				})
				if len(a.lost) != len(c.tell) {
					t.Fatalf("seed %d: told %d times: %q", seed, len(a.lost), a.lost)
				}
				for _, nic := range c.tell {
					if !strings.Contains(strings.Join(a.lost, "\n"), "NIC "+nic+" ") {
						t.Errorf("seed %d: nothing is told of %s: %q", seed, nic, a.lost)
					}
				}
				if seed == 0 {
					t.Log(a.lost)
				}
			}
		})
	}
	if again == 0 && !need.Race {
		t.Error("no message came twice: nothing was lost behind its arrival")
	}
	t.Logf("%d messages came twice", again)
}

// work moves bytes both ways and sends messages, some injected, and calls lose in the
// middle. It returns how many messages came twice.
func work(t *testing.T, net *sim.Network, a, b *site, lose func()) (again int) {
	t.Helper()
	const ops, size = 600, 200_000
	const slots = siteMemory/2/size - 1
	got := map[uint64]int{}
	busy := map[fabric.Token]int{} // number of the operation
	var free []fabric.Token
	for tok := fabric.Token(64); tok < siteTokens; tok++ {
		free = append(free, tok)
	}
	place := map[int]bool{} // slots of memory that are in use
	receive := func(s *site, tok fabric.Token) {
		if err := s.Recv(unsafe.Pointer(&s.mem[siteMemory-(int(tok)+1)*64]), 64, s.region.Desc, tok); err != nil {
			t.Fatal(err)
		}
	}
	for tok := range fabric.Token(64) {
		receive(b, tok)
	}
	sent, ended, messages := 0, 0, 0
	half := siteMemory / 2
	until(t, "end of the work", func() bool {
		for _, c := range b.comps {
			if c.Err != 0 || c.Kind != fabric.KindRecv {
				t.Fatalf("%+v: %s", c, b.ErrorText(&c))
			}
			got[binary.NativeEndian.Uint64(b.mem[siteMemory-(int(c.Token)+1)*64:])]++
			receive(b, c.Token)
		}
		b.comps = b.comps[:0]
		for _, c := range a.comps {
			if c.Err != 0 {
				t.Fatal(a.ErrorText(&c))
			}
			k := busy[c.Token]
			delete(busy, c.Token)
			free = append(free, c.Token)
			ended++
			if k%4 > 1 {
				continue
			}
			at := k % slots * size
			delete(place, k%slots)
			for i := range size {
				if a.mem[at+i] != b.mem[at+i] {
					t.Fatalf("operation %d: byte %d is %#x here and %#x there", k, i, a.mem[at+i], b.mem[at+i])
				}
			}
		}
		a.comps = a.comps[:0]
		for sent < ops {
			if sent == ops/2 && lose != nil {
				lose()
				lose = nil
			}
			tok := free[len(free)-1]
			var err error
			inject := sent%4 == 3
			switch sent % 4 {
			case 0, 1:
				if place[sent%slots] {
					return false
				}
				// The bytes to move are new each time, at their source.
				at := sent % slots * size
				from, move := a, a.Write
				if sent%4 == 1 {
					from, move = b, a.Read
				}
				for i := 0; i < size; i += 8 {
					binary.NativeEndian.PutUint64(from.mem[at+i:], uint64(sent*size+i))
				}
				err = move(a.rma(b, at, at, size, tok))
			default:
				binary.NativeEndian.PutUint64(a.mem[half+8*sent:], uint64(sent))
				err = a.Send(&fabric.Send{To: 1, Buf: unsafe.Pointer(&a.mem[half+8*sent]), Len: 8, Desc: a.region.Desc, Token: tok, Inject: inject})
			}
			if err == fabric.ErrAgain {
				return false
			}
			if err != nil {
				t.Fatal(err)
			}
			if sent%4 > 1 {
				messages++
			} else {
				place[sent%slots] = true
			}
			if inject {
				ended++
				clear(a.mem[half+8*sent : half+8*sent+8])
			} else {
				busy[tok] = sent
				free = free[:len(free)-1]
			}
			if sent++; len(free) == 0 {
				return false
			}
		}
		return ended == ops && len(got) == messages
	}, a, b)
	for n, times := range got {
		if times > 2 || n >= ops {
			t.Errorf("message %d came %d times", n, times)
		}
		again += times - 1
	}
	return again
}

// With no NIC left operations end with an error that names one, and later ones are
// refused.
func TestAllLost(t *testing.T) {
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect()} {
		t.Run(m.Name, func(t *testing.T) { allLost(t, m) })
	}
}

func allLost(t *testing.T, m sim.Model) {
	m.NICs, m.Rails = 3, 3
	net := sim.New(m, 1)
	a, b := newSite(t, net, 0, 3, rail.Split), newSite(t, net, 1, 3, rail.Split)
	connect(t, a, b)
	for nic := range 3 {
		if err := net.Link(1, nic, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{8, 1 << 20} {
		for try := 0; ; try++ {
			err := a.Write(a.rma(b, 0, 0, n, 7))
			if err != nil {
				if n == 8 || !strings.Contains(err.Error(), "PE 1") {
					t.Fatalf("a write to a PE that was lost: %v", err)
				}
				return
			}
			until(t, "end of the write", func() bool { return len(a.comps) > 0 }, a, b)
			c := a.comps[0]
			a.comps = a.comps[:0]
			text := a.ErrorText(&c)
			if c.Err == 0 || c.Token != 7 || !strings.Contains(text, "NIC nic") {
				t.Errorf("%d bytes: %+v, %s", n, c, text)
			}
			t.Log(text)
			if n == 8 {
				break
			}
		}
	}
}

// A peer that is gone is an error of its operations alone, after a few tries.
func TestPeerGone(t *testing.T) {
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect()} {
		t.Run(m.Name, func(t *testing.T) { peerGone(t, m) })
	}
}

func peerGone(t *testing.T, m sim.Model) {
	m.NICs, m.Rails = 8, 8
	net := sim.New(m, 1)
	a, b, c := newSite(t, net, 0, 8, rail.Auto), newSite(t, net, 1, 8, rail.Auto), newSite(t, net, 2, 8, rail.Auto)
	connect(t, a, b, c)
	net.Kill(1)
	start := net.Now()
	if err := a.Write(a.rma(b, 0, 0, 64, 7)); err != nil {
		t.Fatal(err)
	}
	until(t, "end of the write", func() bool { return len(a.comps) > 0 }, a, c)
	if k := a.comps[0]; k.Err == 0 || !strings.Contains(a.ErrorText(&k), "the last of 4") {
		t.Errorf("%+v: %s", k, a.ErrorText(&k))
	}
	a.comps = a.comps[:0]
	if took := net.Now() - start; took > 5*m.Detect {
		t.Errorf("it took %d ns to give up, and %d to see one NIC fail", took, m.Detect)
	}
	copy(a.mem, "to the other")
	if err := a.Write(a.rma(c, 0, 0, 64, 7)); err != nil {
		t.Fatal(err)
	}
	until(t, "end of the write", func() bool { return len(a.comps) > 0 }, a, c)
	if k := a.comps[0]; k.Err != 0 || string(c.mem[:12]) != "to the other" {
		t.Errorf("%+v: %s", k, a.ErrorText(&k))
	}
}

// refusing is a NIC that refuses Reads, as one that has failed does. trouble is a completion for the
// next Poll.
type refusing struct {
	fabric.Provider
	reads   int
	trouble *fabric.Completion
}

func (r *refusing) Poll(c []fabric.Completion) (int, error) {
	if r.trouble == nil {
		return r.Provider.Poll(c)
	}
	c[0], r.trouble = *r.trouble, nil
	return 1, nil
}

func (r *refusing) ErrorText(*fabric.Completion) string { return "the link is down" }

func (r *refusing) Read(*fabric.RMA) error {
	r.reads++
	return errors.New("the link is down")
}

// deaf is a NIC that refuses receive buffers.
type deaf struct{ fabric.Provider }

func (d deaf) Recv(unsafe.Pointer, int, uintptr, fabric.Token) error {
	return errors.New("the link is down")
}

// A NIC refuses its receive buffers: no later buffer of the caller is posted either, because
// messages to that NIC would be lost.
func TestNoReceiveBuffers(t *testing.T) {
	m := sim.EFA()
	m.NICs, m.Rails = 2, 2
	net := sim.New(m, 1)
	end, err := openEach(func(c fabric.Config) (fabric.Provider, error) {
		e, err := net.Open(0, c)
		if c.NICs == "nic1" {
			e = deaf{e}
		}
		return e, err
	}, 2, rail.Config{Config: fabric.Config{Tokens: 8, MaxRecv: 4}})
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	mem := make([]byte, 128)
	for i := range 2 {
		if err := end.Recv(unsafe.Pointer(&mem[64*i]), 64, 0, fabric.Token(i)); err == nil || err.Error() != "NIC nic1: the link is down" {
			t.Errorf("buffer %d: %v", i, err)
		}
	}
}

// badNIC returns an end with two NICs, of which the first is the one that it returns.
func badNIC(t *testing.T, net *sim.Network) (*site, *refusing) {
	t.Helper()
	var bad *refusing
	return newSiteOf(t, 2, rail.Auto, func(c fabric.Config) (fabric.Provider, error) {
		e, err := net.Open(0, c)
		if c.NICs == "nic0" {
			bad = &refusing{Provider: e}
			e = bad
		}
		return e, err
	}), bad
}

// A NIC refuses the read of a row of keys. Where messages may be sent again, another NIC reads the
// row. Where they may not, those that the NIC has completed may be lost, so the write that needs
// the row ends with the error, and the pair is not taken out of use without a word.
func TestRowRefused(t *testing.T) {
	for _, m := range []sim.Model{sim.EFA(), sim.Bare()} {
		t.Run(m.Name, func(t *testing.T) {
			m.NICs, m.Rails = 2, 2
			net := sim.New(m, 1)
			a, bad := badNIC(t, net)
			b := newSite(t, net, 1, 2, rail.Auto)
			connect(t, a, b)
			var err error
			if b.region, err = b.Register(unsafe.Pointer(&b.mem[0]), siteMemory); err != nil { // its row is not in the address
				t.Fatal(err)
			}
			copy(a.mem, "by the other NIC")
			until(t, "a post of the write", func() bool {
				err := a.Write(a.rma(b, 0, 0, 16, 7))
				if err != nil && err != fabric.ErrAgain {
					t.Fatal(err)
				}
				return err == nil
			}, a, b)
			until(t, "end of the write", func() bool { return len(a.comps) > 0 }, a, b)
			c := a.comps[0]
			if bad.reads != 1 {
				t.Errorf("NIC 0 was asked for %d reads, not for 1", bad.reads)
			}
			if resend := a.Caps().Repeats; resend && (c.Err != 0 || len(a.lost) != 1) {
				t.Errorf("%+v: %s, and losses %q", c, a.ErrorText(&c), a.lost)
			} else if !resend && (c.Err == 0 || !strings.Contains(a.ErrorText(&c), "read of a key: the link is down, NIC nic0") || len(a.lost) > 0) {
				t.Errorf("%+v: %s, and losses %q", c, a.ErrorText(&c), a.lost)
			}
		})
	}
}

// A NIC reports that it has lost its connection with a PE. Where messages may be sent again, other
// NICs reach the PE. Where they may not, the PE is lost: messages under way may be.
func TestConnectionLost(t *testing.T) {
	for _, m := range []sim.Model{sim.EFA(), sim.Bare()} {
		m.NICs, m.Rails = 2, 2
		net := sim.New(m, 1)
		a, bad := badNIC(t, net)
		b := newSite(t, net, 1, 2, rail.Auto)
		connect(t, a, b)
		bad.trouble = &fabric.Completion{Token: fabric.NoToken, Kind: fabric.KindTrouble, Err: 103}
		bad.trouble.SetFrom(3) // NIC 1 of PE 1
		a.poll()
		want := libshmem.PE(1)
		if a.Caps().Repeats {
			want = libshmem.NoPE
		}
		if len(a.comps) != 1 || a.comps[0].Kind != fabric.KindTrouble || a.comps[0].From() != want || a.ErrorText(&a.comps[0]) != "the link is down, NIC nic0" {
			t.Errorf("%s: %+v, want the trouble of PE %d", m.Name, a.comps, want)
		}
	}
}

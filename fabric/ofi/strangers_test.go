package ofi

import (
	"fmt"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
)

// TestStrangers has an endpoint that is in no address vector write with immediate data. Where
// the target takes none, each completion is dropped and counted. Where it takes some, the
// completion names no PE. In both cases the next message of a PE comes.
func TestStrangers(t *testing.T) {
	offers, err := List("", Hints{})
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]bool{}
	for _, o := range offers {
		answers[o.Provider] = true
	}
	for _, provider := range []string{"net", "tcp", "tcp;ofi_rxm", "net;ofi_rxm", "sockets", "udp;ofi_rxd"} {
		for _, data := range []bool{false, true} {
			for _, size := range []int{0, 8} {
				if !answers[provider] {
					continue
				}
				t.Run(fmt.Sprintf("%s, data %v, %d bytes", provider, data, size), func(t *testing.T) {
					takeRefused(t, provider)
					strangerWrites(t, provider, data, size)
				})
			}
		}
	}
}

const strangeWrites = 5

func strangerWrites(t *testing.T, provider string, data bool, size int) {
	target, peer := newSide(t, provider, data), newSide(t, provider, data)
	stranger := newSide(t, provider, true)
	for _, s := range []*side{target, peer} {
		if err := s.Connect([][]byte{target.Addr(), peer.Addr()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := stranger.Connect([][]byte{target.Addr()}); err != nil {
		t.Fatal(err)
	}
	all := []*side{target, peer, stranger}
	for tok := range fabric.Token(8) {
		if err := target.Recv(target.at(64*int(tok)), 64, target.region.Desc, tok); err != nil {
			t.Fatal(err)
		}
	}
	remote := uint64(2048)
	if target.Caps().VirtualAddress {
		remote += uint64(uintptr(target.at(0)))
	}
	for i := range strangeWrites {
		w := fabric.RMA{
			Local: stranger.at(0), Len: uint64(size), Desc: stranger.region.Desc, Remote: remote, Key: target.region.Key,
			Token: fabric.Token(i), Notify: true, Data: uint32(i),
		}
		serve(t, all, "a stranger's write", func() bool { return posts(t, stranger.Write(&w)) })
	}
	if target.Caps().Data >= 4 {
		serve(t, all, "immediate data", func() bool { return len(target.came) == strangeWrites })
		for _, c := range target.came {
			if c.Kind != fabric.KindData || c.From() != libshmem.NoPE || c.Data >= strangeWrites {
				t.Errorf("kind %d, data %d of PE %d", c.Kind, c.Data, c.From())
			}
		}
	} else {
		serve(t, all, "dropped completions", func() bool { return target.Strangers() == strangeWrites })
	}
	target.came = nil
	m := fabric.Send{To: 0, Buf: peer.at(0), Len: 8, Desc: peer.region.Desc, Token: 9}
	serve(t, all, "a PE's message", func() bool { return posts(t, peer.Send(&m)) })
	serve(t, all, "its arrival", func() bool { return len(target.came) > 0 })
	if c := target.came[0]; len(target.came) != 1 || c.Kind != fabric.KindRecv || c.Len != 8 || c.Err != 0 {
		t.Errorf("arrived: %+v, want one message of 8 bytes", target.came)
	}
	if n := target.Strangers(); target.Caps().Data < 4 && n != strangeWrites || target.Caps().Data >= 4 && n != 0 {
		t.Errorf("%d entries were dropped, of %d writes", n, strangeWrites)
	}
}

// side is an endpoint with some memory.
type side struct {
	fabric.Provider
	mem    []byte
	region fabric.Region
	came   []fabric.Completion
}

func newSide(t *testing.T, provider string, data bool) *side {
	t.Helper()
	p, err := Open(fabric.Config{Provider: provider, Tokens: 16, MaxRecv: 8, Data: data, Arrivals: 16})
	if err != nil {
		t.Fatal(err)
	}
	return adopt(t, p)
}

// adopt gives an endpoint some memory, and closes it with the test.
func adopt(t *testing.T, p fabric.Provider) *side {
	t.Helper()
	s := &side{Provider: p}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		_ = unix.Munmap(s.mem)
	})
	var err error
	if s.mem, err = unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS); err != nil {
		t.Fatal(err)
	}
	if s.region, err = p.Register(s.at(0), uint64(len(s.mem))); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *side) at(offset int) unsafe.Pointer { return unsafe.Pointer(&s.mem[offset]) }

// posts reports whether an operation was posted; err is ErrAgain or nil.
func posts(t *testing.T, err error) bool {
	t.Helper()
	if err != nil && err != fabric.ErrAgain {
		t.Fatal(err)
	}
	return err == nil
}

// serve polls all sides until done.
func serve(t *testing.T, all []*side, what string, done func() bool) {
	t.Helper()
	for stop := time.Now().Add(20 * time.Second); !done(); {
		for _, s := range all {
			var c [8]fabric.Completion
			n, err := s.Poll(c[:])
			if err != nil {
				t.Fatal(err)
			}
			s.came = append(s.came, c[:n]...)
		}
		if time.Now().After(stop) {
			t.Fatalf("%s: nothing for 20 s; the target has %+v and dropped %d", what, all[0].came, all[0].Strangers())
		}
	}
}

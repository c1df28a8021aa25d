package sim

import (
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
)

// site is an endpoint with memory, for tests that watch one thing.
type site struct {
	t *testing.T
	fabric.Provider
	mem    []byte
	region fabric.Region
	comps  []fabric.Completion
	pe     libshmem.PE
	failed error // of a poll
}

const siteMemory = 4 << 20

func newSite(t *testing.T, n *Network, host int, c fabric.Config) *site {
	t.Helper()
	c.Tokens, c.MaxRecv = 256, 64
	p, err := n.Open(host, c)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, Provider: p, mem: make([]byte, siteMemory)}
	if s.region, err = p.Register(unsafe.Pointer(&s.mem[0]), uint64(len(s.mem))); err != nil {
		t.Fatal(err)
	}
	return s
}

func connect(sites ...*site) {
	var addrs [][]byte
	for _, s := range sites {
		addrs = append(addrs, s.Addr())
	}
	for pe, s := range libshmem.ByPE(sites) {
		s.pe = pe
		if err := s.Connect(addrs); err != nil {
			s.t.Fatal(err)
		}
	}
}

// acquaint has sites write to each other once, where that takes a handshake.
func acquaint(n *Network, sites ...*site) {
	if n.model.Handshake == 0 {
		return
	}
	for _, s := range sites {
		for _, to := range sites {
			if s == to {
				continue
			}
			s.post(func() error { return s.Write(s.rma(to.pe, to, siteMemory-1, siteMemory-1, 1, 255)) })
			if !run(func() bool { return len(s.comps) > 0 }, sites...) {
				s.t.Fatal("the first write to a peer does not end")
			}
			s.comps = nil
		}
	}
}

func (s *site) poll() {
	s.t.Helper()
	var c [16]fabric.Completion
	k, err := s.Poll(c[:])
	if err != nil {
		s.failed = err
	}
	s.comps = append(s.comps, c[:k]...)
}

// post posts until there is room.
func (s *site) post(f func() error) {
	s.t.Helper()
	for range 100_000 {
		switch err := f(); err {
		case nil:
			return
		case fabric.ErrAgain:
			s.poll()
		default:
			s.t.Fatal(err)
		}
	}
	s.t.Fatal("there is never room")
}

func (s *site) rma(pe libshmem.PE, to *site, from, at, n int, tok fabric.Token) *fabric.RMA {
	r := &fabric.RMA{
		PE: pe, Local: unsafe.Pointer(&s.mem[from]), Len: uint64(n), Desc: s.region.Desc, Remote: uint64(at), Key: to.region.Key, Token: tok,
	}
	if to.Caps().VirtualAddress {
		r.Remote += uint64(uintptr(unsafe.Pointer(&to.mem[0])))
	}
	return r
}

func (s *site) message(pe libshmem.PE, from, n int, tok fabric.Token) *fabric.Send {
	return &fabric.Send{To: pe, Buf: unsafe.Pointer(&s.mem[from]), Len: n, Desc: s.region.Desc, Token: tok}
}

func (s *site) receive(tok fabric.Token) {
	s.t.Helper()
	s.post(func() error {
		return s.Recv(unsafe.Pointer(&s.mem[siteMemory-(int(tok)+1)*4096]), 4096, s.region.Desc, tok)
	})
}

// run polls the sites until ok holds, and reports whether it did.
func run(ok func() bool, sites ...*site) bool {
	for range 200_000 {
		if ok() {
			return true
		}
		for _, s := range sites {
			if s.poll(); s.failed != nil {
				return false
			}
		}
	}
	return false
}

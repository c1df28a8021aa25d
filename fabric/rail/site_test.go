package rail_test

import (
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/rail"
	"libshmem/fabric/sim"
)

// site is an end with memory, for tests that watch one thing.
type site struct {
	*rail.Provider
	t      *testing.T
	mem    []byte
	region fabric.Region
	comps  []fabric.Completion
	lost   []string
	pe     libshmem.PE
}

const (
	siteTokens = 256
	siteMemory = 16 << 20
)

func newSite(t *testing.T, net *sim.Network, host, nics int, policy rail.Policy) *site {
	t.Helper()
	return newSiteOf(t, nics, policy, func(c fabric.Config) (fabric.Provider, error) { return net.Open(host, c) })
}

// newSiteOf returns a site whose NICs openNIC opens.
func newSiteOf(t *testing.T, nics int, policy rail.Policy, openNIC func(fabric.Config) (fabric.Provider, error)) *site {
	t.Helper()
	s := &site{t: t, mem: make([]byte, siteMemory)}
	var err error
	s.Provider, err = openEach(openNIC, nics, rail.Config{
		Config: fabric.Config{Tokens: siteTokens, MaxRecv: 64, Data: true}, Policy: policy, Lost: func(text string) { s.lost = append(s.lost, text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.region, err = s.Register(unsafe.Pointer(&s.mem[0]), siteMemory); err != nil {
		t.Fatal(err)
	}
	return s
}

func connect(t *testing.T, sites ...*site) {
	t.Helper()
	var addrs [][]byte
	for _, s := range sites {
		addrs = append(addrs, s.Addr())
	}
	for pe, s := range libshmem.ByPE(sites) {
		s.pe = pe
		if err := s.Connect(addrs); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *site) poll() {
	s.t.Helper()
	var c [32]fabric.Completion
	k, err := s.Poll(c[:])
	if err != nil {
		s.t.Fatal(err)
	}
	s.comps = append(s.comps, c[:k]...)
}

// rma names n bytes at an offset of s's memory and of another's.
func (s *site) rma(to *site, local, remote, n int, t fabric.Token) *fabric.RMA {
	r := &fabric.RMA{
		PE: to.pe, Local: unsafe.Pointer(&s.mem[local]), Len: uint64(n), Desc: s.region.Desc, Remote: uint64(remote), Key: to.region.Key, Token: t,
	}
	if to.Caps().VirtualAddress {
		r.Remote += uint64(uintptr(unsafe.Pointer(&to.mem[0])))
	}
	return r
}

// until polls all sites until ok holds.
func until(t *testing.T, what string, ok func() bool, sites ...*site) {
	t.Helper()
	for range 3_000_000 {
		if ok() {
			return
		}
		for _, s := range sites {
			s.poll()
		}
	}
	t.Fatalf("%s: not so after many polls", what)
}

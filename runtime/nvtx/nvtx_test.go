package nvtx

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/fabric/fabrictest"
	"libshmem/fabric/ofi"
)

func TestAround(t *testing.T) {
	var threads []int
	note := func() { threads = append(threads, unix.Gettid()) }
	inner := &fabrictest.NIC{Called: note}
	if p := Around(inner, nil); p != fabric.Provider(inner) {
		t.Error("there is something before the provider although no profiler listens")
	}
	var got []Name
	p := Around(inner, func(n Name) { got = append(got, n); note() })
	if p.Native() != (fabric.Native{}) {
		t.Error("something may go past the ranges")
	}
	inner.Refuse = fabric.ErrAgain
	if err := p.Send(new(fabric.Send)); err != fabric.ErrAgain {
		t.Errorf("send: %v", err)
	}
	inner.Refuse = nil
	if err := p.Write(new(fabric.RMA)); err != nil {
		t.Error(err)
	}
	if err := p.Read(new(fabric.RMA)); err != nil {
		t.Error(err)
	}
	if err := p.(fabric.Atomics).Atomic(new(fabric.AMO)); err != nil {
		t.Error(err)
	}
	if came, err := p.Wait(time.Second); !came || err != nil {
		t.Errorf("wait: %v, %v", came, err)
	}
	if want := []Name{Send, Leave, Write, Leave, Read, Leave, Atomic, Leave, Sleep, Leave}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for i := 0; i < len(threads); i += 3 {
		if at := threads[i : i+3]; at[0] != at[1] || at[1] != at[2] {
			t.Errorf("a range began on thread %d, worked on %d, and ended on %d", at[0], at[1], at[2])
		}
	}
}

func TestSeveral(t *testing.T) {
	if p, ok := Around(new(fabrictest.NICs), func(Name) {}).(fabric.Rails); !ok || len(p.Rails()) != 1 {
		t.Error("several NICs became one")
	}
}

// TestSuite holds the wrapped provider to the rules of every provider.
func TestSuite(t *testing.T) {
	fabrictest.Run(t, func(c fabric.Config) (fabric.Provider, error) {
		c.NICs = "lo"
		p, err := ofi.Open(c)
		if err != nil {
			return nil, err
		}
		return Around(p, func(Name) {}), nil
	}, fabrictest.Limits{})
}

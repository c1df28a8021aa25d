package proxy_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"libshmem"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy"
)

// A tiling is the layout of an eager token (device/shmem/eager_layout.h): tiles of data with a
// signal at their end, the last one short. Of a tile of 0 the signal is a word of its own, behind
// the data.
type tiling struct{ tile, signal int }

// signals are the places of the signals of a token.
func (l tiling) signals(token int) (places []int) {
	if l.tile == 0 {
		return []int{(token + 15) / 16 * 16}
	}
	data := l.tile - l.signal
	for k, rest := 0, token; rest > 0; k, rest = k+1, rest-data {
		places = append(places, k*l.tile+(min(rest, data)+l.signal-1)/l.signal*l.signal)
	}
	return places
}

func (l tiling) bytes(token int) int {
	all := l.signals(token)
	return all[len(all)-1] + max(l.signal, 8)
}

// wrap lays a token out, and unwrap takes it apart.
func (l tiling) wrap(slot, token []byte, epoch uint64) {
	from := 0
	for _, at := range l.signals(len(token)) {
		first := 0
		if l.tile > 0 {
			first = at / l.tile * l.tile
		}
		from += copy(slot[first:at], token[from:])
		binary.NativeEndian.PutUint64(slot[at:], epoch)
	}
}

func (l tiling) unwrap(token, slot []byte) {
	to := 0
	for _, at := range l.signals(len(token)) {
		first := 0
		if l.tile > 0 {
			first = at / l.tile * l.tile
		}
		to += copy(token[to:], slot[first:at])
	}
}

func (l tiling) ready(slot []byte, token int, epoch uint64) bool {
	for _, at := range l.signals(token) {
		if binary.NativeEndian.Uint64(slot[at:]) != epoch {
			return false
		}
	}
	return true
}

// tokens sends tokens one by one to one slot. It returns the mean virtual time until one is ready,
// and how many were ready with old bytes. fenced: the signal is a store behind a fence.
func tokens(t *testing.T, m sim.Model, l tiling, fenced bool, n, count int, seed uint64) (mean sim.Time, old int) {
	t.Helper()
	const page = 4096
	mem := new(memories)
	w := newWorld(t, m, seed, 2, 8*page+2*l.bytes(n), mem)
	defer w.close(mem)
	a, b := w.pes[0], w.pes[1]
	place := page - int(uintptr(at(b.heap))%page) // a slot begins at a page
	slot := b.heap[place : place+l.bytes(n)]
	image, want, got := a.heap[4*page:], make([]byte, n), make([]byte, n)
	var took sim.Time
	for epoch := uint64(1); epoch <= uint64(count) && !w.ended; epoch++ {
		for i := range want {
			want[i] = byte(w.rng.Uint32())
		}
		l.wrap(image, want, epoch)
		start := w.net.Now()
		r := new(proxy.Request)
		send := func() proxy.Status {
			signal := libshmem.Offset(place + l.signals(n)[0])
			switch {
			case l.tile > 0:
				return a.Put(1, libshmem.Offset(place), at(image), uint64(l.bytes(n)), r)
			case !fenced:
				return a.PutSignal(1, libshmem.Offset(place), at(image), uint64(n), signal, epoch, proxy.OpSet, r)
			}
			if st := a.Put(1, libshmem.Offset(place), at(image), uint64(n), r); st != proxy.Done && st != proxy.Pending {
				return st
			}
			a.Fence()
			for a.Store(1, signal, 8, epoch) == proxy.Again {
				w.poll(a)
			}
			return proxy.Pending
		}
		st := send()
		for ; st == proxy.Again; st = send() {
			w.poll(a)
		}
		if st == proxy.Failed {
			t.Fatal(a.Err())
		}
		w.until("a token", func() bool { return l.ready(slot, n, epoch) })
		took += w.net.Now() - start
		if l.unwrap(got, slot); !bytes.Equal(got, want) {
			old++
		}
		w.quiet(a) // the next token uses the same memory
	}
	return took / sim.Time(count), old
}

// inOrder gives a model of EFA the option of writing each aligned 128 bytes in order and once.
func inOrder(m sim.Model) sim.Model {
	m.Name += ", in order"
	m.Caps.Block, m.Faults.Duplicate = 128, 0
	return m
}

// TestSimEager: a token whose signals the network keeps behind their data is ready when its bytes
// are there, and never before. Where the network does not keep them, some are ready too early.
func TestSimEager(t *testing.T) {
	const n, count = 7168, 300
	line, block, none := tiling{128, 8}, tiling{4096, 16}, tiling{}
	for _, c := range []struct {
		model sim.Model
		eager tiling
	}{
		{inOrder(sim.EFADirect()), line},
		{inOrder(sim.EFA()), line},
		{sim.VerbsPaths(), block},
		{sim.VerbsPaths(), line},
	} {
		eager, old := tokens(t, c.model, c.eager, false, n, count, 1)
		signal, oldSignal := tokens(t, c.model, none, false, n, count, 1)
		fence, oldFence := tokens(t, c.model, none, true, n, count, 1)
		t.Logf("%-22s token of %d bytes: eager in tiles of %d %.2f us, put with signal %.2f us, put, fence and signal %.2f us",
			kind(c.model), n, c.eager.tile, float64(eager)/1e3, float64(signal)/1e3, float64(fence)/1e3)
		if old+oldSignal+oldFence > 0 {
			t.Errorf("%s: tokens with old bytes: %d eager, %d with a signal, %d with a fence", kind(c.model), old, oldSignal, oldFence)
		}
		if eager > signal {
			t.Errorf("%s: an eager token takes %d ns, one with a signal %d", kind(c.model), eager, signal)
		}
	}
	without := sim.VerbsPaths()
	without.Caps.Block = 0
	for _, c := range []struct {
		model sim.Model
		eager tiling
	}{
		{sim.EFADirect(), line}, {inOrder(sim.EFADirect()), block}, {without, block},
	} {
		if _, old := tokens(t, c.model, c.eager, false, n, count, 1); old == 0 {
			t.Errorf("%s: no token in tiles of %d was ready too early", kind(c.model), c.eager.tile)
		}
	}
}

package proxy

import (
	"bytes"
	"encoding/binary"
	"testing"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/layout"
)

// A tiling is the layout of an eager token (device/shmem/eager_layout.h): tiles of data with a
// signal at their end, the last one short. Of a tile of 0 the signal is a word of its own, behind
// the data.
type tiling struct{ tile, signal int }

// signals returns the places of the signals of a token.
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

// The ways to send a token.
const (
	inTiles  = iota
	notified // a write of the token and its signal, with a notification
	signalled
	fenced // a put, a fence, and the signal as a store
	waysToSend
)

// polling lets time pass until ok holds. Both PEs poll after each event, as PEs that wait do, so
// that nothing waits for a poll. In until, where a poll is an event, a completion would wait for
// the next packet.
func (w *world) polling(what string, ok func() bool) {
	for range 1_000_000 {
		w.net.Manual(true)
		for _, p := range w.pes {
			w.poll(p)
		}
		w.net.Manual(false)
		if w.ended || ok() {
			return
		}
		w.net.Step()
	}
	w.fail("%s: not so after many events", what)
}

// measureTokens sends tokens one by one to one slot. It returns the mean virtual time until one is
// ready, how many were ready with old bytes, and how many notifications came with a write.
func measureTokens(t *testing.T, m sim.Model, way int, l tiling, n, count int, seed uint64) (mean sim.Time, old int, with uint64) {
	t.Helper()
	const page = 4096
	mem := new(memories)
	w := newWorld(t, m, seed, 2, 8*page+2*l.bytes(n), mem)
	defer w.close(mem)
	w.sleeps = false
	a, b := w.pes[0], w.pes[1]
	place := page - int(uintptr(simAt(b.heap))%page) // a slot begins at a page
	slot := b.heap[place : place+l.bytes(n)]
	image, want, got := a.heap[4*page:], make([]byte, n), make([]byte, n)
	signal := libshmem.Offset(place + l.signals(n)[0])
	counter := b.memory[simInternal+simCounterOffset:]
	var took sim.Time
	for epoch := uint64(1); epoch <= uint64(count) && !w.ended; epoch++ {
		for i := range want {
			want[i] = byte(w.rng.Uint32())
		}
		l.wrap(image, want, epoch)
		start := w.net.Now()
		r := new(Request)
		send := func() Status {
			switch way {
			case inTiles:
				return a.Put(1, libshmem.Offset(place), simAt(image), uint64(l.bytes(n)), r)
			case notified:
				return a.PutSignal(1, libshmem.Offset(place), simAt(image), uint64(l.bytes(n)), simCounterOffset, 1, fabric.OpAdd, r)
			case signalled:
				return a.PutSignal(1, libshmem.Offset(place), simAt(image), uint64(n), signal, epoch, fabric.OpSet, r)
			}
			if st := a.Put(1, libshmem.Offset(place), simAt(image), uint64(n), r); st != Done && st != Pending {
				return st
			}
			a.Fence()
			for a.Store(1, signal, 8, epoch) == Again {
				w.poll(a)
			}
			return Pending
		}
		st := send()
		for ; st == Again; st = send() {
			w.poll(a)
		}
		if st == Failed {
			t.Fatal(a.Err())
		}
		w.polling("a token", func() bool {
			if way == notified && binary.NativeEndian.Uint64(counter) != epoch {
				return false
			}
			return way == notified || l.ready(slot, n, epoch)
		})
		took += w.net.Now() - start
		if l.unwrap(got, slot); !l.ready(slot, n, epoch) || !bytes.Equal(got, want) {
			old++
		}
		w.quiet(a) // the next token uses the same memory
	}
	return took / sim.Time(count), old, a.Report.Count()[layout.Notified]
}

// inOrder gives a model of EFA the option of writing each aligned 128 bytes in order and once.
func inOrder(m sim.Model) sim.Model {
	m.Name += ", in order"
	m.Caps.Block, m.Faults.Duplicate = 128, 0
	return m
}

// TestSimEager: a token whose signals the network keeps behind their data is ready when its bytes
// are there, and never before. Where the network does not keep them, some are ready too early. A
// notification that comes with the write is as early as the tiles, on every network that carries
// it. docs/decisions/0048 and docs/guides/eager.md have the table, and the guide has the plot,
// which -eager.plot draws.
func TestSimEager(t *testing.T) {
	const n, count = 7168, 300
	line, block, none := tiling{128, 8}, tiling{4096, 16}, tiling{}
	t.Log("| model | eager | notification | put with a signal | put, fence, signal |")
	var rows []barRow
	for _, c := range []struct {
		model sim.Model
		eager tiling // that the network keeps
		drawn string // the name in the plot
	}{
		{inOrder(sim.EFADirect()), line, "efa-direct, 128 in order"},
		{inOrder(sim.EFA()), line, "efa, 128 in order"},
		{sim.EFADirect(), none, ""},
		{sim.EFA(), none, ""},
		{sim.VerbsPaths(), block, "verbs over many paths, 4096"},
		{sim.VerbsPaths(), line, ""},
		{sim.Verbs(), none, "verbs"},
		{sim.TCP(), none, "tcp"},
	} {
		var us [waysToSend]float64
		for way := range waysToSend {
			l := none
			if way == inTiles {
				if l = c.eager; l == none {
					continue
				}
			}
			took, old, with := measureTokens(t, c.model, way, l, n, count, 1)
			us[way] = float64(took) / float64(sim.Microsecond)
			if old > 0 {
				t.Errorf("%s: %d tokens with old bytes by way %d", kind(c.model), old, way)
			}
			if carries := !c.model.Caps.SendAfterWrite; way == notified && (with == count) != carries {
				t.Errorf("%s: %d of %d notifications came with a write", kind(c.model), with, count)
			}
		}
		if c.drawn != "" {
			rows = append(rows, barRow{c.drawn, us})
		}
		t.Logf("| %s, tiles of %d | %.1f | %.1f | %.1f | %.1f |", kind(c.model), c.eager.tile, us[inTiles], us[notified], us[signalled], us[fenced])
		if us[inTiles] > us[signalled] || us[notified] > 1.01*us[signalled] { // it has the signal's bytes, too
			t.Errorf("%s: a token takes %.2f us in tiles, %.2f with a notification, %.2f with a signal", kind(c.model), us[inTiles], us[notified], us[signalled])
		}
	}
	if *eagerPlot != "" {
		drawBars(t, *eagerPlot, rows)
	}
	without := sim.VerbsPaths()
	without.Caps.Block = 0
	for _, c := range []struct {
		model sim.Model
		eager tiling
	}{
		{sim.EFADirect(), line}, {inOrder(sim.EFADirect()), block}, {without, block},
	} {
		if _, old, _ := measureTokens(t, c.model, inTiles, c.eager, n, count, 1); old == 0 {
			t.Errorf("%s: no token in tiles of %d was ready too early", kind(c.model), c.eager.tile)
		}
	}
}

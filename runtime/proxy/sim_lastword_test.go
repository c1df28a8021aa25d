package proxy

import (
	"bytes"
	"encoding/binary"
	"testing"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/sim"
)

// The ways in which the last of many puts may say that all are there.
const (
	lastSignal       = iota // its signal is the word
	lastNotification        // its notification, on networks with immediate data in the write itself
	fencedSignal            // as lastSignal, but behind a fence
	lastWays
)

// missing puts pages to PE 1, of which only the last one announces anything, and returns how many
// of them are incomplete when PE 1 learns of the last.
func missing(t *testing.T, m sim.Model, seed uint64, way, pages, n int, mem *memories) int {
	t.Helper()
	w := newWorld(t, m, seed, 2, 2*pages*n+4096, mem)
	defer w.close(mem)
	a, b := w.pes[0], w.pes[1]
	to, from := b.heap[4096:4096+pages*n], a.heap[4096+pages*n:]
	for i := range from {
		from[i] = 1
	}
	for i := range pages {
		source, place := simAt(from[i*n:]), libshmem.Offset(4096+i*n)
		post := func() Status { return a.Put(1, place, source, uint64(n), nil) }
		if i == pages-1 {
			word, op := libshmem.Offset(0), fabric.OpSet
			if way == lastNotification {
				word, op = simCounterOffset, fabric.OpAdd
			}
			if way == fencedSignal {
				a.Fence()
			}
			post = func() Status { return a.PutSignal(1, place, source, uint64(n), word, 1, op, nil) }
		}
		w.until("room", func() bool { return post() != Again })
	}
	word := b.heap
	if way == lastNotification {
		word = b.memory[simInternal+simCounterOffset:]
	}
	w.until("the last page", func() bool { return binary.NativeEndian.Uint64(word) != 0 })
	lost := 0
	for i := range pages {
		if bytes.IndexByte(to[i*n:(i+1)*n], 0) >= 0 {
			lost++
		}
	}
	w.quiet(a)
	if bytes.IndexByte(to, 0) >= 0 {
		t.Errorf("%s, seed %d: after a quiet a page is incomplete", m.Name, seed)
	}
	return lost
}

// Where a program may let the last of its puts announce all of them without a fence
// (shmemx_put_ordered), they are there when it does. On EFA they are not: when the last write
// itself brings the word, as immediate data, it comes before the bytes of others. As a message it
// waits for the numbers of the writes before it as long as these have numbers, which no caller can
// count on. Behind a fence it comes last everywhere.
func TestSimLastWord(t *testing.T) {
	const pages, n, seeds = 64, 8192, 20
	rails := sim.TCP()
	rails.Name, rails.NICs, rails.Rails = "tcp, three NICs", 3, 3
	mem := new(memories)
	for _, m := range []sim.Model{sim.EFA(), sim.EFADirect(), sim.VerbsPaths(), sim.Verbs(), sim.TCP(), rails} {
		early := [lastWays]int{}
		for seed := range uint64(seeds) {
			for way := range lastWays {
				if missing(t, sockets(m, seed), seed, way, pages, n, mem) > 0 {
					early[way]++
				}
			}
		}
		w := newWorld(t, m, 1, 2, 4096, mem)
		ordered := w.pes[0].Caps().SendAfterWrite
		w.close(mem)
		t.Logf("%s, ordered %v: the word of the last page comes before others in %d of %d runs as a signal, in %d as a notification, in %d behind a fence",
			m.Name, ordered, early[lastSignal], seeds, early[lastNotification], early[fencedSignal])
		if ordered && early[lastSignal]+early[lastNotification] > 0 || early[fencedSignal] > 0 {
			t.Errorf("%s: the word of the last page came before others", m.Name)
		}
		if want := m.Name == "tcp"; ordered != want {
			t.Errorf("%s: the network keeps puts in order: %v", m.Name, ordered)
		}
		if early[lastNotification] == 0 && (m.Name == "efa" || m.Name == "efa-direct") {
			t.Errorf("%s: in no run the word of the last page came before others", m.Name)
		}
	}
}

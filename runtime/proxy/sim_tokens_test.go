package proxy

import (
	"encoding/binary"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/fabric/rail"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/layout"
	"libshmem/tests/need"
)

// A tokenPath is how tokens go on a network: in the tile that it keeps, as a write with a
// notification, or as a put with a signal.
type tokenPath struct {
	way int
	tiling
}

// A tokenSlot is a slot of a flow, with what its sender and its reader know of it.
type tokenSlot struct {
	sent    uint64   // epoch of the last token
	posting bool     // that token is laid out, and the engine has had no room for it
	request *Request // of its write
	read    uint64   // epoch of the last token that was read
	telling bool     // its answer had no room yet
}

// A tokenFlow is the tokens of a PE to another: each to a slot that is free, whenever there is one.
type tokenFlow struct {
	w        *world
	path     tokenPath
	from, to *proc
	n, left  int // bytes of a token, tokens that are to be sent
	unread   int
	place    int // of the slots of each PE
	images   int // of the tokens that are laid out
	slots    []tokenSlot
	got      []byte
}

const tokenSlots = 6

func (f *tokenFlow) stride() int { return (f.path.bytes(f.n) + 4095) / 4096 * 4096 }

// tokenHeap returns the heap that PEs need for a flow: a page of answers, slots and images.
func tokenHeap(l tiling, n int) int {
	return 2*4096 + 2*tokenSlots*((l.bytes(n)+4095)/4096*4096)
}

// word returns the word number i of the token of an epoch.
func (f *tokenFlow) word(slot int, epoch uint64, i int) uint64 {
	return (epoch<<32 | uint64(f.from.me)<<24 | uint64(slot)<<16 | uint64(i)) * 0x9e37_79b9_7f4a_7c15
}

func (f *tokenFlow) fill(token []byte, slot int, epoch uint64) {
	for i := range len(token) / 8 {
		binary.NativeEndian.PutUint64(token[8*i:], f.word(slot, epoch, i))
	}
}

// send lays the next token of a slot out when the slot is free and the write of the token before
// has ended, and posts it. Without the second, a NIC that is lost may have an old token sent again.
func (f *tokenFlow) send(slot int) {
	s := &f.slots[slot]
	image := f.from.heap[f.images+slot*f.stride():][:f.path.bytes(f.n)]
	if !s.posting {
		answered := binary.NativeEndian.Uint64(f.from.heap[8*slot:])
		if f.left == 0 || answered != s.sent || s.request != nil && atomic.LoadUint32(&s.request.Done) == 0 {
			return
		}
		f.left--
		s.sent++
		s.posting, s.request = true, nil
		f.fill(f.got[:f.n], slot, s.sent)
		f.path.wrap(image, f.got[:f.n], s.sent)
	}
	pe, to := libshmem.PE(f.to.me), libshmem.Offset(f.place+slot*f.stride())
	r := new(Request)
	var st Status
	switch f.path.way {
	case inTiles:
		st = f.from.Put(pe, to, simAt(image), uint64(len(image)), r)
	case notified:
		st = f.from.PutSignal(pe, to, simAt(image), uint64(len(image)), simCounterOffset+libshmem.Offset(8*slot), 1, fabric.OpAdd, r)
	default:
		st = f.from.PutSignal(pe, to, simAt(image), uint64(f.n), to+libshmem.Offset(f.path.signals(f.n)[0]), s.sent, fabric.OpSet, r)
	}
	switch st {
	case Failed:
		f.w.fail("PE %d: slot %d, epoch %d: %v", f.from.me, slot, s.sent, f.from.Err())
	case Pending:
		s.request = r
		fallthrough
	case Done:
		s.posting = false
	}
}

// there reports whether a token is there, and fails where an epoch was skipped.
func (f *tokenFlow) there(slot int, bytes []byte, epoch uint64) bool {
	look := func(what string, seen uint64) bool {
		if seen != epoch && seen != epoch-1 {
			f.w.fail("PE %d: slot %d: %s is at epoch %d, and epoch %d is expected", f.to.me, slot, what, seen, epoch)
		}
		return seen == epoch
	}
	if f.path.way == notified {
		if !look("the counter", binary.NativeEndian.Uint64(f.to.memory[simInternal+simCounterOffset+8*slot:])) {
			return false
		}
		seen := binary.NativeEndian.Uint64(bytes[f.path.signals(f.n)[0]:])
		if seen != epoch { // it is there, or it is wrong
			f.w.fail("PE %d: slot %d: epoch %d is counted, and its signal is %d", f.to.me, slot, epoch, seen)
		}
		return seen == epoch
	}
	for _, at := range f.path.signals(f.n) {
		if !look("a signal", binary.NativeEndian.Uint64(bytes[at:])) {
			return false
		}
	}
	return true
}

// read looks at a slot, compares each byte of its token, and answers that the slot is free.
func (f *tokenFlow) read(slot int) {
	s := &f.slots[slot]
	if !s.telling {
		bytes := f.to.heap[f.place+slot*f.stride():][:f.path.bytes(f.n)]
		if !f.there(slot, bytes, s.read+1) {
			return
		}
		s.read++
		f.path.unwrap(f.got[:f.n], bytes)
		for i := range f.n / 8 {
			if got, want := binary.NativeEndian.Uint64(f.got[8*i:]), f.word(slot, s.read, i); got != want {
				f.w.fail("PE %d: slot %d, epoch %d, way %d, tiles of %d: byte %d is wrong: %#x, want %#x", f.to.me, slot, s.read, f.path.way, f.path.tile, 8*i, got, want)
				return
			}
		}
		f.unread--
		s.telling = true
	}
	switch f.to.Store(libshmem.PE(f.from.me), libshmem.Offset(8*slot), 8, s.read) {
	case Failed:
		f.w.fail("PE %d: answer for slot %d: %v", f.to.me, slot, f.to.Err())
	case Done, Pending:
		s.telling = false
	}
}

// runTokens has each PE of a world send tokens to the next, and returns how many there were, and
// how many notifications came with a write.
func runTokens(w *world, r tokenPath, n, each int) (tokens int, with uint64) {
	var flows []*tokenFlow
	for i, p := range w.pes {
		to := w.pes[(i+1)%len(w.pes)]
		place := 2*4096 - int(uintptr(simAt(to.heap))%4096) // a slot begins at a page
		f := &tokenFlow{w: w, path: r, from: p, to: to, n: n, left: each, unread: each, place: place, slots: make([]tokenSlot, tokenSlots), got: make([]byte, n)}
		f.images = place + tokenSlots*f.stride()
		flows = append(flows, f)
	}
	w.until("the tokens", func() bool {
		unread := 0
		for _, f := range flows {
			if slot := w.rng.IntN(2 * tokenSlots); slot < tokenSlots {
				f.send(slot)
			} else {
				f.read(slot - tokenSlots)
			}
			unread += f.unread
		}
		return unread == 0
	})
	for _, f := range flows {
		for slot := range f.slots { // the last answers
			w.until("an answer", func() bool {
				if f.slots[slot].telling {
					f.read(slot)
				}
				return !f.slots[slot].telling
			})
		}
		tokens += each
	}
	for _, p := range w.pes {
		with += p.Report.Count()[layout.Notified]
	}
	return tokens, with
}

// threeRails gives each host three NICs, of which one is lost.
func threeRails(m sim.Model) sim.Model {
	m.Name += ", a NIC is lost"
	m.NICs, m.Rails, m.Detect = 3, 3, 200*sim.Microsecond
	return m
}

// tokensOf runs worlds of one model until they have sent that many tokens by one path.
func tokensOf(t *testing.T, model sim.Model, r tokenPath, most int) {
	mem, tokens, with, lost := new(memories), 0, uint64(0), uint64(0)
	for seed := simPart.Seed(); tokens < most && !t.Failed(); seed++ {
		rng := rand.New(rand.NewPCG(seed, 17))
		m := model
		if rng.IntN(2) == 0 {
			if m = sim.Rough(m); r.way == inTiles {
				m.Faults.Duplicate = 0 // the promise is that bytes are written once
			}
		}
		n := []int{4048, 5000, 7168, 8192, 12000}[rng.IntN(5)]
		if r.way != inTiles && rng.IntN(4) == 0 {
			n = 200 // a message
		}
		if stripe = 2048; rng.IntN(2) == 0 {
			stripe = 128 << 10 // as in jobs; with 2048 a write is spread, and its notification is a message
		}
		pes := 2 + rng.IntN(2)
		w := newWorld(t, sockets(m, seed), seed, pes, tokenHeap(r.tiling, n), mem)
		if m.NICs > 1 {
			w.net.Plan(faults.Fault{At: sim.Time(rng.IntN(int(2 * sim.Millisecond))), Host: rng.IntN(pes), NIC: rng.IntN(3)})
		}
		k, k2 := runTokens(w, r, n, min(400, max(most/pes/8, 50)))
		tokens, with = tokens+k, with+k2
		for _, p := range w.pes {
			if several, ok := p.prov.(*rail.Provider); ok {
				for _, c := range several.Rails() {
					lost += c.Lost
				}
			}
		}
		w.close(mem)
	}
	if t.Failed() {
		return
	}
	t.Logf("%s: %d tokens by way %d in tiles of %d, %d came with a notification, %d ways lost", kind(model), tokens, r.way, r.tile, with, lost)
	if model.NICs > 1 && lost == 0 {
		t.Errorf("%s: no NIC was lost", kind(model))
	}
	if carries := r.way == notified && !model.Caps.SendAfterWrite; carries != (with > 0) {
		t.Errorf("%s: %d notifications came with a write", kind(model), with)
	}
}

// Tokens go to slots that are used again as soon as their readers have answered: each is there
// once, whole, and in the order of its slot, in the tile that the network keeps, with notifications
// and with signals.
func TestSimTokens(t *testing.T) {
	defer func(before uint64) { stripe = before }(stripe)
	line, block := tokenPath{inTiles, tiling{128, 8}}, tokenPath{inTiles, tiling{4096, 16}}
	counted, signal := tokenPath{notified, tiling{}}, tokenPath{signalled, tiling{}}
	type run struct {
		model sim.Model
		path  tokenPath
	}
	for _, network := range []struct {
		name string
		runs []run
	}{
		{"efa", []run{
			{inOrder(sim.EFADirect()), line}, {inOrder(sim.EFA()), line}, {sim.EFADirect(), counted}, {sim.EFA(), counted},
			{sim.EFA(), signal}, {threeRails(sim.EFA()), counted}, {threeRails(sim.EFADirect()), counted},
		}},
		{"verbs", []run{{sim.VerbsPaths(), block}, {sim.VerbsPaths(), line}, {sim.VerbsPaths(), counted}, {sim.Verbs(), counted}}},
		{"tcp", []run{{sim.TCP(), signal}, {sim.TCP(), counted}}},
	} {
		t.Run(network.name, func(t *testing.T) {
			for _, r := range network.runs {
				tokensOf(t, r.model, r.path, simPart.Share(need.Load("tokens"))/len(network.runs))
			}
		})
	}
}

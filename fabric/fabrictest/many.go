package fabrictest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"libshmem"
	"libshmem/fabric"
)

// fences tests that an operation with a fence begins when all earlier ones are complete at the
// target, whatever order the network keeps without a fence.
func fences(t *testing.T, s *suite) {
	all := s.with(fabric.Config{Fence: true, Data: true}).endpoints(t, 2)
	a, b := all[0], all[1]
	if !a.caps.Fence {
		t.Logf("%s has none", a.caps.Provider)
		return
	}
	const flag = 1 << 20
	b.receive(t, all, 0, message)
	for round := 1; round <= 100; round++ {
		n := roundBytes(round)
		fill(a.mem[atSource:atSource+n], round)
		binary.NativeEndian.PutUint64(a.mem[atSource+flag:], uint64(round))
		w := a.rma(1, b, atSource, 0, n, firstOther)
		postRetrying(t, all, "write", func() error { return a.prov.Write(&w) })
		what, seen := "", func() bool { return false }
		switch round % 3 {
		case 0:
			what = "flag"
			f := a.rma(1, b, atSource+flag, flag, 8, firstOther+1)
			f.Fence = true
			postRetrying(t, all, "flag", func() error { return a.prov.Write(&f) })
			seen = func() bool { return binary.NativeEndian.Uint64(b.mem[flag:]) == uint64(round) }
		case 1:
			what = "message"
			m := fabric.Send{To: 1, Buf: a.at(atSource + flag), Len: 8, Desc: a.region.Desc, Token: firstOther + 1, Fence: true}
			postRetrying(t, all, "message", func() error { return a.prov.Send(&m) })
			seen = func() bool {
				_, ok := b.removeCompletion(0)
				return ok
			}
		case 2:
			what = "read"
			// The Read returns the bytes of the Write before it.
			r := a.rma(1, b, atSource+2*flag, 0, n, firstOther+1)
			r.Fence = true
			postRetrying(t, all, "read", func() error { return a.prov.Read(&r) })
			seen = func() bool { c, ok := a.removeCompletion(firstOther + 1); return ok && c.Err == 0 }
		}
		until(t, all, what, seen)
		if what == "read" {
			checkPattern(t, "read behind a fence", a.mem[atSource+2*flag:][:n], round)
		} else {
			checkPattern(t, "write before a "+what+" with a fence", b.mem[:n], round)
			a.waitDone(t, all, firstOther+1, map[string]fabric.Kind{"flag": fabric.KindWrite, "message": fabric.KindSend}[what])
		}
		if what == "message" {
			b.receive(t, all, 0, message)
		}
		a.waitDone(t, all, firstOther, fabric.KindWrite)
	}
}

// severalEndpoints tests PEs with several endpoints each, all with the same memory registered. A
// message that is sent from endpoint i arrives at endpoint i of the other PE, and the words of all
// writes arrive.
func severalEndpoints(t *testing.T, s *suite) {
	const perPE, pes = 3, 2
	var sets [perPE][]*endpoint // set i has endpoint i of each PE, connected with each other
	var flat []*endpoint
	for i := range sets {
		sets[i] = make([]*endpoint, pes)
		addrs := make([][]byte, pes)
		for pe := range pes {
			e := s.endpoint(t)
			if i > 0 { // use the memory of the PE's first endpoint
				if err := e.prov.Unregister(e.region); err != nil {
					t.Fatal(err)
				}
				e.mem = sets[0][pe].mem
				var err error
				if e.region, err = e.prov.Register(e.at(0), uint64(len(e.mem))); err != nil {
					t.Fatal(err)
				}
			}
			sets[i][pe], addrs[pe] = e, e.prov.Addr()
			flat = append(flat, e)
			for _, other := range flat[:len(flat)-1] {
				if bytes.Equal(other.prov.Addr(), addrs[pe]) {
					t.Fatal("two endpoints have one address")
				}
			}
		}
		for _, e := range sets[i] {
			if err := e.prov.Connect(addrs); err != nil {
				t.Fatal(err)
			}
		}
	}
	const each = 50
	for i := range sets {
		for tok := range fabric.Token(receipt / perPE) {
			for _, e := range sets[i] {
				e.receive(t, flat, fabric.Token(i)*(receipt/perPE)+tok, message)
			}
		}
	}
	for k := range each {
		for i := range sets {
			for pe, a := range libshmem.ByPE(sets[i]) {
				b := sets[i][1-pe]
				at := atSource + 8*(i*each+k)
				binary.NativeEndian.PutUint64(a.mem[at:], uint64(100*i+k+1))
				w := a.rma(1-pe, b, at, 8*(i*each+k), 8, firstOther+fabric.Token(2*k))
				postRetrying(t, flat, "write", func() error { return a.prov.Write(&w) })
				a.send(t, flat, 1-pe, at, 8, firstOther+fabric.Token(2*k+1))
			}
		}
	}
	// All endpoints are polled in turn: a sender may wait for a receive buffer of its target.
	got := map[*endpoint]map[uint64]bool{}
	ended, messages := 0, 0
	for _, e := range flat {
		got[e] = map[uint64]bool{}
	}
	until(t, flat, "messages and completions", func() bool {
		messages = 0
		for k, e := range flat {
			for _, c := range e.comps {
				v := binary.NativeEndian.Uint64(e.mem[e.buffer(c.Token):])
				switch {
				case c.Err != 0:
					t.Fatal(e.prov.ErrorText(&c))
				case c.Kind != fabric.KindRecv:
					ended++
				case int(v)/100 != k/pes || got[e][v]:
					t.Fatalf("endpoint %d: message %d", k/pes, v)
				default:
					got[e][v] = true
					e.repost(t, c.Token)
				}
			}
			e.comps = e.comps[:0]
			messages += len(got[e])
		}
		return messages == len(flat)*each && ended == 2*messages // a write and a send for each
	})
	for i := range sets {
		for _, e := range sets[i] {
			for k := range each {
				word := e.mem[8*(i*each+k):][:8]
				until(t, flat, "write", func() bool { return binary.NativeEndian.Uint64(word) == uint64(100*i+k+1) })
			}
		}
	}
}

// again tests ErrAgain: it posts each kind of operation until the provider's queue is full, while
// no endpoint polls, and expects that exactly the accepted operations take effect and complete.
func again(t *testing.T, s *suite) {
	const most = 2000
	s = s.with(fabric.Config{Data: true, Atomics: true})
	for _, kind := range []string{"injected message", "message", "injected write", "write", "read", "write with data", "atomic operation"} {
		t.Run(kind, func(t *testing.T) {
			all := s.endpoints(t, 2)
			a, b := all[0], all[1]
			if kind == "write with data" && (a.caps.Data < 4 || s.limits.Data != "") || kind == "atomic operation" && !a.caps.Atomics.Has(fabric.OpAdd, 8) {
				t.Logf("%s has none", a.caps.Provider)
				return
			}
			if kind == "injected write" && a.caps.MaxInjectWrite < 8 {
				t.Logf("%s has none", a.caps.Provider)
				return
			}
			if kind == "write with data" {
				b.feed(t, all)
			}
			free := newPool(tokens - firstOther)
			sent, refused, ended, received := 0, 0, 0, 0
			post := func() error {
				at := atSource + 8*(sent%most)
				binary.NativeEndian.PutUint64(a.mem[at:], uint64(sent+1))
				tok := fabric.Token(0)
				if len(free) > 0 {
					tok = free.next()
				}
				w := a.rma(1, b, at, 8*sent, 8, tok)
				m := fabric.Send{To: 1, Buf: a.at(at), Len: 8, Desc: a.region.Desc, Token: tok}
				switch kind {
				case "injected message":
					m.Inject = true
					return a.prov.Send(&m)
				case "message":
					return a.prov.Send(&m)
				case "injected write":
					w.Inject = true
					return a.prov.Write(&w)
				case "write with data":
					w.Notify, w.Data = true, uint32(sent)
					return a.prov.Write(&w)
				case "read":
					w.Local = a.at(atSource + 8*most + 8*sent)
					return a.prov.Read(&w)
				case "atomic operation":
					o := a.amo(1, b, fabric.OpAdd, 8, 8*sent, uint64(sent+1), tok)
					return a.prov.(fabric.Atomics).Atomic(&o)
				}
				return a.prov.Write(&w)
			}
			inject := kind == "injected message" || kind == "injected write"
			if kind == "read" {
				for k := range most {
					binary.NativeEndian.PutUint64(b.mem[8*k:], uint64(k+1))
				}
			}
			if kind == "message" || kind == "injected message" {
				for tok := range fabric.Token(receipt) {
					b.receive(t, all, tok, message)
				}
			}
			more := func() {
				for sent < most && (inject || len(free) > 0) {
					if err := post(); err == fabric.ErrAgain {
						refused++
						return
					} else if err != nil {
						t.Fatal(err)
					}
					if sent++; !inject {
						free.take()
					}
				}
			}
			more()
			first := sent
			until(t, all, kind, func() bool {
				for _, c := range a.comps {
					if c.Err != 0 {
						t.Fatal(a.prov.ErrorText(&c))
					}
					ended++
					free = append(free, c.Token)
				}
				a.comps = a.comps[:0]
				for _, c := range b.comps {
					if c.Err != 0 {
						t.Fatal(b.prov.ErrorText(&c))
					}
					received++
					if c.Token < receipt {
						b.repost(t, c.Token)
					}
				}
				b.comps = b.comps[:0]
				more()
				return sent == most && (inject || ended == most) && (kind != "message" && kind != "injected message" && kind != "write with data" || received == most)
			})
			t.Logf("%d posted before the first poll, %d refused", first, refused)
			if inject && ended > 0 {
				t.Errorf("%d completions of injected operations", ended)
			}
			place := b.mem
			switch kind {
			case "message", "injected message":
				return
			case "read":
				place = a.mem[atSource+8*most:]
			}
			for k := range most {
				until(t, all, fmt.Sprintf("word %d", k), func() bool { return binary.NativeEndian.Uint64(place[8*k:]) == uint64(k+1) })
			}
		})
	}
}

// closed tests that the provider does not write to the memory of a closed endpoint, and that the
// endpoint's peers can go on with each other.
func closed(t *testing.T, s *suite) {
	if limit := s.limits.Close; limit != "" {
		t.Logf("known limit: %s", limit)
		return
	}
	all := s.endpoints(t, 3)
	a, b, c := all[0], all[1], all[2]
	for tok := range fabric.Token(8) {
		b.receive(t, all, tok, message)
	}
	c.receive(t, all, 0, message)
	fill(a.mem[atSource:atSource+1<<20], 1)
	for k := range fabric.Token(4) {
		w := a.rma(1, b, atSource, int(k)<<20, 1<<20, firstOther+k)
		postRetrying(t, all, "write", func() error { return a.prov.Write(&w) })
		a.send(t, all, 1, atSource, message, firstOther+10+k)
	}
	r := b.rma(0, a, atSource, 0, 1<<20, firstOther)
	postRetrying(t, all, "read", func() error { return b.prov.Read(&r) })
	if err := b.prov.Close(); err != nil {
		t.Fatal(err)
	}
	clear(b.mem)
	left := all[:0:0]
	left = append(left, a, c)
	// Operations under way complete, with or without an error, or never: their peer's endpoint is
	// closed.
	var q quiet
	for !q.lasts(50*time.Millisecond, false) {
		for _, e := range left {
			if _, err := e.prov.Poll(e.batch[:]); err != nil {
				t.Logf("a peer was closed: %v", err)
			}
		}
	}
	for i, v := range b.mem {
		if v != 0 {
			t.Fatalf("byte %d of a closed end's memory was written", i)
		}
	}
	a.send(t, left, 2, atSource, 64, firstOther+20)
	c.waitDone(t, left, 0, fabric.KindRecv)
	checkPattern(t, "message after a peer was closed", c.mem[c.buffer(0):][:64], 1)
}

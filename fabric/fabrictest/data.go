package fabrictest

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"libshmem"
	"libshmem/fabric"
)

// withData opens n endpoints that may write with immediate data. It returns nil where the provider
// has none.
func withData(t *testing.T, s *suite, n int) []*endpoint {
	t.Helper()
	all := s.with(fabric.Config{Data: true}).endpoints(t, n)
	if c := all[0].caps; c.Data < 4 {
		t.Logf("%s has no immediate data of 4 bytes", c.Provider)
		return nil
	}
	if limit := s.limits.Data; limit != "" {
		t.Logf("known limit: %s", limit)
		return nil
	}
	return all
}

// feed posts the receive buffers of an endpoint if writes with immediate data use them up.
func (e *endpoint) feed(t *testing.T, all []*endpoint) {
	t.Helper()
	if e.caps.DataTakesRecv {
		for tok := range fabric.Token(receipt) {
			e.receive(t, all, tok, message)
		}
	}
}

// immediateData removes the next KindData completion from e.comps, checks its token and its PE, and
// returns its data; false: there is none.
func (e *endpoint) immediateData(t *testing.T, from libshmem.PE) (uint32, bool) {
	t.Helper()
	for i, c := range e.comps {
		if c.Kind != fabric.KindData {
			continue
		}
		e.comps = append(e.comps[:i], e.comps[i+1:]...)
		if c.Err != 0 {
			t.Fatalf("completion of data: %s", e.prov.ErrorText(&c))
		}
		switch took := c.Token < receipt; {
		case took != e.caps.DataTakesRecv, !took && c.Token != fabric.NoToken:
			t.Fatalf("completion of data with token %d", c.Token)
		case took:
			e.repost(t, c.Token)
		}
		if e.caps.Source && c.From() != from || !e.caps.Source && c.From() != libshmem.NoPE {
			t.Fatalf("completion of data says that PE %d wrote, which was PE %d (source %v)", c.From(), from, e.caps.Source)
		}
		return c.Data, true
	}
	return 0, false
}

// notified tests that the target gets one completion of KindData for each Write, with the right
// data, after all bytes of the Write have arrived.
func notified(t *testing.T, s *suite) {
	all := withData(t, s, 2)
	if all == nil {
		return
	}
	a, b := all[0], all[1]
	b.feed(t, all)
	values := []uint32{0, 1, 1 << 31, ^uint32(0), 0x12345678}
	for seed, n := range []int{8, 1, 64, 4096, 8192, 8193, 100000, 1 << 20, 8, 1 << 20} {
		for _, inject := range []bool{false, true} {
			if inject && n > a.caps.MaxInjectWrite {
				continue
			}
			fill(a.mem[atSource:atSource+n], seed+50)
			clear(b.mem[:n])
			op := a.rma(1, b, atSource, 0, n, firstOther)
			op.Notify, op.Data, op.Inject = true, values[seed%len(values)], inject
			postRetrying(t, all, "write with data", func() error { return a.prov.Write(&op) })
			var data uint32
			until(t, all, "data", func() (ok bool) { data, ok = b.immediateData(t, 0); return ok })
			if data != op.Data {
				t.Fatalf("data %#x arrived, and %#x was sent", data, op.Data)
			}
			checkPattern(t, "write with data", b.mem[:n], seed+50)
			if !inject {
				a.waitDone(t, all, firstOther, fabric.KindWrite)
			}
		}
	}
	settle(t, all)
	if len(a.comps)+len(b.comps) > 0 {
		t.Errorf("left over: %+v, %+v", a.comps, b.comps)
	}
}

// notifiedWithoutReceives tests that writes with data lose nothing and do not fail while the target
// has posted no receive buffer; a provider that needs one waits for it.
func notifiedWithoutReceives(t *testing.T, s *suite) {
	all := withData(t, s, 2)
	if all == nil {
		return
	}
	a, b := all[0], all[1]
	const n = receipt
	for i := range n {
		op := a.rma(1, b, atSource, 64*i, 64, firstOther+fabric.Token(i))
		op.Notify, op.Data = true, uint32(i)
		postRetrying(t, all, "write with data", func() error { return a.prov.Write(&op) })
	}
	settle(t, all)
	if b.caps.DataTakesRecv {
		if len(b.comps) > 0 {
			t.Errorf("%d completions without a receive buffer", len(b.comps))
		}
		b.feed(t, all)
	}
	got := map[uint32]int{}
	until(t, all, "data", func() bool {
		for {
			data, ok := b.immediateData(t, 0)
			if !ok {
				return len(got) == n
			}
			got[data]++
		}
	})
	for i := range uint32(n) {
		a.waitDone(t, all, firstOther+fabric.Token(i), fabric.KindWrite)
		if got[i] != 1 {
			t.Errorf("data %d came %d times", i, got[i])
		}
	}
}

// notifiedByMany tests writes with data of several PEs: the target gets each completion once, after
// the word of its Write has arrived.
func notifiedByMany(t *testing.T, s *suite) {
	const writers, each = 3, 400
	all := withData(t, s, writers+1)
	if all == nil {
		return
	}
	b := all[writers]
	b.feed(t, all)
	var sent, ended [writers]int
	var free [writers]pool
	for me := range free {
		free[me] = newPool(200)
	}
	seen := [writers][each]bool{}
	count := 0
	until(t, all, "data", func() bool {
		for me, a := range all[:writers] {
			for sent[me] < each && len(free[me]) > 0 {
				k := sent[me]
				at := atSource + 8*k
				binary.NativeEndian.PutUint64(a.mem[at:], uint64(me*each+k+1))
				op := a.rma(writers, b, at, 8*(me*each+k), 8, free[me].next())
				op.Notify, op.Data = true, uint32(me*each+k)
				if err := a.prov.Write(&op); err == fabric.ErrAgain {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				free[me].take()
				sent[me]++
			}
			for _, c := range a.comps {
				if c.Kind != fabric.KindWrite || c.Err != 0 {
					t.Fatalf("PE %d: %+v, %s", me, c, a.prov.ErrorText(&c))
				}
				free[me] = append(free[me], c.Token)
			}
			ended[me] += len(a.comps)
			a.comps = a.comps[:0]
		}
		for {
			next := libshmem.NoPE
			for _, c := range b.comps {
				if c.Kind == fabric.KindData {
					next = libshmem.PE(c.Data / each)
					break
				}
			}
			data, ok := b.immediateData(t, next)
			if !ok {
				return count == writers*each && ended == [writers]int{each, each, each}
			}
			if int(data) >= writers*each || seen[data/each][data%each] {
				t.Fatalf("data %d came twice, or was not sent", data)
			}
			if word := binary.NativeEndian.Uint64(b.mem[8*data:]); word != uint64(data)+1 {
				t.Fatalf("data %d is here, and its word is %d", data, word)
			}
			seen[data/each][data%each] = true
			count++
		}
	})
}

// overrun tests that an endpoint that does not poll while a peer writes with data gets all
// completions later, or an error that some are lost.
func overrun(t *testing.T, s *suite) {
	all := withData(t, s, 2)
	if all == nil {
		return
	}
	a, b := all[0], all[1]
	b.feed(t, all)
	// Some providers do not write to a peer that has never polled.
	first := a.rma(1, b, atSource, 0, 8, firstOther)
	postRetrying(t, all, "first write", func() error { return a.prov.Write(&first) })
	a.waitDone(t, all, firstOther, fabric.KindWrite)
	const most = 4 * tokens
	free := newPool(tokens - firstOther)
	sent := 0
	write := func() {
		for sent < most && len(free) > 0 {
			op := a.rma(1, b, atSource, 8*sent, 8, free.next())
			op.Notify, op.Data = true, uint32(sent)
			if err := a.prov.Write(&op); err == fabric.ErrAgain {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			free.take()
			sent++
		}
	}
	freeTokens := func() bool { // reports whether writes have completed
		n := len(a.comps)
		for _, c := range a.comps {
			free = append(free, c.Token)
		}
		a.comps = a.comps[:0]
		return n > 0
	}
	// b does not poll as long as a can post or gets completions.
	var q quiet
	for moved := true; sent < most && !q.lasts(100*time.Millisecond, moved); {
		before := sent
		write()
		a.poll(t)
		moved = freeTokens() || sent > before
	}
	t.Logf("%d writes posted while the target did not poll", sent)
	got := map[uint32]int{}
	for stop := time.Now().Add(timeout); len(got) < most; {
		write()
		a.poll(t)
		freeTokens()
		if _, err := b.pollFor(t); errors.Is(err, fabric.ErrOverrun) {
			t.Logf("after %d completions: %v", len(got), err)
			return
		} else if err != nil {
			t.Fatal(err)
		}
		for {
			data, ok := b.immediateData(t, 0)
			if !ok {
				break
			}
			if got[data]++; got[data] > 1 {
				t.Fatalf("data %d came twice", data)
			}
		}
		if time.Now().After(stop) {
			t.Fatalf("%d of %d completions came and no error reports the rest", len(got), sent)
		}
	}
}

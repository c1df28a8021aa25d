package fabrictest

import (
	"bytes"
	"testing"
	"time"

	"libshmem"
	"libshmem/fabric"
)

// messages tests that messages of many sizes arrive whole, in either direction.
func messages(t *testing.T, s *suite) {
	all := s.endpoints(t, 2)
	for seed, n := range []int{1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 1024, 2047, 4000, message - 1, message} {
		for from := range libshmem.PE(2) {
			a, b := all[from], all[1-from]
			fill(a.mem[atSource:atSource+n], seed)
			b.receive(t, all, 3, message)
			a.send(t, all, 1-from, atSource, n, firstOther)
			a.waitDone(t, all, firstOther, fabric.KindSend)
			if c := b.waitDone(t, all, 3, fabric.KindRecv); c.Len != uint64(n) {
				t.Fatalf("message of %d bytes: completion says %d", n, c.Len)
			}
			checkPattern(t, "message", b.mem[b.buffer(3):][:n], seed)
		}
	}
}

// injected tests that injected operations do not read their buffer later, and have no completion.
func injected(t *testing.T, s *suite) {
	all := s.endpoints(t, 2)
	a, b := all[0], all[1]
	if a.caps.MaxInject < 8 {
		t.Fatalf("MaxInject is %d: a word does not fit", a.caps.MaxInject)
	}
	for n := 1; n <= min(a.caps.MaxInject, message); n++ {
		b.receive(t, all, 0, message)
		source := a.mem[atSource : atSource+n]
		op := fabric.Send{To: 1, Buf: a.at(atSource), Len: n, Desc: a.region.Desc, Inject: true}
		postRetrying(t, all, "inject", func() error {
			fill(source, n)
			defer clear(source)
			return a.prov.Send(&op)
		})
		b.waitDone(t, all, 0, fabric.KindRecv)
		checkPattern(t, "injected message", b.mem[b.buffer(0):][:n], n)

		w := a.rma(1, b, atSource, n, n, 0)
		w.Inject = true
		if a.caps.MaxInjectWrite == 0 {
			if err := a.prov.Write(&w); err == nil || err == fabric.ErrAgain {
				t.Fatalf("an injected write of %d bytes, and none was granted: %v", n, err)
			}
		}
		if n > a.caps.MaxInjectWrite {
			continue
		}
		postRetrying(t, all, "inject", func() error {
			fill(source, n+1)
			defer clear(source)
			return a.prov.Write(&w)
		})
		arrived(t, all, b.mem[n:2*n], n+1)
		clear(b.mem[:2*n])
	}
	if len(a.comps) > 0 {
		t.Errorf("injected operations left %d completions: %+v", len(a.comps), a.comps)
	}
}

// oneSided tests Writes and Reads of 1 byte to 8 MiB, also at offsets without alignment.
func oneSided(t *testing.T, s *suite) {
	all := s.endpoints(t, 2)
	a, b := all[0], all[1]
	for seed, n := range []int{1, 3, 8, 64, 100, 4096, 65536, 100000, 1 << 20, biggest - 64} {
		for _, offset := range []int{0, 1, 64} {
			if offset+n > biggest || uint64(n) > a.caps.MaxMessage {
				continue
			}
			fill(a.mem[atSource:atSource+n], seed)
			clear(b.mem[offset : offset+n])
			if offset > 0 {
				b.mem[offset-1] = 0xee
			}
			b.mem[offset+n] = 0xee
			op := a.rma(1, b, atSource, offset, n, firstOther)
			postRetrying(t, all, "write", func() error { return a.prov.Write(&op) })
			a.waitDone(t, all, firstOther, fabric.KindWrite)
			arrived(t, all, b.mem[offset:offset+n], seed)
			if offset > 0 && b.mem[offset-1] != 0xee || b.mem[offset+n] != 0xee {
				t.Fatalf("write of %d bytes at %d touched its neighbours", n, offset)
			}

			clear(a.mem[atSource : atSource+n+1])
			op = a.rma(1, b, atSource, offset, n, firstOther+1)
			postRetrying(t, all, "read", func() error { return a.prov.Read(&op) })
			a.waitDone(t, all, firstOther+1, fabric.KindRead)
			checkPattern(t, "read", a.mem[atSource:atSource+n], seed)
			if a.mem[atSource+n] != 0 {
				t.Fatalf("read of %d bytes touched the next one", n)
			}
		}
	}
}

// arrived waits until b has the pattern of a seed, whose bytes may still be under way, and fails
// the test after timeout.
func arrived(t *testing.T, all []*endpoint, b []byte, seed int) {
	t.Helper()
	want := make([]byte, len(b))
	fill(want, seed)
	deadline := time.Now().Add(timeout)
	until(t, all, "arrival", func() bool { return bytes.Equal(b, want) || time.Now().After(deadline) })
	checkPattern(t, "write", b, seed)
}

// delivery tests Caps.DeliveryComplete: when a Write completes, its bytes are at the target.
func delivery(t *testing.T, s *suite) {
	all := s.endpoints(t, 2)
	a, b := all[0], all[1]
	if !a.caps.DeliveryComplete {
		t.Logf("%s does not promise it", a.caps.Provider)
		return
	}
	for seed, n := range []int{8, 4096, 65536, 1 << 20, 8, 1 << 20} {
		fill(a.mem[atSource:atSource+n], seed+100)
		op := a.rma(1, b, atSource, 0, n, firstOther)
		postRetrying(t, all, "write", func() error { return a.prov.Write(&op) })
		a.waitDone(t, all, firstOther, fabric.KindWrite)
		checkPattern(t, "delivered write", b.mem[:n], seed+100)
	}
}

// threePEs tests that the Writes of three PEs to each other do not mix.
func threePEs(t *testing.T, s *suite) {
	all := s.endpoints(t, 3)
	for me, a := range all {
		for pe, b := range all {
			if pe == me {
				continue
			}
			n := 1000 + me
			fill(a.mem[atSource+pe*message:][:n], 10*me+pe)
			op := a.rma(libshmem.PE(pe), b, atSource+pe*message, me*message, n, firstOther+fabric.Token(pe))
			postRetrying(t, all, "write", func() error { return a.prov.Write(&op) })
		}
	}
	for me, a := range all {
		for pe := range all {
			if pe != me {
				a.waitDone(t, all, firstOther+fabric.Token(pe), fabric.KindWrite)
			}
		}
	}
	for pe, b := range all {
		for me := range all {
			if pe != me {
				arrived(t, all, b.mem[me*message:][:1000+me], 10*me+pe)
			}
		}
	}
}

// flood tests that no message is lost if messages are sent until the provider's queue is full or
// all tokens are in use.
func flood(t *testing.T, s *suite) {
	if limit := s.limits.Full; limit != "" {
		t.Logf("not tested: known limit: %s", limit)
		return
	}
	all := s.endpoints(t, 2)
	a, b := all[0], all[1]
	for tok := range fabric.Token(receipt) {
		b.receive(t, all, tok, message)
	}
	const n = 2000 // bytes, so that they do not all fit the sockets' buffers
	const rounds = 3000
	var got, sent, again int
	next := firstOther
	free := make([]fabric.Token, 0, tokens)
	for tok := next; tok < tokens; tok++ {
		free = append(free, fabric.Token(tok))
	}
	sum := 0
	until(t, all, "flood", func() bool {
		for sent < rounds && len(free) > 0 {
			tok := free[len(free)-1]
			fill(a.mem[a.buffer(tok):][:n], sent)
			op := fabric.Send{To: 1, Buf: a.at(a.buffer(tok)), Len: n, Desc: a.region.Desc, Token: tok}
			err := a.prov.Send(&op)
			if err == fabric.ErrAgain {
				again++
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			free = free[:len(free)-1]
			sent++
		}
		for _, c := range a.comps {
			if c.Err != 0 {
				t.Fatal(a.prov.ErrorText(&c))
			}
			free = append(free, c.Token)
		}
		a.comps = a.comps[:0]
		for _, c := range b.comps {
			if c.Err != 0 || c.Kind != fabric.KindRecv || c.Len != n {
				t.Fatalf("receive: %+v, %s", c, b.prov.ErrorText(&c))
			}
			got++
			sum += int(b.mem[b.buffer(c.Token)])
			b.repost(t, c.Token)
		}
		b.comps = b.comps[:0]
		return got == rounds
	})
	want := 0
	for i := range rounds {
		want += int(pattern(0, i))
	}
	if sum != want || sent != rounds {
		t.Errorf("%d of %d messages arrived, sum %d, want %d", got, sent, sum, want)
	}
	t.Logf("no room %d times, %d operations in flight at most", again, tokens-firstOther)
}

// allocations tests that operations and Polls allocate no memory of Go.
func allocations(t *testing.T, s *suite) {
	all := s.endpoints(t, 2)
	a, b := all[0], all[1]
	msg := fabric.Send{To: 1, Buf: a.at(atSource), Len: 8, Desc: a.region.Desc, Inject: true}
	w := a.rma(1, b, atSource, 0, 8, firstOther)
	r := a.rma(1, b, atSource, 0, 8, firstOther+1)
	// The suite's own bookkeeping would allocate memory: so there are never more operations than
	// the queue has entries, and all completions are polled into one array.
	came := 0
	poll := func() {
		came += a.poll(t) + b.poll(t)
		a.comps, b.comps = a.comps[:0], b.comps[:0]
	}
	round := func() {
		came = 0
		for b.prov.Recv(b.at(b.buffer(0)), message, b.region.Desc, 0) != nil {
			poll()
		}
		for a.prov.Send(&msg) != nil {
			poll()
		}
		for a.prov.Write(&w) != nil {
			poll()
		}
		for a.prov.Read(&r) != nil {
			poll()
		}
		for stop := time.Now().Add(timeout); came < 3; {
			if poll(); time.Now().After(stop) {
				t.Fatalf("%d completions are missing", 3-came)
			}
		}
	}
	for range 200 { // an endpoint with several NICs uses each of them
		round()
	}
	if n := testing.AllocsPerRun(100, round); n > 0 {
		t.Errorf("receive, send, write, read and their polls allocate %v times", n)
	}
}

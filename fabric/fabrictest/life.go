package fabrictest

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
)

// unreachable tests that operations on PEs without an address are refused at once, with an error
// that names the PE, and that those on other PEs work.
func unreachable(t *testing.T, s *suite) {
	a, b := s.endpoint(t), s.endpoint(t)
	all := []*endpoint{a, b}
	for i, e := range all {
		addrs := [][]byte{a.prov.Addr(), b.prov.Addr(), nil}
		if i == 1 {
			addrs[1] = nil
		}
		if err := e.prov.Connect(addrs); err != nil {
			t.Fatal(err)
		}
	}
	for _, pe := range []libshmem.PE{2, 3, -1} {
		op := fabric.Send{To: pe, Buf: a.at(atSource), Len: 8, Desc: a.region.Desc, Token: firstOther}
		if err := a.prov.Send(&op); err == nil || err == fabric.ErrAgain || !strings.Contains(err.Error(), "PE") {
			t.Errorf("send to PE %d: error %v", pe, err)
		}
		w := a.rma(pe, b, atSource, 0, 8, firstOther)
		if err := a.prov.Write(&w); err == nil || err == fabric.ErrAgain {
			t.Errorf("write to PE %d: error %v", pe, err)
		}
		if err := a.prov.Read(&w); err == nil || err == fabric.ErrAgain {
			t.Errorf("read from PE %d: error %v", pe, err)
		}
	}
	op := fabric.Send{To: 1, Buf: a.at(atSource), Len: 8, Desc: a.region.Desc, Token: tokens}
	if err := a.prov.Send(&op); err == nil {
		t.Errorf("token %d was taken, with %d tokens", op.Token, tokens)
	}
	b.receive(t, all, 0, message)
	a.send(t, all, 1, atSource, 8, firstOther)
	b.waitDone(t, all, 0, fabric.KindRecv)
	if err := a.prov.Connect([][]byte{nil, {1, 2, 3}}); err == nil {
		t.Error("a second Connect was taken, with an address of 3 bytes")
	}
	c := s.endpoint(t)
	if err := c.prov.Connect([][]byte{nil, {1, 2, 3}}); err == nil || !strings.Contains(err.Error(), "PE 1") {
		t.Errorf("address of 3 bytes: error %v", err)
	}
}

// moreReceives tests the further receive buffers (Config.MoreRecv), whose tokens follow all others,
// on a network that reports a receiver without a receive buffer as not ready (Caps.RNRRetries).
// Other networks have to refuse them.
func moreReceives(t *testing.T, s *suite) {
	all := s.with(fabric.Config{MoreRecv: further}).endpoints(t, 2)
	a, b := all[0], all[1]
	last := fabric.Token(tokens)
	if b.caps.RNRRetries {
		if b.caps.Arrivals != further {
			t.Errorf("the queue has room for %d further completions, want %d", b.caps.Arrivals, further)
		}
		for ; last < tokens+further; last++ {
			b.receive(t, all, last, message)
		}
		for range further {
			a.send(t, all, 1, atSource, 8, firstOther)
			a.waitDone(t, all, firstOther, fabric.KindSend)
		}
		for tok := fabric.Token(tokens); tok < last; tok++ {
			b.waitDone(t, all, tok, fabric.KindRecv)
		}
	}
	if err := b.prov.Recv(b.at(atBuffer), message, b.region.Desc, last); err == nil || err == fabric.ErrAgain {
		t.Errorf("a receive buffer with token %d: error %v (messages are turned away: %v)", last, err, b.caps.RNRRetries)
	}
}

// badKey tests that an operation with a key that no endpoint has made moves nothing. A Read has to
// fail, with an error text, and so has a Write if its completion means delivery; otherwise a Write
// may be complete before the target has seen the key.
func badKey(t *testing.T, s *suite) {
	for _, kind := range []fabric.Kind{fabric.KindRead, fabric.KindWrite} {
		all := s.endpoints(t, 2)
		a, b := all[0], all[1]
		op := a.rma(1, b, atSource, 0, 64, firstOther)
		op.Key += 0x5151
		from, to := b.mem[:64], a.mem[atSource:atSource+64]
		post := a.prov.Read
		if kind == fabric.KindWrite {
			from, to, post = to, from, a.prov.Write
		}
		fill(from, 1)
		postRetrying(t, all, "operation with a wrong key", func() error { return post(&op) })
		var c fabric.Completion
		ended := false
		wait := time.Second // how long to poll if there may be no completion
		if s.limits.BadKey == "" && (kind == fabric.KindRead || a.caps.DeliveryComplete) {
			wait = timeout
		}
		for stop := time.Now().Add(wait); !ended && time.Now().Before(stop); c, ended = a.removeCompletion(firstOther) {
			n, err := a.pollFor(t)
			if err != nil {
				// A Write that was complete before the target has seen the key can only make Poll
				// fail, now and later.
				if kind != fabric.KindWrite || a.caps.DeliveryComplete {
					t.Fatal(err)
				}
				t.Log(err)
				break
			}
			if n+b.poll(t) == 0 {
				time.Sleep(50 * time.Microsecond) // the loop lasts for a second if there is no completion
			}
		}
		for i, v := range to {
			if v != 0 {
				t.Fatalf("kind %d: byte %d of the destination is %#x", kind, i, v)
			}
		}
		if limit := s.limits.BadKey; limit != "" {
			t.Logf("kind %d, known limit: %s; ended %v, error %d", kind, limit, ended, c.Err)
			continue
		}
		if kind == fabric.KindWrite && !a.caps.DeliveryComplete && c.Err == 0 {
			continue
		}
		text := a.prov.ErrorText(&c)
		if !ended || c.Err == 0 || c.Kind != kind || !strings.Contains(text, "token") {
			t.Errorf("kind %d: ended %v, completion %+v, %q", kind, ended, c, text)
		}
		t.Log(text)
	}
}

// closeBusy tests that endpoints can be closed, in either order and without a long wait, while
// operations are under way.
func closeBusy(t *testing.T, s *suite) {
	for _, first := range []int{0, 1} {
		all := s.endpoints(t, 2)
		a, b := all[0], all[1]
		for tok := range fabric.Token(8) {
			b.receive(t, all, tok, message)
		}
		w := a.rma(1, b, atSource, 0, 1<<20, firstOther)
		r := a.rma(1, b, atSource+1<<20, 0, 1<<20, firstOther+1)
		postRetrying(t, all, "write", func() error { return a.prov.Write(&w) })
		postRetrying(t, all, "read", func() error { return a.prov.Read(&r) })
		a.send(t, all, 1, atSource, message, firstOther+2)
		start := time.Now()
		for _, e := range []*endpoint{all[first], all[1-first]} {
			if err := e.prov.Close(); err != nil {
				t.Error(err)
			}
			if err := e.prov.Close(); err != nil {
				t.Errorf("second close: %v", err)
			}
		}
		if d := time.Since(start); d > timeout/2 {
			t.Errorf("closing took %v", d)
		}
	}
}

// registration tests that each region has a key of its own, and that it can be unregistered once.
func registration(t *testing.T, s *suite) {
	all := s.endpoints(t, 2)
	a, b := all[0], all[1]
	mem, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	}()
	other := &endpoint{prov: b.prov, caps: b.caps, mem: mem}
	for round := range 20 {
		if other.region, err = b.prov.Register(other.at(0), uint64(len(mem))); err != nil {
			t.Fatal(err)
		}
		if other.region.Key == b.region.Key {
			t.Fatalf("two regions have the key %#x", b.region.Key)
		}
		fill(a.mem[atSource:atSource+5000], round)
		op := a.rma(1, other, atSource, 77, 5000, firstOther)
		postRetrying(t, all, "write", func() error { return a.prov.Write(&op) })
		a.waitDone(t, all, firstOther, fabric.KindWrite)
		arrived(t, all, mem[77:5077], round)
		if err := b.prov.Unregister(other.region); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.prov.Unregister(other.region); err == nil {
		t.Error("a region was unregistered twice")
	}
}

// native tests that Native has all of the functions that every provider in C has, or none.
func native(t *testing.T, s *suite) {
	n := s.endpoint(t).prov.Native()
	if n == (fabric.Native{}) {
		t.Log("the provider is Go only")
		return
	}
	if n.Self == nil || n.Poll == nil || n.Arm == nil || n.Wait == nil || n.Wake == nil {
		t.Errorf("a part is missing: %+v", n)
	}
}

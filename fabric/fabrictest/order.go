package fabrictest

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"libshmem/fabric"
)

// rounds is how often each test of order repeats its operations.
const rounds = 2000

// writeThenFlag tests Caps.WriteAfterWrite: a thread that watches memory and sees the second of two
// Writes also sees the first.
func writeThenFlag(t *testing.T, s *suite) {
	all := s.endpoints(t, 2)
	a, b := all[0], all[1]
	if !a.caps.WriteAfterWrite {
		t.Logf("%s does not promise it", a.caps.Provider)
		return
	}
	flag := (*uint64)(b.at(0))
	const data = 64
	var broken, seen atomic.Uint64
	// whole reports whether all data of a round have arrived; its flag has been seen. A later round
	// may overwrite the words meanwhile, never an earlier one.
	whole := func(round uint64) bool {
		n := roundBytes(int(round))
		for _, at := range []int{data, data + (n/2)&^7, data + (n-8)&^7} {
			if w := atomic.LoadUint64((*uint64)(b.at(at))); w < round && at+8 <= data+n {
				return false
			}
		}
		return true
	}
	var watcher sync.WaitGroup
	watcher.Add(1)
	stop := make(chan struct{})
	go func() {
		defer watcher.Done()
		for last := uint64(0); last < rounds; {
			select {
			case <-stop:
				return
			default:
			}
			if round := atomic.LoadUint64(flag); round > last {
				if !whole(round) {
					broken.Add(1)
				}
				last = round
				seen.Store(round)
			}
		}
	}()
	for round := 1; round <= rounds; round++ {
		n := roundBytes(round)
		words := unsafe.Slice((*uint64)(a.at(atSource+data)), biggest/16)[:n/8]
		for i := range words {
			words[i] = uint64(round)
		}
		binary.NativeEndian.PutUint64(a.mem[atSource:], uint64(round))
		w := a.rma(1, b, atSource+data, data, n, firstOther)
		f := a.rma(1, b, atSource, 0, 8, firstOther+1)
		postRetrying(t, all, "data", func() error { return a.prov.Write(&w) })
		postRetrying(t, all, "flag", func() error { return a.prov.Write(&f) })
		// The watcher's goroutine checks the memory at any time, this one after each poll.
		until(t, all, "writes", func() bool {
			if at := atomic.LoadUint64(flag); at > 0 && !whole(at) {
				broken.Add(1)
			}
			return len(a.comps) == 2
		})
		a.waitDone(t, all, firstOther, fabric.KindWrite)
		a.waitDone(t, all, firstOther+1, fabric.KindWrite)
	}
	until(t, all, "last flag", func() bool { return seen.Load() == rounds })
	close(stop)
	watcher.Wait()
	if n := broken.Load(); n > 0 {
		t.Errorf("%d times in %d rounds the flag was there before the data", n, rounds)
	}
}

// roundBytes returns how many bytes of data a round has: mostly few, at times many.
func roundBytes(round int) int {
	switch {
	case round%100 == 0:
		return 1 << 20
	case round%10 == 0:
		return 64 << 10
	}
	return 8 + round%512*8
}

// writeThenMessage tests Caps.SendAfterWrite: the receiver of a message finds the bytes of the
// Writes before it.
func writeThenMessage(t *testing.T, s *suite) {
	all := s.endpoints(t, 2)
	a, b := all[0], all[1]
	if !a.caps.SendAfterWrite {
		t.Logf("%s does not promise it", a.caps.Provider)
		return
	}
	for round := 1; round <= rounds/2; round++ {
		n := roundBytes(round)
		word := uint64(round)
		for _, at := range []int{0, (n / 2) &^ 7, n - 8} {
			binary.NativeEndian.PutUint64(a.mem[atSource+at:], word)
		}
		binary.NativeEndian.PutUint64(a.mem[atSource+biggest/2:], word)
		b.receive(t, all, 0, message)
		w := a.rma(1, b, atSource, 0, n, firstOther)
		postRetrying(t, all, "write", func() error { return a.prov.Write(&w) })
		// Neither an injected message nor another one may overtake the write.
		msg := fabric.Send{To: 1, Buf: a.at(atSource + biggest/2), Len: 8, Desc: a.region.Desc, Token: firstOther + 1, Inject: round%2 == 0}
		if round%3 == 0 && !msg.Inject {
			msg.Len = message
		}
		postRetrying(t, all, "send", func() error { return a.prov.Send(&msg) })
		b.waitDone(t, all, 0, fabric.KindRecv)
		for _, at := range []int{0, (n / 2) &^ 7, n - 8} {
			if got := binary.NativeEndian.Uint64(b.mem[at:]); got != word {
				t.Fatalf("round %d: the message is there, and word %d of a write of %d bytes is of round %d", round, at/8, n, got)
			}
		}
		a.waitDone(t, all, firstOther, fabric.KindWrite)
		if !msg.Inject {
			a.waitDone(t, all, firstOther+1, fabric.KindSend)
		}
	}
}

// messageOrder tests Caps.SendAfterSend: messages of mixed sizes arrive in the order of posting.
func messageOrder(t *testing.T, s *suite) {
	all := s.endpoints(t, 2)
	a, b := all[0], all[1]
	if !a.caps.SendAfterSend {
		t.Logf("%s does not promise it", a.caps.Provider)
		return
	}
	for tok := range fabric.Token(receipt) {
		b.receive(t, all, tok, message)
	}
	var sent, got uint64
	until(t, all, "messages in order", func() bool {
		for sent < rounds {
			tok := firstOther + fabric.Token(sent%256)
			buf := a.mem[a.buffer(tok):]
			op := fabric.Send{To: 1, Buf: unsafe.Pointer(&buf[0]), Len: 8, Desc: a.region.Desc, Token: tok}
			if op.Inject = sent%3 != 0; !op.Inject {
				op.Len = 8 + int(sent*37%4000)
			}
			if sent >= 256+got {
				break // the buffer of the message 256 ago is in use
			}
			binary.NativeEndian.PutUint64(buf, sent)
			if err := a.prov.Send(&op); err == fabric.ErrAgain {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			sent++
		}
		a.comps = a.comps[:0]
		for _, c := range b.comps {
			if c.Err != 0 {
				t.Fatal(b.prov.ErrorText(&c))
			}
			if number := binary.NativeEndian.Uint64(b.mem[b.buffer(c.Token):]); number != got {
				t.Fatalf("message %d came when %d was due", number, got)
			}
			got++
			b.repost(t, c.Token)
		}
		b.comps = b.comps[:0]
		return got == rounds
	})
}

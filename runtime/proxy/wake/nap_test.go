package wake

import (
	"testing"
	"time"

	"libshmem/runtime/proxy/wait"
)

// words returns new words, all zero.
func words() *Words {
	w := new([6]uint32)
	return &Words{Lock: &w[0], Pollers: &w[1], Napping: &w[2], Sleepers: &w[3], Wakes: &w[4], Wanted: &w[5]}
}

// A caller that stops polling just before the nap would not end it.
func TestNapLooksAgain(t *testing.T) {
	w := words()
	const naps = 1000
	long := 0 // a busy machine makes some so
	for range naps {
		begin := time.Now()
		w.Nap()
		if time.Since(begin) >= napTime {
			long++
		}
	}
	if long > naps/2 {
		t.Errorf("%d of %d naps without a caller that polls took %v and more", long, naps, napTime)
	}
	if *w.Napping != 0 {
		t.Errorf("napping is %d after the nap", *w.Napping)
	}
}

// TestEndNap ends naps of a thread that leaves the network to callers. A nap that is not ended
// takes at least napTime; a busy machine makes some ended ones as long.
func TestEndNap(t *testing.T) {
	w := words()
	*w.Pollers = 1
	const naps = 200
	long := 0
	for range naps {
		done := make(chan time.Duration, 1)
		go func() {
			begin := time.Now()
			w.Nap()
			done <- time.Since(begin)
		}()
		for len(done) == 0 { // a nap that has not begun cannot be ended
			w.EndNap()
			wait.Yield()
		}
		if <-done >= napTime {
			long++
		}
	}
	if long > naps*9/10 {
		t.Errorf("%d of %d naps that were ended took %v and more", long, naps, napTime)
	}
}

// TestWakeSleepers counts a wake for each call that found a sleeper, and no others.
func TestWakeSleepers(t *testing.T) {
	w := words()
	if w.WakeSleepers(); *w.Wakes != 0 {
		t.Error("a wake without a sleeper")
	}
	*w.Sleepers = 1
	if w.WakeSleepers(); *w.Wakes != 1 || *w.Sleepers != 0 {
		t.Errorf("%d wakes of one sleeper, and sleepers is %d", *w.Wakes, *w.Sleepers)
	}
}

// TestTryLocked: the function is not called while another thread has the lock, and TryLocked gives
// the lock back.
func TestTryLocked(t *testing.T) {
	w := words()
	called := false
	if !w.TryLock() || w.TryWithLock(time.Millisecond, func() { called = true }) || called {
		t.Fatal("two have the lock")
	}
	w.Unlock()
	if w.WithLock(func() { called = *w.Lock == 1 }); !called || *w.Lock != 0 {
		t.Errorf("called with the lock: %v; the lock is %d afterwards", called, *w.Lock)
	}
}

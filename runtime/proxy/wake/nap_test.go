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

// longNap is the time of a nap that nothing ends: much longer than a busy machine delays the end of
// one that is ended.
const longNap = 30 * time.Second

// A caller that stops polling just before the nap would not end it.
func TestNapLooksAgain(t *testing.T) {
	w := words()
	begin := time.Now()
	w.nap(longNap)
	if took := time.Since(begin); took >= longNap {
		t.Errorf("a nap without a caller that polls took %v", took)
	}
	if *w.Napping != 0 {
		t.Errorf("napping is %d after the nap", *w.Napping)
	}
}

// TestEndNap ends naps of a thread that leaves the network to callers.
func TestEndNap(t *testing.T) {
	w := words()
	*w.Pollers = 1
	for i := range 200 {
		done := make(chan time.Duration, 1)
		go func() {
			begin := time.Now()
			w.nap(longNap)
			done <- time.Since(begin)
		}()
		for len(done) == 0 { // a nap that has not begun cannot be ended
			w.EndNap()
			wait.Yield()
		}
		if took := <-done; took >= longNap {
			t.Fatalf("nap %d was ended, and took %v", i, took)
		}
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

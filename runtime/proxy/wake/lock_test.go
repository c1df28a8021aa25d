package wake

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// TestLockOfOneWithoutProcessor: the only processor that Go may use waits for a lock whose holder
// is a goroutine that could go on.
func TestLockOfOneWithoutProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var words [3]uint32
	e := &Words{Lock: &words[0], Pollers: &words[1], Wanted: &words[2]}
	const rounds = 20
	late := 0
	for range rounds {
		if !e.TryLock() {
			t.Fatal("the lock is not free")
		}
		go e.Unlock()
		if !e.LockYielding() {
			late++ // now and then the scheduler takes the goroutine that gave way first
			for !e.TryLock() {
				runtime.Gosched()
			}
		}
		e.Unlock()
	}
	if late > rounds/2 {
		t.Errorf("%d times of %d the one with the lock did not come to run", late, rounds)
	}
	if n := atomic.LoadUint32(&words[2]); n != 0 {
		t.Errorf("%d wait for the lock, as the word says, want 0", n)
	}
}

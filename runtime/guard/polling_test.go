package guard

import (
	"runtime"
	"testing"
)

// TestGoPolling: a process that is bound to one processor runs goroutines besides those that poll.
func TestGoPolling(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	end := make(chan struct{})
	for n := range 3 {
		GoPolling("a test", func() { <-end })
		if got := runtime.GOMAXPROCS(0); got != n+1+others {
			t.Errorf("%d goroutines poll, and %d run at a time", n+1, got)
		}
	}
	close(end)
	runtime.GOMAXPROCS(64)
	done := make(chan struct{})
	GoPolling("a test", func() { close(done) })
	<-done
	if got := runtime.GOMAXPROCS(0); got != 64 {
		t.Errorf("of 64 there are %d left", got)
	}
}

package loop

import (
	"runtime"
	"testing"
)

// TestProcessors: a process that is bound to one processor runs goroutines besides those of loops.
func TestProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for n := range 3 {
		beginLoop()
		defer endLoop()
		if got := runtime.GOMAXPROCS(0); got != n+1+others {
			t.Errorf("%d loops: %d goroutines at a time", n+1, got)
		}
	}
	runtime.GOMAXPROCS(64)
	beginLoop()
	endLoop()
	if got := runtime.GOMAXPROCS(0); got != 64 {
		t.Errorf("of 64 there are %d left", got)
	}
}

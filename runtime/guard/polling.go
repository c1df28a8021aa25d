package guard

import (
	"runtime"
	"sync"
)

// polling counts the goroutines that GoPolling has started and that have not ended.
var polling struct {
	sync.Mutex
	n int
}

// others is how many goroutines run at a time besides those that poll: one that serves a call of
// the program, and one that watches.
const others = 2

// GoPolling is Go for a goroutine that polls, and so seldom leaves its processor.
//
// It lets the Go runtime run that many goroutines more at a time (GOMAXPROCS). The runtime takes the
// number from the processors to which the process was bound when the library was loaded, and a PE
// may be bound to one. Its proxy then held the only place while it polled, and a thread of the
// program that called into Go waited 10 ms, until the runtime took the place from the proxy: 900
// tokens between two such PEs took 20 s instead of 2.
func GoPolling(where string, f func()) {
	countPolling(1)
	Go(where, func() {
		defer countPolling(-1)
		f()
	})
}

// countPolling adds to the number of goroutines that poll, and raises the number that run at a time
// if it is too low for them.
func countPolling(n int) {
	polling.Lock()
	defer polling.Unlock()
	polling.n += n
	if n > 0 && runtime.GOMAXPROCS(0) < polling.n+others {
		runtime.GOMAXPROCS(polling.n + others)
	}
}

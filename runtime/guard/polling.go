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
// the program, and one that watches other PEs or the driver.
const others = 2

// GoPolling is Go for a goroutine that polls, and so seldom leaves its processor.
//
// It raises GOMAXPROCS, the number of goroutines that the Go runtime runs at a time, so that
// `others` goroutines can run beside all that poll. The runtime sets GOMAXPROCS to the number of
// processors to which the process was bound when the library was loaded, and a PE may be bound to
// one. Then a thread of the program that called into Go waited 10 ms, until the runtime interrupted
// the polling proxy: 900 tokens between two such PEs took 20 s instead of 2.
func GoPolling(where string, f func()) {
	countPolling(1)
	Go(where, func() {
		defer countPolling(-1)
		f()
	})
}

// countPolling adds n to the number of goroutines that poll, and raises GOMAXPROCS if it is too low
// for them. It never lowers GOMAXPROCS.
func countPolling(n int) {
	polling.Lock()
	defer polling.Unlock()
	polling.n += n
	if n > 0 && runtime.GOMAXPROCS(0) < polling.n+others {
		runtime.GOMAXPROCS(polling.n + others)
	}
}

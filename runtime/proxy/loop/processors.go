package loop

import (
	"runtime"
	"sync"
)

// loops are the loops of the process that run, of all its jobs and meshes.
var loops struct {
	sync.Mutex
	n int
}

// others is how many goroutines the Go runtime runs at a time besides those of loops: one that
// serves a call of the program, and one that watches.
const others = 2

// beginLoop counts a loop, and lets the Go runtime run so many goroutines at a time (GOMAXPROCS) that
// each loop can poll and others still run. The runtime takes the number from the processors to which
// the process is bound when it loads, and a PE may be bound to one. A thread of the program that
// entered Go then waited until the runtime took the only place from the loop that polled, 10 ms
// later: 900 tokens between two such PEs took 20 s instead of 2.
func beginLoop() {
	loops.Lock()
	defer loops.Unlock()
	loops.n++
	if runtime.GOMAXPROCS(0) < loops.n+others {
		runtime.GOMAXPROCS(loops.n + others)
	}
}

// endLoop undoes the counting of beginLoop.
func endLoop() {
	loops.Lock()
	defer loops.Unlock()
	loops.n--
}

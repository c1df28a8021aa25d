package proxy

import (
	"libshmem/fabric"
	"testing"
	"unsafe"
)

// In the steady state nothing is allocated: the collector is off in the library, and its pauses
// would delay barriers.
func TestNoAllocation(t *testing.T) {
	m := modes[0]
	j := newJob(t, m, 1, 2, 1<<20)
	a, b := j.pes[0], j.pes[1]
	large := make([]byte, 100<<10)
	at := unsafe.Pointer(&large[0])
	r := new(Request)
	turn := func() {
		a.poll()
		b.poll()
	}
	until := func(f func() Status) {
		for f() == Again {
			turn()
		}
	}
	wait := func(f func() Status) {
		*r = Request{}
		for until(f); r.Done == 0; {
			turn()
		}
	}
	quiet := func() {
		for a.Quiet() != Done {
			turn()
		}
	}
	for what, f := range map[string]func(){
		"element":    func() { until(func() Status { return a.Put(1, 0, at, 8, nil) }) },
		"small put":  func() { until(func() Status { return a.Put(1, 0, at, 1000, nil) }) },
		"large put":  func() { wait(func() Status { return a.Put(1, 0, at, uint64(len(large)), r) }) },
		"get":        func() { wait(func() Status { return a.Get(1, 0, at, 1000, r) }) },
		"atomic":     func() { until(func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) }) },
		"fetch":      func() { wait(func() Status { return a.AMO(1, 0, fabric.OpFetchAdd, 8, 1, 0, nil, r) }) },
		"nbi fetch":  func() { until(func() Status { return a.AMO(1, 0, fabric.OpFetchAdd, 8, 1, 0, at, nil) }) },
		"put_signal": func() { until(func() Status { return a.PutSignal(1, 64, at, 100, 0, 1, fabric.OpSet, nil) }) },
		"large put_signal": func() {
			until(func() Status { return a.PutSignal(1, 64, at, uint64(len(large)), 0, 1, fabric.OpSet, nil) })
		},
		"fence and large put": func() {
			until(func() Status { return a.Put(1, 0, at, 8, nil) })
			a.Fence()
			wait(func() Status { return a.Put(1, 0, at, uint64(len(large)), r) })
		},
	} {
		all := func() { f(); turn(); quiet() }
		for range 50 {
			all()
		}
		if n := testing.AllocsPerRun(200, all); n != 0 {
			t.Errorf("%s and quiet: %v allocations", what, n)
		}
	}
	j.close()
}

package proxy

import (
	"encoding/binary"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/queue/queuetest"
	"libshmem/runtime/proxy/loop"
	"libshmem/runtime/proxy/wait"
	"libshmem/runtime/topo"
	"libshmem/tests/need"
)

// served returns a job of two PEs whose loops run; the first has rings.
func served(t *testing.T, m mode, rings int, device bool, stall time.Duration) (*ringJob, *loop.Consumer) {
	t.Helper()
	j := newRingJob(t, m, 1, 2, rings, 1<<16)
	c := j.consumers[0]
	c.SetStall(stall)
	for _, p := range j.pes {
		go p.Loop()
	}
	j.pes[0].Attach(c, device)
	return j, c
}

// end finishes the service and stops the loops.
func (j *ringJob) end(c *loop.Consumer) {
	c.Finish()
	for _, p := range j.pes {
		p.Stop()
	}
}

// pushAwake does what ring.h does on the host, the wake included.
func pushAwake(e *Engine, g *queuetest.Rig, op *queue.Op) uint64 {
	p, _ := g.Push(op)
	if atomic.LoadUint32(&g.Line.Asleep) != 0 {
		e.Rouse()
	}
	return p
}

func passed(word *uint64, p uint64) bool { return int64(atomic.LoadUint64(word)-p) > 0 }

// TestServe lets threads push into the rings of a running proxy, which falls asleep in between, and
// checks that no operation and no wake-up is lost.
func TestServe(t *testing.T) {
	eachConsumer(t, modes[1], func(t *testing.T, m mode) {
		for _, device := range []bool{false, true} {
			j, c := served(t, m, 2, device, 0)
			const threads, each = 4, 300
			var wg sync.WaitGroup
			for id := range threads {
				wg.Add(1)
				go func() {
					defer wg.Done()
					g := j.rigs[0][id%2]
					for i := range each {
						pushAwake(j.pes[0].Engine, g, &queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(id * 8), Kind: uint8(fabric.OpAdd), Width: 3, Value: 1})
						if i%30 != 29 {
							continue
						}
						p := pushAwake(j.pes[0].Engine, g, &queue.Op{Code: queue.CodeQuiet})
						need.Eventually(t, "quiet", func() bool { return passed(&g.Line.Done, p) })
						if device { // nothing says whether it sleeps
							time.Sleep(time.Duration(id) * time.Millisecond)
						} else if id > 0 { // at the latest when all of these wait
							need.Eventually(t, "sleep", func() bool { return atomic.LoadUint32(&g.Line.Asleep) != 0 })
						}
					}
				}()
			}
			wg.Wait()
			j.end(c)
			for id := range threads {
				if got := binary.NativeEndian.Uint64(j.pes[1].heap[id*8:]); got != each {
					t.Errorf("device %v: thread %d added %d times, %d arrived", device, id, each, got)
				}
			}
			if len(j.reports[0]) > 0 && !device {
				t.Errorf("reports: %v", j.reports[0])
			}
			j.close()
		}
	})
}

// TestFinishCompletes checks that operations pushed before Finish have arrived after it, without a
// quiet.
func TestFinishCompletes(t *testing.T) {
	eachConsumer(t, modes[1], func(t *testing.T, m mode) {
		j, c := served(t, m, 1, false, 0)
		g := j.rigs[0][0]
		for range 3 * testSlots {
			pushAwake(j.pes[0].Engine, g, &queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(0), Kind: uint8(fabric.OpAdd), Width: 3, Value: 1})
		}
		c.Finish()
		if got := binary.NativeEndian.Uint64(j.pes[1].heap); got != 3*testSlots {
			t.Errorf("%d of %d arrived", got, 3*testSlots)
		}
		for _, p := range j.pes {
			p.Stop()
		}
		j.close()
	})
}

// TestStalledRing lets a producer take a position and never fill it: the report names the ring, and
// the other ring goes on.
func TestStalledRing(t *testing.T) {
	eachConsumer(t, modes[1], func(t *testing.T, m mode) {
		j, c := served(t, m, 2, false, 50*time.Millisecond)
		dead, alive := j.rigs[0][1], j.rigs[0][0]
		hole := dead.Reserve(1)
		pushAwake(j.pes[0].Engine, dead, &queue.Op{Code: queue.CodeP, PE: 1, Dest: at(8), Value: 1})
		// The producer of the other ring may be held up, too, on a busy machine.
		named := func() (said []error) {
			for _, err := range j.reports[0] {
				if strings.Contains(err.Error(), "ring 1: stands at position 0 for") {
					said = append(said, err)
				} else if !strings.Contains(err.Error(), "ring 0: stands at position ") {
					t.Errorf("report %v", err)
				}
			}
			return said
		}
		need.Eventually(t, "a report", func() bool {
			p := pushAwake(j.pes[0].Engine, alive, &queue.Op{Code: queue.CodeP, PE: 1, Dest: at(0), Value: 1})
			for !passed(&alive.Line.Tail, p) {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(20 * time.Millisecond) // it looks when there is nothing to do
			j.mu.Lock()
			defer j.mu.Unlock()
			return len(named()) > 0
		})
		if atomic.LoadUint64(&dead.Line.Tail) != 0 {
			t.Error("the position was passed")
		}
		dead.Store(hole, &queue.Op{Code: queue.CodeNop}) // it was only slow
		j.end(c)
		if said := named(); len(said) != 1 {
			t.Errorf("%d reports of one place: %v", len(said), said)
		}
		if j.pes[1].heap[8] != 1 {
			t.Error("what was behind it got lost")
		}
		j.close()
	})
}

// TestStuckPE has a PE that takes no operations: the report of those that wait names it and its
// NIC, once, and operations on another PE go on.
func TestStuckPE(t *testing.T) {
	eachConsumer(t, modes[1], func(t *testing.T, m mode) {
		blocked := true
		m.stuck = func(o *work) bool { return blocked && o.to == 1 }
		j := newRingJob(t, m, 1, 3, 2, 1<<16)
		defer j.clean()
		c := j.consumers[0]
		c.SetStall(time.Millisecond)
		into := make([]byte, 8)
		for range loop.WaitingMax / 2 {
			j.push(0, 0, queue.Op{Code: queue.CodeGet, PE: 1, Dest: at(0), Local: j.address(into), Length: 8})
		}
		one := queue.Op{Code: queue.CodeAMOWide, PE: 2, Dest: at(8), Kind: uint8(fabric.OpFetchAdd), Width: 3, Value: 1}
		need.Eventually(t, "a report", func() bool {
			j.ask(0, 1, one)
			return len(j.reports[0]) > 0
		})
		for range 100 {
			j.ask(0, 1, one)
		}
		all := j.reports[0]
		j.reports[0] = nil
		want := regexp.MustCompile(`^ring: get for PE 1 has found no room for 1ms: the PE has \d+ operations of \d+ bytes under way, .* at \w+ over .*` +
			`\(run shmem-doctor on both hosts; the wait goes on\)$`)
		if len(all) != 1 || !want.MatchString(all[0].Error()) {
			t.Errorf("reports %v, want one that matches %s", all, want)
		}
		blocked = false
		j.quiet(0, 0)
	})
}

// TestServeCrowded: a proxy for kernels that shares its processor with another thread gives it away
// whenever it finds nothing. One that does not keeps it for 100 ms, after which it sleeps.
func TestServeCrowded(t *testing.T) {
	eachConsumer(t, modes[1], func(t *testing.T, m mode) {
		j := newRingJob(t, m, 1, 2, 1, 1<<16)
		cpu := topo.Allowed().List()[0]
		p, c := j.pes[0], j.consumers[0]
		p.thread.Bind([]int{cpu})
		c.SetCrowded(true)
		p.Attach(c, true)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			runtime.LockOSThread() // never unlocked: the thread ends with its binding
			var set unix.CPUSet
			set.Set(cpu)
			if err := unix.SchedSetaffinity(0, &set); err != nil {
				t.Error(err)
			}
			go p.Loop()
			g := j.rigs[0][0]
			quiet := pushAwake(p.Engine, g, &queue.Op{Code: queue.CodeQuiet})
			need.Eventually(t, "the proxy has begun", func() bool { return passed(&g.Line.Done, quiet) })
			before := processorTime(t)
			for range 50 {
				wait.Yield()
			}
			if took := processorTime(t) - before; took > 50*time.Millisecond {
				t.Errorf("50 turns of another thread took %v of the processor", took)
			}
		}()
		<-ended
		c.Finish()
		p.Stop()
		j.close()
	})
}

// BenchmarkIdle measures how much of a processor an idle proxy uses: with producers that wake it,
// and with kernels, which cannot.
func BenchmarkIdle(b *testing.B) {
	for name, device := range map[string]bool{"host": false, "device": true} {
		b.Run(name, func(b *testing.B) {
			e := newNull(b, 2, modes[1].caps)
			rig := queuetest.New(4096, 0)
			ring, err := queue.New(rig.Memory(), 4096)
			if err != nil {
				b.Fatal(err)
			}
			c := loop.NewConsumer(e, []*queue.Ring{ring}, loop.NewLocals(), func(err error) { b.Log(err) })
			l := loop.New(e)
			go l.Run()
			l.Attach(c, device)
			time.Sleep(200 * time.Millisecond) // twice as long as a proxy for kernels looks before it sleeps
			before, begin := processorTime(b), time.Now()
			time.Sleep(time.Second)
			b.ReportMetric(100*(processorTime(b)-before).Seconds()/time.Since(begin).Seconds(), "%CPU")
			c.Finish()
			l.Stop()
		})
	}
}

func processorTime(tb testing.TB) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

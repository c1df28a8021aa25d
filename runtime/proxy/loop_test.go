package proxy

import (
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
	"libshmem/tests/need"
)

// locked calls f under the lock, as callers do.
func (p *pe) locked(f func()) {
	for !p.TryLock() {
		runtime.Gosched()
	}
	defer p.Unlock()
	f()
}

func (e *end) counts() (polls, waits int) {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	return e.polls, e.waits
}

// asleep waits until the loop sleeps and nothing has come that ends its sleep.
func (p *pe) asleep(t *testing.T) {
	t.Helper()
	need.Eventually(t, "sleep of the loop", func() bool {
		p.end.net.mu.Lock()
		defer p.end.net.mu.Unlock()
		return p.end.waiting && len(p.end.wake) == 0
	})
}

func TestLoopServes(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			j := newJob(t, m, 1, 2, 1<<20)
			a, b := j.pes[0], j.pes[1]
			go b.Loop()
			b.asleep(t)
			polls, _ := b.end.counts()

			// No caller polls b, and b answers.
			r := new(Request)
			data := make([]byte, 100<<10)
			ptr := unsafe.Pointer(&data[0])
			fetch := func() bool { return a.AMO(1, 8, fabric.OpFetchAdd, 8, 5, 0, nil, r) == Pending }
			a.locked(func() {
				if m.caps.MaxInject == 128 { // bare: no one-sided writes
					a.Put(1, 64, ptr, 100, nil)
				} else {
					a.Put(1, 64, ptr, uint64(len(data)), nil)
				}
				if !fetch() {
					t.Error("no room for a first operation")
				}
			})
			for atomic.LoadUint32(&r.Done) == 0 {
				a.locked(a.poll)
			}
			need.Eventually(t, "quiet", func() bool {
				st := Pending
				a.locked(func() { a.poll(); st = a.Quiet() })
				return st == Done
			})
			b.locked(func() {
				if got := binary.NativeEndian.Uint64(b.heap[8:]); got != 5 {
					t.Errorf("word is %d, want 5", got)
				}
			})
			if now, _ := b.end.counts(); now == polls {
				t.Error("served without a poll")
			}
			b.asleep(t)
			b.Stop()
			j.close()
		})
	}
}

func TestLoopLeavesPollersAlone(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 4096)
	b := j.pes[1]
	atomic.StoreUint32(&b.words[1], 2)
	go b.Loop()
	for range 5 { // the loop has looked each time
		need.Eventually(t, "a nap of the loop", func() bool { return atomic.LoadUint32(&b.words[4]) == 1 })
		b.EndNap()
	}
	if polls, waits := b.end.counts(); polls != 0 || waits != 0 {
		t.Errorf("while others poll: %d polls, %d waits of the loop", polls, waits)
	}
	atomic.StoreUint32(&b.words[1], 0)
	need.Eventually(t, "polls of the loop", func() bool { polls, _ := b.end.counts(); return polls > 0 })
	b.Stop()
	j.close()
}

// Callers that poll in C come into the engine only for completions, and parked messages may find
// room without one.
func TestLoopRetriesForPollers(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 4096)
	a, b := j.pes[0], j.pes[1]
	atomic.StoreUint32(&b.words[1], 1)
	go b.Loop()
	var r Request
	refuse := func(percent int) {
		j.net.mu.Lock()
		j.net.mode.again = percent
		j.net.mu.Unlock()
	}
	a.post(func() Status { return a.AMO(1, 0, fabric.OpFetchAdd, 8, 1, 0, nil, &r) })
	for parked := 0; parked == 0; {
		refuse(0)
		a.poll()
		refuse(100)
		b.locked(func() { b.poll(); parked = len(b.out.Unsent) })
	}
	refuse(0)
	// No caller polls b now.
	need.Eventually(t, "answer", func() bool { a.poll(); return r.Done != 0 })
	atomic.StoreUint32(&b.words[1], 0)
	b.Stop()
	j.close()
}

// A message that found no room is tried again, even if nothing arrives that would end a Wait.
func TestLoopStaysUpForParked(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 4096)
	a, b := j.pes[0], j.pes[1]
	refuse := func(percent int) {
		j.net.mu.Lock()
		j.net.mode.again = percent
		j.net.mu.Unlock()
	}
	var r Request
	a.post(func() Status { return a.AMO(1, 0, fabric.OpFetchAdd, 8, 1, 0, nil, &r) })
	a.poll()
	refuse(100)
	go b.Loop()
	need.Eventually(t, "parked answer", func() bool {
		parked := 0
		b.locked(func() { parked = len(b.out.Unsent) })
		return parked > 0
	})
	arms := func() int {
		b.end.net.mu.Lock()
		defer b.end.net.mu.Unlock()
		return b.end.arms
	}
	// With the next look it has decided after the one before.
	before := arms()
	need.Eventually(t, "three looks of the loop, each of which might begin a sleep", func() bool {
		_, waits := b.end.counts()
		return waits > 0 || arms() > before+3
	})
	if _, waits := b.end.counts(); waits > 0 {
		t.Error("the loop sleeps on a parked answer")
	}
	refuse(0)
	need.Eventually(t, "answer", func() bool { a.poll(); return r.Done != 0 })
	b.Stop()
	j.close()
}

func TestLoopStops(t *testing.T) {
	j := newJob(t, modes[0], 1, 1, 4096)
	p := j.pes[0]
	before := runtime.NumGoroutine()
	go p.Loop()
	p.asleep(t)
	if p.Stop(); p.end.wakes.Load() == 0 {
		t.Error("the sleeper was not woken")
	}
	need.Eventually(t, "end of the goroutine", func() bool { return runtime.NumGoroutine() <= before })
	j.close()
}

func TestLoopReportsPollErrors(t *testing.T) {
	j := newJob(t, modes[0], 1, 1, 4096)
	p := j.pes[0]
	p.end.pollErr = errors.New("the completion queue is gone")
	p.Loop() // it ends by itself
	p.want("the completion queue is gone")
	p.Stop()
	p.end.pollErr = nil
	j.close()
}

func TestWakeSleepers(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 4096)
	a, b := j.pes[0], j.pes[1]
	sleepers, wakes := &b.words[2], &b.words[3]
	b.poll()
	if *wakes != 0 {
		t.Error("woke without sleeper")
	}
	*sleepers = 1
	b.poll()
	if *wakes != 0 || *sleepers != 1 {
		t.Errorf("woke without completion: %d wakes, sleepers %d", *wakes, *sleepers)
	}
	a.post(func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) })
	for b.heap[0] == 0 {
		b.poll()
	}
	if *wakes != 1 || *sleepers != 0 {
		t.Errorf("after a message: %d wakes, sleepers %d", *wakes, *sleepers)
	}
	a.quiet()
	j.close()
}

// The loop wakes a PE whose caller sleeps, also for a one-sided write, which leaves no completion.
func TestLoopWakes(t *testing.T) {
	j := newJob(t, modes[1], 1, 2, 1<<20)
	a, b := j.pes[0], j.pes[1]
	go b.Loop()
	b.asleep(t)
	atomic.StoreUint32(&b.words[2], 1)
	data := make([]byte, 100<<10)
	a.locked(func() { a.Put(1, 0, unsafe.Pointer(&data[0]), uint64(len(data)), nil) })
	need.Eventually(t, "wake", func() bool { a.locked(a.poll); return atomic.LoadUint32(&b.words[3]) > 0 })
	b.Stop()
	a.quiet()
	j.close()
}

// Callers and the loops of both sides at once, each under the lock of its PE.
func TestLoopWithCallers(t *testing.T) {
	const threads, each = 3, 20
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			j := newJob(t, m, 1, 2, 4096)
			var wg sync.WaitGroup
			for _, p := range j.pes {
				go p.Loop()
				for range threads {
					wg.Go(func() {
						r := new(Request)
						for i := range each {
							st := Again
							for st == Again {
								p.locked(func() { st = p.AMO(1-p.me, 0, fabric.OpFetchAdd, 8, 1, 0, nil, r) })
							}
							if i%4 == 0 { // as a caller that polls in C
								atomic.AddUint32(&p.words[1], 1)
								for atomic.LoadUint32(&r.Done) == 0 {
									p.locked(p.poll)
								}
								atomic.AddUint32(&p.words[1], ^uint32(0))
							}
							for atomic.LoadUint32(&r.Done) == 0 {
								runtime.Gosched()
							}
							*r = Request{}
						}
					})
				}
			}
			wg.Wait()
			for _, p := range j.pes {
				p.Stop()
			}
			for _, p := range j.pes {
				if got := binary.NativeEndian.Uint64(p.heap); got != threads*each {
					t.Errorf("PE %d: word is %d, want %d", p.me, got, threads*each)
				}
			}
			j.close()
		})
	}
}

func TestStopBeforeSleep(t *testing.T) {
	for range 20 {
		j := newJob(t, modes[0], 1, 1, 4096)
		go j.pes[0].Loop()
		j.pes[0].Stop()
		j.close()
	}
}

func TestNewFails(t *testing.T) {
	refuse := errors.New("no memory to pin")
	for at, text := range []string{"register symmetric heap of 4096 bytes: ", "register message buffers: "} {
		e := &refusing{end: newFakeNetwork(t, modes[0], 1, 1).ends[0], at: at, err: refuse}
		heap := guarded(t, 4096)
		_, err := New(e, 0, 1, mem.Segment{Base: unsafe.Pointer(&heap[0]), Size: 4096}, wake.Words{}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), text) || !errors.Is(err, refuse) {
			t.Errorf("registration %d refused: %v", at, err)
		}
		if !e.closed {
			t.Errorf("registration %d refused: the provider is open", at)
		}
	}
}

// refusing refuses one registration.
type refusing struct {
	*end
	at  int
	err error
}

func (r *refusing) Register(base unsafe.Pointer, n uint64) (fabric.Region, error) {
	if r.at--; r.at < 0 {
		return fabric.Region{}, r.err
	}
	return r.end.Register(base, n)
}

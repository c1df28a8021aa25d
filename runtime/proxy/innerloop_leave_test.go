package proxy

import (
	"math/bits"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/runtime/proxy/fastpath"
	"libshmem/tests/need"
)

// innerLoop makes a loop in C over the first PE's engine, with an empty ring.
func (j *ringJob) innerLoop() *fastpath.Loop {
	j.t.Helper()
	config, ok := j.pes[0].InnerLoop()
	if !ok {
		j.t.Fatal("the engine has no loop in C")
	}
	m := j.rings[0][0].Memory()
	config.Rings = []fastpath.Ring{{
		Slots: m.Slots, Line: unsafe.Pointer(m.Line), Replies: m.Replies, Cells: m.Cells, Log2Slots: uint32(bits.TrailingZeros64(testSlots)),
	}}
	config.Batch = 32
	l := fastpath.New(config)
	l.SetServesAll(true)
	return l
}

// TestLeaves checks when C returns at once.
func TestLeaves(t *testing.T) {
	j := newRingJob(t, native(modes[0]), 1, 2, 1, 1<<16)
	p, c, rig := j.pes[0], j.consumers[0], j.rigs[0][0]
	l := j.innerLoop()
	defer l.Close()
	run := func(finished, ticket uint64) fastpath.Reason {
		return l.Run(time.Hour, 0, finished, ticket)
	}
	free := func(when string) {
		t.Helper()
		if *p.Lock != 0 {
			t.Errorf("%s: the lock is held", when)
			p.Unlock()
		}
	}
	if r := run(0, 0); r != fastpath.Idle {
		t.Errorf("nothing to do: %d", r)
	}
	free("idle")
	if r := l.Run(2*time.Millisecond, time.Hour, 0, 0); r != fastpath.Time || l.Account().Ran < 2*time.Millisecond {
		t.Errorf("limit: %d after %v", r, l.Account().Ran)
	}
	if r := l.Run(time.Hour, time.Millisecond, 0, 0); r != fastpath.Idle || l.Account().Idle < time.Millisecond {
		t.Errorf("spin: %d after %v", r, l.Account().Idle)
	}
	free("limit")

	p.Attention = 1
	if r := run(0, 0); r != fastpath.Attention {
		t.Errorf("attention: %d", r)
	}
	p.Attention = 0
	p.words[0] = 1
	if r := run(0, 0); r != fastpath.Busy || p.words[0] != 1 {
		t.Errorf("locked: %d, lock %d", r, p.words[0])
	}
	p.words[0] = 0
	for what, set := range map[string]func(on uint32){
		"stuck":    func(on uint32) { p.Stuck = on },
		"unposted": func(on uint32) { p.NUnposted = on },
		"finished": func(on uint32) { p.Finished = uint64(on) },
		"quiet":    func(on uint32) { p.Quieted = 6 + uint64(on) },
	} {
		set(1)
		if r := run(0, 7); r != fastpath.State {
			t.Errorf("%s: %d", what, r)
		}
		free(what)
		if set(0); run(0, 7) != fastpath.Idle {
			t.Errorf("%s: not idle after it", what)
		}
	}
	p.Quieted = 0

	p.end.box.Fail(-22)
	if _, held, err := c.Run(time.Hour, 0); err == nil || held || !strings.Contains(err.Error(), "poll the network: error -22 of libfabric") {
		t.Errorf("failing poll: %v", err)
	}
	free("failing poll")
	p.end.box.Fail(0)

	// A completion for Go ends the loop with the lock held; the work before it is done.
	rig.Push(&queue.Op{Code: queue.CodeGet, PE: 1, Dest: at(0), Local: address(p.heap), Length: 8})
	c.Drain()
	j.pes[1].AMO(0, 64, fabric.OpAdd, 8, 5, 0, nil, nil)
	p.words[2] = 1 // a caller sleeps
	j.until("both", func() bool {
		if err := p.ops.Net.Provider.(*boxed).arrive(); err != nil {
			t.Fatal(err)
		}
		return p.end.box.Kept() == 2
	})
	if _, held, err := c.Run(time.Hour, 0); err != nil || !held || p.words[0] != 1 {
		t.Errorf("completion: held %v, lock %d, %v", held, p.words[0], err)
	}
	p.Unlock()
	if p.heap[64] != 5 || p.words[2] != 0 || p.words[3] != 1 {
		t.Errorf("the message made %d, sleepers %d, wakes %d", p.heap[64], p.words[2], p.words[3])
	}
	j.clean()
}

// TestStopInC ends a stay in C that would have continued.
func TestStopInC(t *testing.T) {
	j := newRingJob(t, native(modes[0]), 1, 2, 1, 1<<16)
	p, c := j.pes[0], j.consumers[0]
	l := j.innerLoop()
	defer l.Close()
	p.Attach(c, true)
	stopped := make(chan struct{})
	for what, end := range map[string]func(){
		"rouse": p.Rouse,
		"stop": func() {
			go func() {
				p.Stop()
				close(stopped)
			}()
		},
	} {
		p.Attention = 0
		back := make(chan fastpath.Reason)
		go func() { back <- l.Run(time.Hour, time.Hour, 0, 0) }()
		need.Eventually(t, "a turn in C, which has the lock", func() bool { return atomic.LoadUint32(&p.words[0]) == 1 })
		end()
		select {
		case r := <-back:
			if r != fastpath.Attention {
				t.Errorf("%s: reason %d", what, r)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: still in C", what)
		}
		if what == "stop" {
			p.Loop() // it ends at once
			<-stopped
		}
	}
	if c.ServableInC() {
		t.Error("the stopped engine would go into C")
	}
	j.clean()
}

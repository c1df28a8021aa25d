package proxy

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
)

// chain is a sequence of overlapping writes by one PE to another, with a fence between any two. At
// any moment the target's memory has the effect of some number of them, and any part of the next.
type chain struct {
	t    testing.TB
	heap []byte
	now  []byte   // heap at the last look, without the next write
	next []change // the other writes
}

type change struct {
	at    int
	bytes []byte
}

func (c *chain) fits() bool {
	if len(c.next) == 0 {
		return bytes.Equal(c.heap, c.now)
	}
	n := &c.next[0]
	end := n.at + len(n.bytes)
	if !bytes.Equal(c.heap[:n.at], c.now[:n.at]) || !bytes.Equal(c.heap[end:], c.now[end:]) {
		return false
	}
	for i, b := range n.bytes {
		if got := c.heap[n.at+i]; got != b && got != c.now[n.at+i] {
			return false
		}
	}
	return true
}

func (c *chain) skip() {
	copy(c.now[c.next[0].at:], c.next[0].bytes)
	c.next = c.next[1:]
}

func (c *chain) check() {
	for first := c.next; !c.fits(); c.skip() {
		if len(c.next) == 0 {
			c.t.Fatalf("memory is in none of the states of the next %d writes", len(first))
		}
	}
}

// add notes a write and returns its source.
func (c *chain) add(at int, b []byte) unsafe.Pointer {
	c.next = append(c.next, change{at, b})
	return unsafe.Pointer(unsafe.SliceData(bytes.Clone(b)))
}

func TestFenceChain(t *testing.T) {
	const heap = 8192
	for i := range 16 {
		m := combination(i)
		t.Run(m.name, func(t *testing.T) {
			seeds(4, func(seed uint64) {
				defer described(t, seed)
				j := newJob(t, m, seed, 2, heap)
				nearWrap(j)
				a, b := j.pes[0], j.pes[1]
				c := &chain{t: t, heap: b.heap, now: make([]byte, heap)}
				b.applied = c.check
				j.net.landed = func(libshmem.PE) { c.check() }
				for range 60 {
					n := 1 + j.rng.IntN(heap/2)
					if j.rng.IntN(3) == 0 {
						n = heap / 2 // one-sided if that is allowed
					}
					kind := j.rng.IntN(6)
					if kind == 0 {
						n = 1 << j.rng.IntN(4)
					}
					n = min(n, int(a.PutMax()))
					at := j.rng.IntN(heap - n)
					word := j.rng.IntN(heap/8) * 8
					value := fill(j.rng, 8)
					operand := binary.NativeEndian.Uint64(value)
					switch kind {
					case 0, 1, 2:
						source := c.add(at, fill(j.rng, n))
						a.post(func() Status { return a.Put(1, libshmem.Offset(at), source, uint64(n), nil) })
					case 3:
						c.add(word, value)
						a.post(func() Status { return a.AMO(1, libshmem.Offset(word), fabric.OpSet, 8, operand, 0, nil, nil) })
					default:
						source := c.add(at, fill(j.rng, n))
						c.add(word, value)
						a.post(func() Status {
							return a.PutSignal(1, libshmem.Offset(at), source, uint64(n), libshmem.Offset(word), operand, fabric.OpSet, nil)
						})
					}
					a.fence()
					for range j.rng.IntN(10) {
						j.pes[j.rng.IntN(2)].poll()
					}
				}
				a.quiet()
				for len(c.next) > 0 {
					c.skip()
				}
				c.check()
				j.close()
			})
		})
	}
}

// nearWrap puts all counters between the PEs just below their wrap.
func nearWrap(j *job) {
	for _, a := range j.pes {
		for _, b := range j.pes {
			a.ops.Peers[b.me].Sent, b.ops.Peers[a.me].Received = 1<<32-30, 1<<32-30
			a.ops.Peers[b.me].Charged, a.ops.Peers[b.me].Acked, a.ops.Peers[b.me].ChargedThen = 1<<32-20, 1<<32-20, 1<<32-20
		}
		a.Epoch = 1<<32 - 10
	}
}

// A program of signals alone may send for hours before its first fence.
func TestManyUnacknowledged(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 16384)
	a := j.pes[0]
	buf := make([]byte, 8192)
	a.post(func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) })
	a.ops.Peers[1].Charged += 1<<31 + 1
	a.fence()
	if st := a.Put(1, 0, unsafe.Pointer(&buf[0]), 8192, nil); st != Pending || a.ops.Peers[1].Queued != 1 {
		t.Errorf("large put after %d messages and a fence: %d, %d queued", a.ops.Peers[1].Charged, st, a.ops.Peers[1].Queued)
	}
	a.quiet()
	j.close()
}

// A write waits for the messages before a fence, and for no others.
func TestWriteBehindMessages(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 16384)
	a := j.pes[0]
	buf := make([]byte, 8192)
	write := func() Status { return a.Put(1, 64, unsafe.Pointer(&buf[0]), 8192, nil) }
	count := func() { a.post(func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) }) }
	count()
	if st := write(); st != Pending || a.ops.Peers[1].Flushing {
		t.Errorf("without a fence: %d, flushing %v", st, a.ops.Peers[1].Flushing)
	}
	a.fence()
	if st := write(); st != Pending || !a.ops.Peers[1].Flushing || a.ops.Peers[1].Queued != 1 || j.net.writes() != 1 {
		t.Errorf("behind a fence: %d, flushing %v, %d queued, %d writes posted", st, a.ops.Peers[1].Flushing, a.ops.Peers[1].Queued, j.net.writes())
	}
	count() // of this epoch: later messages make it wait, too
	if st := write(); st != Pending || a.ops.Peers[1].Queued != 3 || j.net.writes() != 1 {
		t.Errorf("behind what waits: %d, %d queued, %d writes posted", st, a.ops.Peers[1].Queued, j.net.writes())
	}
	j.await("the answer", func() bool { return a.ops.Peers[1].Queued == 0 })
	count()
	if st := write(); st != Pending || a.ops.Peers[1].Flushing {
		t.Errorf("behind a message of the same epoch: %d, flushing %v", st, a.ops.Peers[1].Flushing)
	}
	a.fence()
	a.quiet()
	if st := write(); st != Pending || a.ops.Peers[1].Flushing {
		t.Errorf("behind a fence and a quiet: %d, flushing %v", st, a.ops.Peers[1].Flushing)
	}
	j.close()
}

// A flush answers for the messages that were sent before it.
func TestMessageDuringFlush(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 4096)
	a, b := j.pes[0], j.pes[1]
	count := func() { a.post(func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) }) }
	count()
	if st := a.Quiet(); st != Pending {
		t.Fatalf("quiet: %d", st)
	}
	b.poll() // it applies and answers
	count()
	a.poll() // the answer
	if a.ops.Peers[1].Flushing || b.heap[0] != 1 {
		t.Fatalf("flushing %v, counter %d", a.ops.Peers[1].Flushing, b.heap[0])
	}
	if st := a.Quiet(); st != Done {
		t.Errorf("quiet of the first message: %d", st)
	}
	if st := a.Quiet(); st != Pending {
		t.Errorf("quiet while a message is under way: %d", st)
	}
	a.quiet()
	if b.heap[0] != 2 {
		t.Errorf("counter is %d after quiet, want 2", b.heap[0])
	}
	j.close()
}

// Behind a signal that found no room, no message goes to the same PE.
func TestParkedSignal(t *testing.T) {
	j := newJob(t, modes[0], 1, 3, 16384)
	a, b := j.pes[0], j.pes[1]
	buf := make([]byte, 8192)
	at := unsafe.Pointer(&buf[0])
	// The write finds room, the signal does not.
	refuse := &choosy{end: a.end, refuse: true}
	a.ops.Net.Provider = refuse
	if st := a.PutSignal(1, 64, at, 8192, 0, 1, fabric.OpSet, nil); st != Pending || len(a.out.Unsent) != 1 {
		t.Fatalf("put_signal: %d, %d parked", st, len(a.out.Unsent))
	}
	refuse.refuse = false
	refuse.to = 2 // only there is room for messages
	for what, f := range map[string]func() Status{
		"element":    func() Status { return a.Put(1, 8, at, 8, nil) },
		"large put":  func() Status { return a.Put(1, 8, at, 8192, nil) },
		"atomic":     func() Status { return a.AMO(1, 8, fabric.OpAdd, 8, 1, 0, nil, nil) },
		"fetch":      func() Status { return a.AMO(1, 8, fabric.OpFetchAdd, 8, 1, 0, at, nil) },
		"put_signal": func() Status { return a.PutSignal(1, 8, at, 8192, 0, 1, fabric.OpSet, nil) },
	} {
		if st := f(); st != Again {
			t.Errorf("%s behind a parked signal: %d, want %d", what, st, Again)
		}
	}
	if st := a.Quiet(); st != Pending {
		t.Errorf("quiet with a parked signal: %d", st)
	}
	if st := a.AMO(2, 0, fabric.OpAdd, 8, 1, 0, nil, nil); st != Done {
		t.Errorf("atomic on another PE: %d", st)
	}
	a.ops.Net.Provider = a.end
	// No completion has come meanwhile.
	if st := a.Put(1, 8, at, 8, nil); st != Done || len(a.out.Unsent) != 0 {
		t.Errorf("with room again: %d, %d parked", st, len(a.out.Unsent))
	}
	a.quiet()
	if b.heap[0] != 1 {
		t.Error("the signal did not come")
	}
	j.close()
}

// choosy has room for messages to one PE, or to none.
type choosy struct {
	*end
	refuse bool
	to     libshmem.PE
}

func (c *choosy) Send(op *fabric.Send) error {
	if c.refuse || op.To != c.to {
		return fabric.ErrAgain
	}
	return c.end.Send(op)
}

// A provider that hardly ever has room slows everything down and stops nothing.
func TestStorm(t *testing.T) {
	for _, i := range []int{0, 7, 9, 15} {
		m := combination(i)
		m.again, m.credits = 93, 3
		t.Run(m.name, func(t *testing.T) {
			seeds(3, func(seed uint64) {
				defer described(t, seed)
				runPrograms(newJob(t, m, seed, 3, shared+3*pairHeap), 25)
			})
		})
	}
}

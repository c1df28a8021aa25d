package proxy

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// theDead is the PE of four that is lost in these tests.
const theDead = libshmem.PE(1)

// TestPlayedStagedLost loses a PE in the middle of everything, with heaps and buffers in GPU
// memory. Operations of the others on it end, the memory that streams and the provider hold comes
// back, and the others go on among themselves with all chunks and slots.
func TestPlayedStagedLost(t *testing.T) {
	var ended, quiets, late int
	for name, g := range gpuModels {
		for i, m := range modes {
			if m.gpus = &g; i%2 == 1 {
				m = rough(m)
			}
			t.Run(name+"/"+m.name, func(t *testing.T) {
				seeds(4, func(seed uint64) {
					defer described(t, seed)
					l := &gpuStageLoss{requests: map[*Request]libshmem.PE{}}
					m.stuck = func(o *work) bool { return l.held && o.to == theDead || l.gone && o.from == theDead }
					l.job = newJob(t, m, seed, 4, 1<<18)
					l.run(seed%2 == 0)
					ended += l.ended
					quiets += l.quiets
					late += l.late
				})
			})
		}
	}
	if ended < 100 || quiets < 100 || late < 100 {
		t.Errorf("%d operations ended with the loss, %d quiets failed, the provider gave %d tokens back late: that says little", ended, quiets, late)
	}
}

type gpuStageLoss struct {
	*job
	gone, held          bool // the PE is lost; the provider keeps operations on it
	requests            map[*Request]libshmem.PE
	ended, quiets, late int
}

// run: stays says that the provider keeps its operations until the end.
func (l *gpuStageLoss) run(stays bool) {
	dead := l.pes[theDead]
	survivors := append(append([]*pe{}, l.pes[:theDead]...), l.pes[theDead+1:]...)
	all := l.pes
	for range 150 {
		p := all[l.rng.IntN(len(all))]
		l.operate(p, libshmem.PE(l.rng.IntN(len(all))))
		all[l.rng.IntN(len(all))].poll()
	}
	l.gone, l.held = true, true
	l.pes = survivors // the lost one is not polled any more
	var tickets []Ticket
	for _, p := range survivors {
		for range l.rng.IntN(20) {
			l.operate(p, libshmem.PE(l.rng.IntN(len(all))))
			p.poll()
		}
		tickets = append(tickets, p.QuietBegin())
		p.Lose(theDead, "was killed")
	}
	for i, p := range survivors {
		l.await("the quiet of before", func() bool {
			st := p.QuietDone(tickets[i])
			if st == Failed {
				l.quiets++
			}
			return st != Pending
		})
	}
	for r, pe := range l.requests {
		l.await(fmt.Sprintf("a request to PE %d", pe), func() bool { return r.Done != 0 })
		if r.Status == 0 {
			continue
		}
		l.ended++
		if pe != theDead {
			l.t.Errorf("an operation on PE %d ended with %d", pe, r.Status)
		}
	}
	for _, p := range survivors {
		l.late += layout.Tokens - layout.Receives - len(p.ops.Table.Free)
	}
	if !stays {
		l.comeBack(survivors)
	}
	for i, p := range survivors {
		l.refused(p)
		l.settle(p)
		l.goOn(p, survivors[(i+1)%len(survivors)])
	}
	if stays {
		l.comeBack(survivors)
	}
	for _, p := range survivors {
		l.settle(p)
	}
	l.await("rest", func() bool {
		for _, p := range survivors {
			if len(p.out.Unsent) > 0 || len(p.end.recvs) < layout.Receives+p.end.more() || p.Busy != 0 || p.stageWorks() || len(p.end.inbox) > 0 || len(p.end.queue) > 0 {
				return false
			}
		}
		return !slices.ContainsFunc(l.net.flying, func(o *work) bool { return o.from != theDead })
	})
	l.net.flying = nil
	for _, p := range append(survivors, dead) {
		if p != dead {
			p.leftovers()
		}
		if err := p.Close(); err != nil {
			l.t.Errorf("PE %d: close: %v", p.me, err)
		}
	}
}

// comeBack makes the provider complete the operations that it keeps.
func (l *gpuStageLoss) comeBack(survivors []*pe) {
	l.held = false
	for range 2000 {
		survivors[l.rng.IntN(len(survivors))].poll()
	}
}

// askRow posts puts that wait together.
func (l *gpuStageLoss) askRow(p *pe, to libshmem.PE) {
	n := min(uint64(layout.MaxPayload+1+l.rng.IntN(6000)), p.PutMax())
	at, _ := p.card.local(make([]byte, n))
	for range l.rng.IntN(12) {
		if st := p.PutSignal(to, libshmem.Offset(l.rng.IntN(100_000)), at, n, 200_008, 1, fabric.OpSet, nil); st == Failed && to != theDead {
			l.t.Errorf("PE %d: a put in a row to PE %d: %v", p.me, to, p.Err())
		}
	}
}

// operate posts a random operation, or nothing if there is no room.
func (l *gpuStageLoss) operate(p *pe, to libshmem.PE) {
	if to == p.me {
		return
	}
	if p.card != nil && l.rng.IntN(8) == 0 {
		l.askRow(p, to)
	}
	n := uint64(1 + l.rng.IntN(30_000))
	if l.rng.IntN(3) == 0 {
		n = uint64(1 + l.rng.IntN(2000))
	}
	n = min(n, p.PutMax())
	at, _ := p.local(make([]byte, n))
	if l.rng.IntN(2) == 0 {
		at = unsafe.Pointer(unsafe.SliceData(make([]byte, n)))
	}
	var r *Request
	if l.rng.IntN(2) == 0 {
		r = new(Request)
	}
	offset, st := libshmem.Offset(l.rng.IntN(100_000)), Done
	switch kind := l.rng.IntN(5); kind {
	case 0, 1:
		st = p.Put(to, offset, at, n, r)
	case 2:
		st = p.Get(to, offset, at, n, r)
	case 3:
		if r == nil {
			r = new(Request)
		}
		if !p.stage.Supports(to, fabric.OpFetchAdd, 8) {
			return
		}
		st = p.AMO(to, 200_000, fabric.OpFetchAdd, 8, 1, 0, nil, r)
	default:
		st = p.PutSignal(to, offset, at, n, 200_008, 1, fabric.OpSet, r)
	}
	if st == Failed && to != theDead {
		l.t.Errorf("PE %d: an operation on PE %d: %v", p.me, to, p.Err())
	}
	if st == Pending && r != nil && p.me != theDead {
		l.requests[r] = to
	}
}

// settle ends the state that a failed quiet may leave.
func (l *gpuStageLoss) settle(p *pe) {
	for range 3 {
		ticket, st := p.QuietBegin(), Pending
		l.await("a quiet", func() bool { st = p.QuietDone(ticket); return st != Pending })
		if st == Done {
			return
		}
	}
	l.t.Errorf("PE %d: the quiets go on to fail: %v", p.me, p.Err())
}

// refused tries each operation on the lost PE.
func (l *gpuStageLoss) refused(p *pe) {
	at, _ := p.local(make([]byte, 9000))
	host := unsafe.Pointer(unsafe.SliceData(make([]byte, 9000)))
	n := min(9000, p.PutMax())
	for name, f := range map[string]func(at unsafe.Pointer) Status{
		"a small put":       func(at unsafe.Pointer) Status { return p.Put(theDead, 0, at, 8, nil) },
		"some bytes":        func(at unsafe.Pointer) Status { return p.Put(theDead, 0, at, 100, nil) },
		"a large put":       func(at unsafe.Pointer) Status { return p.Put(theDead, 0, at, n, nil) },
		"a get":             func(at unsafe.Pointer) Status { return p.Get(theDead, 0, at, 8, nil) },
		"an atomic":         func(unsafe.Pointer) Status { return p.AMO(theDead, 0, fabric.OpSet, 8, 1, 0, nil, nil) },
		"a fetch":           func(unsafe.Pointer) Status { return p.AMO(theDead, 0, fabric.OpFetch, 8, 1, 0, nil, new(Request)) },
		"a put with signal": func(at unsafe.Pointer) Status { return p.PutSignal(theDead, 0, at, n, 80, 1, fabric.OpSet, nil) },
		"a signal":          func(at unsafe.Pointer) Status { return p.PutSignal(theDead, 0, at, 8, 80, 1, fabric.OpSet, nil) },
	} {
		for _, from := range []unsafe.Pointer{at, host} {
			st := f(from)
			var lost *LostError
			if st != Failed || !errors.As(p.Err(), &lost) || lost.PE != theDead {
				l.t.Errorf("PE %d: %s to a lost PE: %d, %v", p.me, name, st, p.Err())
			}
		}
	}
}

// goOn lets two survivors use all chunks and slots.
func (l *gpuStageLoss) goOn(p, q *pe) {
	for round := range 6 {
		size := min(60_000, p.PutMax())
		at, sent := p.local(fill(l.rng, int(size)))
		signal := uint64(round + 1)
		p.post(func() Status { return p.PutSignal(q.me, 1024, at, size, 8, signal, fabric.OpSet, nil) })
		p.quiet()
		differ(l.t, "bytes that were put", q.heap[1024:1024+size], sent)
		back, got := p.local(make([]byte, size))
		p.do(func(r *Request) Status { return p.Get(q.me, 1024, back, size, r) })
		differ(l.t, "bytes that were got", got, sent)
		var value uint64
		if p.do(func(r *Request) Status { return p.AMO(q.me, 8, fabric.OpFetch, 8, 0, 0, unsafe.Pointer(&value), r) }) != signal {
			l.t.Errorf("the signal is not there")
		}
	}
}

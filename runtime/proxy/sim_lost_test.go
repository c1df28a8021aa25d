package proxy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/sim"
)

// lossPEs is the number of PEs, and dying the one that dies.
const lossPEs, dying = 4, 2

// TestSimLost lets a PE die in the middle of operations of the others on it. Their waits end, later
// operations on it fail at once and say why, and they go on among themselves.
func TestSimLost(t *testing.T) {
	mem := &memories{}
	for _, model := range []sim.Model{sim.EFA(), sim.EFADirect(), sim.Verbs(), sim.TCP()} {
		var network, told, failedQuiets, endedEarly int
		for seed := range uint64(60) {
			l := &losing{world: newWorld(t, sockets(model, seed), seed, lossPEs, 1<<16, mem)}
			l.run(seed%2 == 0)
			network += l.network
			told += l.told
			failedQuiets += l.failedQuiets
			endedEarly += l.endedEarly
			if t.Failed() {
				return
			}
		}
		if told == 0 || failedQuiets == 0 || endedEarly == 0 {
			t.Errorf("%s: %d losses by the network, %d told, %d quiets failed, %d operations ended: some never happened",
				model.Name, network, told, failedQuiets, endedEarly)
		}
	}
}

type losing struct {
	*world
	requests                                map[*Request]libshmem.PE
	network, told, failedQuiets, endedEarly int
	fill                                    byte // of what is put
}

// run: tells says that the survivors learn of the death before the network may report it.
func (l *losing) run(tells bool) {
	l.requests = map[*Request]libshmem.PE{}
	for _, p := range l.pes {
		p.OnLost(func(pe libshmem.PE, err error) {
			l.network++
			if pe != dying || err == nil {
				l.fail("PE %d: the network lost PE %d: %v", p.me, pe, err)
			}
		})
	}
	var tickets []Ticket
	survivors := append(append([]*proc{}, l.pes[:dying]...), l.pes[dying+1:]...)
	for range 40 {
		for _, p := range l.pes {
			l.ask(p, libshmem.PE(l.rng.IntN(lossPEs)))
		}
		l.poll(l.pes[l.rng.IntN(lossPEs)])
	}
	for _, p := range survivors {
		tickets = append(tickets, p.QuietBegin())
	}
	for range l.rng.IntN(30) {
		l.poll(l.pes[l.rng.IntN(lossPEs)])
	}
	l.net.Kill(dying)
	l.pes[dying].dead = true
	for _, p := range survivors {
		l.ask(p, dying) // no PE knows yet
		for range l.rng.IntN(20) {
			l.poll(p)
		}
		if tells {
			p.Lose(dying, "was killed")
			l.told++
		}
	}
	if !tells { // at last they learn of it
		for range 2000 {
			l.poll(survivors[l.rng.IntN(len(survivors))])
		}
		for _, p := range survivors {
			p.Lose(dying, "was killed")
		}
	}
	for i, p := range survivors {
		l.until("the quiet of before", func() bool {
			st := p.QuietDone(tickets[i])
			if st == Failed {
				l.failedQuiets++
			}
			return st != Pending
		})
		l.settle(p)
	}
	for r, pe := range l.requests {
		l.until(fmt.Sprintf("a request to PE %d", pe), func() bool { return r.Done != 0 })
		if r.Status != 0 {
			l.endedEarly++
			if pe != dying {
				l.fail("an operation on PE %d ended with %d", pe, r.Status)
			}
		}
	}
	l.refused(survivors[0])
	l.goOn(survivors)
	for _, p := range survivors {
		l.until("rest", func() bool { return p.atRest() })
	}
	for _, p := range l.pes {
		if err := p.Close(); err != nil && !p.dead {
			l.fail("PE %d: close: %v", p.me, err)
		}
	}
}

// settle ends the state that a failed quiet may leave: the next quiet has no failure to report.
func (l *losing) settle(p *proc) {
	for failed := 0; ; failed++ {
		ticket, st := p.QuietBegin(), Pending
		l.until("a quiet", func() bool { st = p.QuietDone(ticket); return st != Pending })
		if st == Done || l.ended {
			return
		}
		if failed == 2 {
			l.fail("PE %d: the quiets go on to fail: %v", p.me, p.Err())
			return
		}
	}
}

const withoutRequest = 5

// ask posts a random operation, or nothing if there is no room.
func (l *losing) ask(p *proc, to libshmem.PE) {
	if int(to) == p.me {
		return
	}
	source := bytes.Repeat([]byte{l.fill}, 20000)
	at := unsafe.Pointer(&source[0])
	r := new(Request)
	st := Done
	kind := l.rng.IntN(6)
	switch kind {
	case 0:
		st = p.Put(to, 0, at, 8, r)
	case 1:
		st = p.Put(to, 0, at, 20000, r)
	case 2:
		st = p.Get(to, 0, at, 9000, r)
	case 3:
		st = p.AMO(to, 40000, fabric.OpFetchAdd, 8, uint64(l.fill), 0, nil, r)
	case 4:
		st = p.PutSignal(to, 0, at, 16000, 41000, uint64(l.fill), fabric.OpAdd, r)
	case withoutRequest:
		st = p.Put(to, 0, at, 20000, nil)
	}
	switch {
	case st == Failed && to != dying:
		l.fail("PE %d: an operation on PE %d: %v", p.me, to, p.Err())
	case st == Pending && p.me != dying && kind != withoutRequest:
		l.requests[r] = to
	}
}

// refused tries each operation on the lost PE.
func (l *losing) refused(p *proc) {
	b := make([]byte, 20000)
	at := unsafe.Pointer(&b[0])
	for name, st := range map[string]Status{
		"a small put": p.Put(dying, 0, at, 8, nil), "a large put": p.Put(dying, 0, at, 20000, nil),
		"a get": p.Get(dying, 0, at, 8, nil), "an atomic": p.AMO(dying, 0, fabric.OpAdd, 8, 1, 0, nil, nil),
		"a fetching atomic": p.AMO(dying, 0, fabric.OpFetchAdd, 8, 1, 0, nil, new(Request)),
		"a put with signal": p.PutSignal(dying, 0, at, 20000, 41000, 1, fabric.OpSet, nil),
	} {
		if st != Failed {
			l.fail("%s to a lost PE: %v", name, st)
		}
	}
	var lost *LostError
	if err := p.Err(); !errors.As(err, &lost) || lost.PE != dying || !strings.HasPrefix(err.Error(), "PE 2 ") {
		l.fail("the reason is %v", err)
	}
}

// goOn lets the survivors count, copy and signal among themselves.
func (l *losing) goOn(survivors []*proc) {
	const count, data, back, signal = 50000, 51000, 56000, 62000
	post := func(p *proc, f func() Status) {
		l.until("room", func() bool {
			st := f()
			if st == Failed {
				l.fail("PE %d: %v", p.me, p.Err())
			}
			return st != Again
		})
	}
	n := len(survivors)
	for i, p := range survivors {
		to, from := survivors[(i+1)%n], survivors[(i+n-1)%n]
		for j := range 5000 {
			from.heap[data+j] = byte(from.me + j)
		}
		put := make([]byte, 4500)
		for j := range put {
			put[j] = byte(7*p.me + j)
		}
		for range 100 {
			post(p, func() Status { return p.AMO(libshmem.PE(to.me), count, fabric.OpAdd, 8, 3, 0, nil, nil) })
		}
		got := make([]byte, 5000)
		post(p, func() Status {
			return p.Get(libshmem.PE(from.me), data, unsafe.Pointer(&got[0]), 5000, nil)
		})
		post(p, func() Status {
			return p.PutSignal(libshmem.PE(to.me), back, unsafe.Pointer(&put[0]), 4500, signal, uint64(i)+1, fabric.OpSet, nil)
		})
		l.until("the signal", func() bool { return binary.LittleEndian.Uint64(to.heap[signal:]) == uint64(i)+1 })
		for j := range put {
			if to.heap[back+j] != put[j] {
				l.fail("PE %d: byte %d is not there, and the signal is", to.me, j)
				return
			}
		}
		l.quiet(p)
		for j := range got {
			if got[j] != byte(from.me+j) {
				l.fail("PE %d: got byte %d wrong", p.me, j)
				return
			}
		}
		if c := binary.LittleEndian.Uint64(to.heap[count:]); c != 300 {
			l.fail("PE %d: counted %d, want 300", to.me, c)
		}
	}
}

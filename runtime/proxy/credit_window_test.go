package proxy

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/runtime/proxy/layout"
)

// crowded gives an engine the credits of a job of n PEs.
func (p *pe) crowded(n int) {
	p.Window, p.Unit = creditUnits(n)
	p.FlushAt = p.Window / 2
}

// A PE that does not answer gets no more bytes of messages than its part, by each kind of
// operation. All of it arrives when the PE answers.
func TestWindowOfBytes(t *testing.T) {
	source := make([]byte, layout.MaxPayload)
	at := unsafe.Pointer(&source[0])
	for _, n := range []int{2, 100, 1000, 10_000, 1_000_000} {
		for _, m := range []mode{modes[0], modes[3]} {
			j := newJob(t, m, 1, 2, 32<<10)
			a, b := j.pes[0], j.pes[1]
			a.crowded(n)
			counted := uint64(0)
			for _, row := range []struct {
				what string
				size int
				adds uint64
				post func(size uint64) Status
			}{
				{"add", 0, 1, func(uint64) Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) }},
				{"small put", 24, 0, func(size uint64) Status { return a.Put(1, 64, at, size, nil) }},
				{"put", 1000, 0, func(size uint64) Status { return a.Put(1, 64, at, size, nil) }},
				{"large put", layout.MaxPut, 0, func(size uint64) Status { return a.Put(1, 64, at, size, nil) }},
				{"put with signal", 2000, 1, func(size uint64) Status { return a.PutSignal(1, 64, at, size, 0, 1, fabric.OpAdd, nil) }},
			} {
				if n <= 2 && layout.HeaderSize+row.size > m.caps.MaxInject {
					continue // tokens are the bound
				}
				cost, messages, again := a.Cost(layout.HeaderSize+row.size), uint64(0), 0
				for again < 5 {
					switch row.post(uint64(row.size)) {
					case Done:
						messages, again = messages+1, 0
						counted += row.adds
					case Again:
						again++
						a.poll() // a message that has left frees its token
					default:
						t.Fatal(a.Err())
					}
				}
				if want := uint64(a.Window) / cost; messages != want {
					t.Errorf("%s, %d PEs, %s: %d messages of %d units without an answer, want %d", m.name, n, row.what, messages, cost, want)
				}
				if !a.ops.Peers[1].Flushing {
					t.Errorf("%s, %d PEs, %s: no answer was asked for", m.name, n, row.what)
				}
				a.quiet()
			}
			// A signal behind bytes of a one-sided write counts too.
			large := min(uint64(16<<10), a.PutMax())
			big := make([]byte, large)
			signals := uint64(0)
			for k := 0; k < 4*messageWindow && signals < 2*uint64(a.Window); k++ {
				if st := a.PutSignal(1, 64, unsafe.Pointer(&big[0]), large, 0, 1, fabric.OpAdd, nil); st == Failed {
					t.Fatal(a.Err())
				} else if st != Again {
					signals++
				}
				a.poll()
			}
			if !m.caps.DeliveryComplete && signals > uint64(a.Window) {
				t.Errorf("%s, %d PEs: %d signals without an answer", m.name, n, signals)
			}
			a.quiet()
			if got := binary.NativeEndian.Uint64(b.heap); got != counted+signals {
				t.Errorf("%s, %d PEs: counted to %d, want %d", m.name, n, got, counted+signals)
			}
			j.close()
		}
	}
}

// C has the same bound: it leaves to Go what Go would refuse.
func TestWindowOfBytesInC(t *testing.T) {
	for _, n := range []int{2, 1000, 1_000_000} {
		for _, size := range []int{8, 150, 2100} {
			m := native(modes[3]) // it injects all of it
			stuck := true
			m.stuck = func(o *work) bool { return stuck }
			j := newRingJob(t, m, 1, 2, 1, 1<<16)
			p, rig := j.pes[0], j.rigs[0][0]
			p.crowded(n)
			peer := &p.ops.Peers[1]
			cost := p.Cost(layout.HeaderSize + size)
			if size == 8 {
				cost = p.Cost(layout.HeaderSize)
			}
			want := uint64(p.Window) / cost
			for i := range want + 1 {
				rig.Push(&queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: address(p.heap), Length: uint64(size)})
				if j.inC(0); peer.Flushing != (i*cost >= uint64(p.FlushAt)) {
					t.Fatalf("%d PEs, %d bytes: message %d: flushing %v", n, size, i, peer.Flushing)
				}
			}
			if j.inLoop != int(want) || peer.Charged != want*cost {
				t.Errorf("%d PEs, %d bytes: C took %d messages of %d units, want %d", n, size, j.inLoop, cost, want)
			}
			j.consumers[0].Drain()
			if !j.consumers[0].Holds() {
				t.Errorf("%d PEs, %d bytes: what finds no room was to wait in Go", n, size)
			}
			stuck = false
			j.until("the answer", func() bool { return !peer.Flushing })
			j.quiet(0, 0)
			if peer.Charged != (want+1)*cost {
				t.Errorf("%d PEs, %d bytes: %d units were sent, want %d", n, size, peer.Charged, (want+1)*cost)
			}
			j.clean()
		}
	}
}

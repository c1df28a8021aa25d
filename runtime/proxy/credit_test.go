package proxy

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// operations has one of each kind that takes credits, with the number that it adds to the word at
// offset 0 of its target.
func (p *pe) operations(source []byte) map[string]func(to libshmem.PE) (Status, uint64) {
	at := unsafe.Pointer(&source[0])
	fetched := new(uint64)
	large := min(uint64(len(source)), p.PutMax())
	return map[string]func(to libshmem.PE) (Status, uint64){
		"element":   func(to libshmem.PE) (Status, uint64) { return p.Put(to, 8, at, 8, nil), 0 },
		"small put": func(to libshmem.PE) (Status, uint64) { return p.Put(to, 4096, at, 3000, nil), 0 },
		"large put": func(to libshmem.PE) (Status, uint64) { return p.Put(to, 4096, at, large, nil), 0 },
		"get":       func(to libshmem.PE) (Status, uint64) { return p.Get(to, 4096, at, 3000, nil), 0 },
		"atomic":    func(to libshmem.PE) (Status, uint64) { return p.AMO(to, 0, fabric.OpAdd, 8, 1, 0, nil, nil), 1 },
		"fetch": func(to libshmem.PE) (Status, uint64) {
			return p.AMO(to, 0, fabric.OpFetchAdd, 8, 1, 0, unsafe.Pointer(fetched), nil), 1
		},
		"put_signal": func(to libshmem.PE) (Status, uint64) {
			return p.PutSignal(to, 4096, at, 100, 0, 1, fabric.OpAdd, nil), 1
		},
		"large put_signal": func(to libshmem.PE) (Status, uint64) {
			return p.PutSignal(to, 4096, at, large, 0, 1, fabric.OpAdd, nil), 1
		},
	}
}

// Stuck PEs do not stop the traffic to the others, whatever is sent to them. All of it arrives when
// they come back.
func TestPlayedStuckPeers(t *testing.T) {
	const n, heap = 8, 32 << 10
	for _, m := range modes {
		m.delay = 3
		// Limits of the endpoint, which all PEs share: the messages that 5 of them may have without
		// an answer, and a write with its signal for each token.
		m.credits = 5*messageWindow + 2*layout.Tokens
		t.Run(m.name, func(t *testing.T) {
			var stuck func(pe libshmem.PE) bool
			m.stuck = func(o *work) bool { return stuck(o.to) }
			for _, several := range []libshmem.PE{1, 5} { // PEs 1 to several are stuck
				stuck = func(pe libshmem.PE) bool { return 1 <= pe && pe <= several }
				j := newJob(t, m, 1, n, heap)
				a := j.pes[0]
				source := make([]byte, 16<<10)
				sent := make([]uint64, n)
				add := func(f func(libshmem.PE) (Status, uint64), to libshmem.PE) Status {
					st, adds := f(to)
					if st == Failed {
						t.Fatal(a.Err())
					}
					if st != Again {
						sent[to] += adds
					}
					return st
				}
				// Use up all that stuck PEs can get.
				ops := a.operations(source)
				for what, f := range ops {
					for to := libshmem.PE(1); to <= several; to++ {
						k := 0
						for again := 0; again < 3; {
							if k++; k > 20*messageWindow {
								t.Fatalf("%s to a PE that is stuck is never refused", what)
							}
							if add(f, to) == Again {
								again++
								a.poll()
							}
						}
						if a.Full() {
							t.Fatalf("%s: the endpoint is full, with %d of %d tokens free", what, len(a.ops.Table.Free), layout.Tokens-layout.Receives)
						}
					}
				}
				// A quiet would wait for the stuck PEs; the others go on.
				for to := several + 1; to < n; to++ {
					for what, f := range ops {
						for range 50 {
							j.await(what+" to a PE that is not stuck", func() bool { return add(f, to) != Again })
						}
					}
					j.await("operations on a PE that is not stuck", func() bool {
						return binary.NativeEndian.Uint64(j.pes[to].heap) == sent[to]
					})
				}
				stuck = func(libshmem.PE) bool { return false }
				a.quiet()
				for to := range j.pes {
					if got := binary.NativeEndian.Uint64(j.pes[to].heap); got != sent[to] {
						t.Errorf("PE %d has counted to %d, want %d", to, got, sent[to])
					}
				}
				j.close()
			}
		})
	}
}

// The endpoint is full when no PE can have a token.
func TestFull(t *testing.T) {
	const n = 64
	m := modes[1]
	m.stuck = func(o *work) bool { return o.kind == fabric.KindRead }
	j := newJob(t, m, 1, n, 4096)
	a := j.pes[0]
	buf := make([]byte, 64)
	get := func(to libshmem.PE) Status { return a.Get(to, 0, unsafe.Pointer(&buf[0]), 8, nil) }
	held := make([]int, n)
	total, refused := 0, 0
	for to := libshmem.PE(1); to < n; to++ {
		for get(to) == Pending {
			held[to]++
		}
		if total += held[to]; held[to] == 0 {
			refused++
			if !a.Full() {
				t.Errorf("PE %d has nothing under way and is refused, with %d tokens free", to, len(a.ops.Table.Free))
			}
		} else if to < 20 && a.Full() {
			t.Errorf("full after %d PEs", to)
		}
	}
	if refused == 0 || total != layout.Tokens-layout.Receives-reservedTokens {
		t.Errorf("%d operations under way, %d PEs refused", total, refused)
	}
	if got := held[1]; got != (layout.Tokens-layout.Receives-reservedTokens)/4 {
		t.Errorf("the first PE has %d operations under way", got)
	}
	// The engine's own messages still find tokens.
	b := j.pes[1]
	if b.post(func() Status { return b.AMO(0, 0, fabric.OpFetchAdd, 8, 1, 0, unsafe.Pointer(&buf[0]), nil) }); len(a.ops.Table.Free) < reservedTokens {
		t.Error("callers have the reserve")
	}
	b.quiet()
	j.net.mode.stuck = nil
	a.quiet()
	if a.Full() || get(1) != Pending {
		t.Error("full at rest")
	}
	j.close()
}

// Bytes under way have a bound, and each PE may have one operation beyond it.
func TestBytesUnderWay(t *testing.T) {
	const heap = 4 << 20
	m := modes[1]
	m.stuck = func(o *work) bool { return o.kind != fabric.KindSend && o.from == 0 }
	j := newJob(t, m, 1, 4, heap)
	a := j.pes[0]
	source := guarded(t, 1<<20)
	put := func(to libshmem.PE, n uint64) Status { return a.Put(to, 0, unsafe.Pointer(&source[0]), n, nil) }
	var held [4]uint64
	for to := range libshmem.PE(3) {
		for put(to+1, 1<<20) == Pending {
			held[to] += 1 << 20
		}
	}
	if held[0] != maxBytes/4 || held[1] < maxBytes/8 || held[2] < maxBytes/16 || a.ops.Table.Bytes != held[0]+held[1]+held[2] {
		t.Errorf("bytes under way by PE: %d, in all %d", held, a.ops.Table.Bytes)
	}
	if st := put(1, 1<<20); st != Again || a.Full() {
		t.Errorf("put beyond: %d, full %v", st, a.Full())
	}
	if st := put(1, 100); st != Done && st != Again {
		t.Errorf("a message: %d", st)
	}
	j.net.mode.stuck = nil
	a.quiet()
	if a.ops.Table.Bytes != 0 || a.ops.Peers[1].Bytes != 0 || a.ops.Peers[1].Tokens != 0 {
		t.Errorf("at rest: %d bytes, %d and %d tokens of PE 1", a.ops.Table.Bytes, a.ops.Peers[1].Bytes, a.ops.Peers[1].Tokens)
	}
	// An operation that is larger than the bound passes.
	a.ops.Table.Bytes = maxBytes
	if st := put(1, 1<<20); st != Pending {
		t.Errorf("a first operation beyond the bound: %d", st)
	}
	if st := put(1, 1<<20); st != Again {
		t.Errorf("a second one: %d", st)
	}
	a.ops.Table.Bytes -= maxBytes
	j.close()
}

// No more than the window of messages goes to a PE that does not answer. A PE that answers is asked
// in time.
func TestWindow(t *testing.T) {
	m := modes[0]
	j := newJob(t, m, 1, 2, 4096)
	a, b := j.pes[0], j.pes[1]
	count := func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) }
	n := uint64(0)
	for count() == Done {
		n++
	}
	if n != messageWindow || a.Full() || !a.ops.Peers[1].Flushing {
		t.Errorf("%d messages without an answer, full %v, asked %v", n, a.Full(), a.ops.Peers[1].Flushing)
	}
	for range 20 * messageWindow {
		if count() == Done {
			n++
		} else {
			a.poll()
		}
		b.poll()
	}
	if n < 20*messageWindow || a.Report.Messages() > n+2*n/messageWindow+2 {
		t.Errorf("%d operations posted with %d messages", n, a.Report.Messages())
	}
	a.quiet()
	if got := binary.NativeEndian.Uint64(b.heap); got != n {
		t.Errorf("counter is %d, want %d", got, n)
	}
	j.close()
}

package proxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// traffic is a PE that never stops posting, to all others, whenever there is room. Each operation
// adds one to a word of its target, or is followed by a signal that does, so that the words show
// which operations have been applied.
type traffic struct {
	*pe
	source []byte
	posted []uint64 // by PE
	n      int
}

func (g *traffic) post(t testing.TB) {
	to := libshmem.PE((int(g.me) + 1 + g.n%(len(g.posted)-1)) % len(g.posted))
	at := unsafe.Pointer(&g.source[0])
	word := libshmem.Offset(8 * g.me)
	var st Status
	switch g.n++; g.j.rng.IntN(5) {
	case 0:
		st = g.AMO(to, word, fabric.OpAdd, 8, 1, 0, nil, nil)
	case 1:
		st = g.PutSignal(to, 64, at, 100, word, 1, fabric.OpAdd, nil)
	case 2:
		var fetched uint64
		st = g.AMO(to, word, fabric.OpFetchAdd, 8, 1, 0, unsafe.Pointer(&fetched), nil)
	default:
		st = g.PutSignal(to, 4096, at, min(uint64(len(g.source)), g.PutMax()), word, 1, fabric.OpAdd, nil)
	}
	switch st {
	case Failed:
		t.Fatalf("PE %d: post: %v", g.me, g.Err())
	case Done, Pending:
		g.posted[to]++
	}
}

// applied returns how many operations of the PE have taken effect at another.
func (g *traffic) applied(at libshmem.PE) uint64 {
	return binary.NativeEndian.Uint64(g.j.pes[at].heap[8*g.me:])
}

// A quiet ends although others go on posting, and when it ends, all operations posted before it
// have taken effect. Several may be under way.
func TestPlayedQuietUnderTraffic(t *testing.T) {
	type waiting struct {
		ticket Ticket
		posted []uint64
		turn   int
	}
	for i := range 16 {
		m := combination(i)
		t.Run(m.name, func(t *testing.T) {
			seeds(3, func(seed uint64) {
				defer described(t, seed)
				const n, heap = 3, 32 << 10
				j := newJob(t, m, seed, n, heap)
				var gs []*traffic
				for _, p := range j.pes {
					gs = append(gs, &traffic{pe: p, source: make([]byte, 3*layout.MaxPayload), posted: make([]uint64, n)})
				}
				var quiets []waiting
				done, longest := 0, 0
				a := gs[0]
				for turn := 0; done < 30; turn++ {
					if turn > 200_000 {
						t.Fatalf("%d quiets are done after %d turns, %d under way since turn %d", done, turn, len(quiets), quiets[0].turn)
					}
					for _, g := range gs {
						g.post(t)
					}
					j.pes[j.rng.IntN(n)].poll()
					if len(quiets) < 4 && j.rng.IntN(20) == 0 {
						w := waiting{a.QuietBegin(), append([]uint64(nil), a.posted...), turn}
						quiets = append(quiets, w)
					}
					for len(quiets) > 0 {
						w := quiets[0]
						st := a.QuietDone(w.ticket)
						if st == Pending {
							break
						}
						if st != Done {
							t.Fatalf("quiet %d: %d, %v", w.ticket, st, a.Err())
						}
						for pe := range libshmem.PE(n) {
							if pe != a.me && a.applied(pe) < w.posted[pe] {
								t.Fatalf("quiet %d is done and PE %d has applied %d of %d operations", w.ticket, pe, a.applied(pe), w.posted[pe])
							}
						}
						longest = max(longest, turn-w.turn)
						quiets = quiets[1:]
						done++
					}
				}
				if longest > 20_000 {
					t.Errorf("a quiet took %d turns", longest)
				}
				j.close()
			})
		})
	}
}

// Quiets that begin while one is under way share the next generation.
func TestQuietsShare(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 4096)
	a, b := j.pes[0], j.pes[1]
	count := func() { a.post(func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) }) }
	count()
	first := a.QuietBegin()
	count()
	second, third := a.QuietBegin(), a.QuietBegin()
	if second != third || second != first+1 {
		t.Errorf("tickets %d, %d, %d", first, second, third)
	}
	messages := a.Report.Messages()
	b.poll()
	a.poll()
	if a.QuietDone(first) != Done || a.QuietDone(second) != Pending {
		t.Errorf("after the first answer: %d, %d", a.QuietDone(first), a.QuietDone(second))
	}
	if a.Report.Messages() != messages+1 {
		t.Errorf("%d messages for the two quiets that share", a.Report.Messages()-messages)
	}
	b.poll()
	a.poll()
	if st := a.QuietDone(third); st != Done || b.heap[0] != 2 {
		t.Errorf("the shared quiet: %d, counter %d", st, b.heap[0])
	}
	messages = a.Report.Messages()
	if st := a.QuietDone(a.QuietBegin()); st != Done || a.Report.Messages() != messages {
		t.Errorf("quiet with nothing to wait for: %d, %d messages", st, a.Report.Messages()-messages)
	}
	j.close()
}

// A failed operation fails the quiets that cover it, and no other: neither one
// that began before it was posted, nor one that began later.
func TestQuietFails(t *testing.T) {
	for _, i := range []int{2, 6, 8, 15} { // one-sided writes with and without delivery complete
		m := combination(i)
		m.caps.MaxInject = 0
		failing := map[int]bool{} // by length
		m.fail = func(o *work) int32 {
			if o.kind != fabric.KindSend && failing[o.n] {
				return 113
			}
			return 0
		}
		t.Run(m.name, func(t *testing.T) {
			seeds(20, func(seed uint64) {
				defer described(t, seed)
				clear(failing)
				j := newJob(t, m, seed, 3, 64<<10)
				a := j.pes[0]
				buf := make([]byte, 16<<10)
				at := unsafe.Pointer(&buf[0])
				type quiet struct {
					ticket Ticket
					posted int // operations before it
				}
				var quiets []quiet
				var in []Ticket             // the generation of each operation
				failed := map[Ticket]bool{} // the generations that fail
				const ops = 24
				for k := range ops {
					n := uint64(5000 + k)
					bad := j.rng.IntN(6) == 0 && len(failed) < 8 // no more are remembered
					failing[int(n)] = bad
					to := libshmem.PE(1 + j.rng.IntN(2))
					read := j.rng.IntN(3) == 0 || a.PutMax() < n
					var open Ticket
					a.post(func() Status {
						if open = a.ops.Quiets.Open; read {
							return a.Get(to, 0, at, n, nil)
						}
						return a.Put(to, 0, at, n, nil)
					})
					in = append(in, open)
					if bad {
						failed[open] = true
					}
					for j.rng.IntN(3) == 0 {
						quiets = append(quiets, quiet{a.QuietBegin(), k + 1})
					}
				}
				quiets = append(quiets, quiet{a.QuietBegin(), ops})
				for k, q := range quiets {
					st := Pending
					j.await("quiet", func() bool { st = a.QuietDone(q.ticket); return st != Pending })
					if (st == Failed) != failed[q.ticket] {
						t.Errorf("quiet %d, ticket %d: %d; failed: %v, operations: %v", k, q.ticket, st, failed, in)
					}
					if last := in[q.posted-1]; last > q.ticket {
						t.Errorf("quiet %d has ticket %d behind an operation of generation %d", k, q.ticket, last)
					}
					if st == Failed && !strings.HasSuffix(a.Err().Error(), "the network of the tests says 113") {
						t.Errorf("quiet %d: %v", k, a.Err())
					}
					if again := a.QuietDone(q.ticket); again != st {
						t.Errorf("quiet %d answers %d, then %d", k, st, again)
					}
				}
				if st := a.Quiet(); st != Done {
					t.Errorf("a quiet after all: %d", st)
				}
				j.close()
			})
		})
	}
}

// Past failures are remembered for late callers, as far as there is room. No quiet that failed is
// ever answered Done.
func TestQuietAskedLate(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 4096)
	a := j.pes[0]
	var bad, good []Ticket
	for k := range 12 {
		err := fmt.Errorf("failure %d", k)
		a.ops.Quiets.Fail(a.ops.Quiets.Parity(), err)
		bad = append(bad, a.QuietBegin())
		good = append(good, a.QuietBegin())
		if st := a.QuietDone(bad[k]); st != Failed || a.Err() != err {
			t.Errorf("quiet of failure %d: %d, %v", k, st, a.Err())
		}
		if st := a.QuietDone(good[k]); st != Done {
			t.Errorf("quiet behind failure %d: %d", k, st)
		}
	}
	for k := range bad {
		if st := a.QuietDone(bad[k]); st != Failed {
			t.Errorf("quiet of failure %d, asked late: %d", k, st)
		}
		if st := a.QuietDone(good[k]); st != Done && k >= 4 {
			t.Errorf("quiet behind failure %d, asked late: %d", k, st)
		}
	}
	j.close()
}

// A flush that cannot be sent fails the quiet that needs it; the next quiet
// covers the same operations.
func TestQuietFlushRefused(t *testing.T) {
	j := newJob(t, modes[0], 1, 3, 4096)
	a := j.pes[0]
	gone := errors.New("the cable is out")
	broken := &refusal{end: a.end}
	a.ops.Net.Provider = broken
	for pe := range libshmem.PE(2) {
		a.post(func() Status { return a.AMO(1+pe, 0, fabric.OpAdd, 8, 1, 0, nil, nil) })
	}
	broken.err = gone
	t1 := a.QuietBegin()
	if st := a.QuietDone(t1); st != Failed || a.Err() != gone {
		t.Errorf("quiet: %d, %v", st, a.Err())
	}
	broken.err = nil
	t2 := a.QuietBegin()
	if st := a.QuietDone(t2); st != Pending {
		t.Errorf("the next quiet: %d", st)
	}
	a.quiet()
	if st := a.QuietDone(t2); st != Done || j.pes[1].heap[0] != 1 || j.pes[2].heap[0] != 1 {
		t.Errorf("the next quiet: %d, counters %d and %d", st, j.pes[1].heap[0], j.pes[2].heap[0])
	}
	j.close()
}

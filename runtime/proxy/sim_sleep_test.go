package proxy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/sim"
	"libshmem/tests/need"
)

// If Arm permits sleep with unread bytes, a PE goes to sleep on bytes that others wait for. If it
// does not, the same seeds run to their end.
func TestSimSleepNotices(t *testing.T) {
	mem := new(memories)
	models := []sim.Model{sim.TCP(), sim.Rough(sim.TCP()), sim.EFA(), sim.EFADirect(), sim.Worst()}
	if need.Race { // there are no threads for the race detector to watch here
		models = models[:1]
	}
	for _, m := range models {
		m = sim.Unread(m, 1)
		cured, stood := m, 0
		m.Broken = sim.ArmsUnread
		var said string
		for seed := range uint64(12) {
			q := &quietly{TB: t}
			runSeed(q, m, seed, true, mem)
			if first, _, _ := strings.Cut(q.said, "\n"); strings.HasSuffix(first, stands) {
				said = first
				stood++
			} else if q.said != "" {
				t.Errorf("%s, seed %d: %s", m, seed, q.said)
			}
			runSeed(t, cured, seed, true, mem)
		}
		if t.Logf("%s: %d seeds stand still: %s", m, stood, said); stood == 0 {
			t.Errorf("%s: no seed stands still", m)
		}
	}
}

// loops is PEs whose loops run in threads of their own, as in a real process. No caller polls until
// one of their waits has overslept: then the callers finish the work.
type loops struct {
	*world
	t     *testing.T
	waits uint64   // waits that have overslept
	holds [][]byte // sources of puts, which the collector does not see in the engine's memory
}

// locked calls a PE as a thread of its program does.
func (l *loops) locked(p *proc, f func()) {
	for !atomic.CompareAndSwapUint32(&p.words[0], 0, 1) {
		time.Sleep(time.Microsecond)
	}
	defer atomic.StoreUint32(&p.words[0], 0)
	f()
}

// until waits until the loops have made ok true.
func (l *loops) until(what string, ok func() bool) {
	l.t.Helper()
	need.Eventually(l.t, what, func() bool {
		waits := uint64(0)
		for _, p := range l.pes {
			l.locked(p, func() {
				if waits += p.Report.Overslept(); l.waits > 0 {
					if _, err := p.Poll(); err != nil {
						l.t.Error(err)
					}
				}
			})
		}
		l.waits = waits
		return ok()
	})
}

// posted repeats an operation until it finds room.
func (l *loops) posted(p *proc, f func() Status) {
	l.until("room", func() bool {
		st := Again
		l.locked(p, func() { st = f() })
		if st == Failed {
			l.t.Fatalf("PE %d: %v", p.me, p.Err())
		}
		return st != Again
	})
}

const (
	loopsPut   = 256 << 10
	loopsPuts  = 3
	loopsWord  = 0
	loopsBegin = 64
)

// put lets each PE put to each other one, and then count there: the answer comes when the bytes
// before it have been read.
func (l *loops) put(round int, answers map[*Request]int) {
	n := len(l.pes)
	for _, p := range l.pes {
		source := bytes.Repeat([]byte{byte(16*round + p.me + 1)}, loopsPut)
		l.holds = append(l.holds, source)
		for i := range n - 1 {
			pe := libshmem.PE((p.me + 1 + i) % n)
			for k := range loopsPuts {
				offset := libshmem.Offset(loopsBegin + (p.me*loopsPuts+k)*loopsPut)
				l.posted(p, func() Status { return p.Put(pe, offset, simAt(source), loopsPut, nil) })
			}
			r := new(Request)
			l.posted(p, func() Status {
				return p.AMO(pe, loopsWord, fabric.OpFetchAdd, 8, 1, 0, nil, r)
			})
			answers[r] = p.me
		}
	}
}

// overslept runs loops over sockets, and returns how many waits ended at their limit with unread
// bytes. Bytes that were put before the loops began lie in the sockets at that time; bytes of later
// rounds come while the loops run.
func overslept(t *testing.T, m sim.Model, pes, rounds int) (waits uint64) {
	mem := new(memories)
	w := newWorld(t, m, 1, pes, loopsBegin+pes*loopsPuts*loopsPut, mem)
	l := &loops{world: w, t: t}
	answers := map[*Request]int{}
	l.put(0, answers)
	for w.net.Step() {
	}
	for _, p := range w.pes {
		if !p.prov.Ready() {
			t.Errorf("PE %d has nothing to read", p.me)
		}
		go p.thread.Run()
	}
	for round := 1; ; round++ {
		for r, pe := range answers {
			l.until("answer", func() bool { return atomic.LoadUint32(&r.Done) != 0 })
			if r.Status != 0 {
				t.Errorf("PE %d: an operation ended with %d", pe, r.Status)
			}
		}
		if round == rounds {
			break
		}
		clear(answers)
		l.put(round, answers)
	}
	for _, p := range w.pes {
		var ticket Ticket
		l.locked(p, func() { ticket = p.QuietBegin() })
		l.until("quiet", func() bool {
			st := Pending
			l.locked(p, func() { st = p.QuietDone(ticket) })
			return st == Done
		})
	}
	for _, p := range w.pes {
		p.thread.Stop()
		waits += p.Report.Overslept()
	}
	for _, p := range w.pes {
		if got, want := binary.NativeEndian.Uint64(p.heap[loopsWord:]), uint64(rounds*(pes-1)); got != want {
			t.Errorf("PE %d was counted at %d times, want %d", p.me, got, want)
		}
		for from := range pes {
			b := p.heap[loopsBegin+from*loopsPuts*loopsPut:][:loopsPuts*loopsPut]
			if want := byte(16*(rounds-1) + from + 1); from != p.me && bytes.Count(b, []byte{want}) != len(b) {
				t.Errorf("PE %d: after the quiet of PE %d its bytes are not there", p.me, from)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	runtime.KeepAlive(l.holds)
	return waits
}

// Loops serve over sockets while no caller polls, and none of their waits lasts for its whole limit
// with unread bytes. If Arm permits sleep with unread bytes, some do.
func TestSimLoopsSleep(t *testing.T) {
	for _, m := range []sim.Model{sim.TCP(), sim.EFA(), sim.EFADirect()} {
		for pes := 2; pes <= 3; pes++ {
			t.Run(fmt.Sprintf("%s, %d PEs", m.Name, pes), func(t *testing.T) {
				t.Parallel()
				if n := overslept(t, sim.Unread(m, 1), pes, 3); n != 0 {
					t.Errorf("%d waits have overslept", n)
				}
			})
		}
		t.Run(m.Name+" uncured", func(t *testing.T) {
			t.Parallel()
			m := sim.Unread(m, 8<<10)
			m.Broken = sim.ArmsUnread
			n := overslept(t, m, 2, 1)
			if t.Logf("%d waits have overslept", n); n == 0 {
				t.Error("no wait has overslept, although Arm gave leave to sleep with bytes unread")
			}
		})
	}
}

package proxy

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
	"unsafe"

	"libshmem"
	layout "libshmem/abi/table"
	"libshmem/fabric"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/collective"
)

// member is a PE that takes part in collectives, each PE on a node of its own. The messages are
// those of capi/front (message.c, barrier.c, coll.c, exchange.c), by the same calls of the engine.
// tests/c/messages.c counts the messages of the library in real processes, and so shows that it
// sends as many.
type member struct {
	*proc
	w     *world
	n     int
	yield func(struct{}) bool // lets the other PEs run
	sent  []uint64            // to each PE
	seen  []uint64            // of each PE's messages
	count uint64              // small reductions
}

// Small reductions, with the numbers of the library.
var directPEs, slot = layout.Number("DIRECT_PES"), layout.Number("SLOT")

// The heap of a member: the inbox, the slots of two reductions, and the destination of an
// all-to-all.
func (m *member) inbox(pe int) int { return 8 * pe }
func (m *member) slots(round int) int {
	return 8*m.n + round%2*slot*max(directPEs, 2+bits.Len(uint(m.n)))
}
func (m *member) block(pe int) int { return m.slots(2) + 2*slot*directPEs + 8*pe }

func memberHeap(n int) int { m := member{n: n}; return m.block(n) }

// step makes progress and lets the other PEs do so.
func (m *member) step() bool {
	m.w.poll(m.proc)
	return m.yield(struct{}{}) && !m.w.ended
}

// post repeats an operation that finds no room.
func (m *member) post(f func() Status) bool {
	for {
		switch f() {
		case Again:
			if !m.step() {
				return false
			}
		case Failed:
			m.w.fail("PE %d: post: %v", m.me, m.Err())
			return false
		default:
			return true
		}
	}
}

// message adds to the inbox of a PE.
func (m *member) message(pe int) bool {
	m.sent[pe]++
	return m.post(func() Status {
		return m.AMO(libshmem.PE(pe), libshmem.Offset(m.inbox(m.me)), fabric.OpSet, 8, m.sent[pe], 0, nil, nil)
	})
}

// data does the same with bytes.
func (m *member) data(pe, at int, from []byte) bool {
	m.sent[pe]++
	return m.post(func() Status {
		return m.PutSignal(libshmem.PE(pe), libshmem.Offset(at), unsafe.Pointer(&from[0]), uint64(len(from)),
			libshmem.Offset(m.inbox(m.me)), m.sent[pe], fabric.OpSet, nil)
	})
}

func (m *member) await(pe int) bool {
	m.seen[pe]++
	for binary.NativeEndian.Uint64(m.heap[m.inbox(pe):]) < m.seen[pe] {
		if !m.step() {
			return false
		}
	}
	return true
}

// barrier is the library's sync_leaders.
func (m *member) barrier() {
	c := collective.Member{Me: m.me, N: m.n, Message: m.message, Await: m.await}
	c.Meet()
}

// allToAll is the library's all_to_all with blocks of 8 bytes.
func (m *member) allToAll() {
	var b [8]byte
	c := collective.Member{Me: m.me, N: m.n, Await: m.await, Message: func(pe int) bool {
		binary.NativeEndian.PutUint64(b[:], uint64(m.me)<<32|uint64(pe))
		return m.data(pe, m.block(m.me), b[:])
	}}
	if !c.AllToAll() {
		return
	}
	for pe := range m.n {
		if got := binary.NativeEndian.Uint64(m.heap[m.block(pe):]); pe != m.me && got != uint64(pe)<<32|uint64(m.me) {
			m.w.fail("PE %d: the block of PE %d is %#x", m.me, pe, got)
			return
		}
	}
}

// sum is shmemi_exchange for one number.
func (m *member) sum() {
	total := uint64(m.me) + 1
	at := m.slots(int(m.count))
	m.count++
	give := func(pe, k int) bool {
		var b [8]byte
		binary.NativeEndian.PutUint64(b[:], total)
		return m.data(pe, at+k*slot, b[:])
	}
	take := func(pe, k int) bool {
		if !m.await(pe) {
			return false
		}
		if m.n > directPEs && k == collective.Whole {
			total = 0
		}
		total += binary.NativeEndian.Uint64(m.heap[at+k*slot:])
		return true
	}
	if !collective.Exchange(m.me, m.n, directPEs, give, take) {
		return
	}
	if want := uint64(m.n) * uint64(m.n+1) / 2; total != want {
		m.w.fail("PE %d: the sum is %d, not %d", m.me, total, want)
	}
}

// running is a PE in a function, up to the place where it waits.
type running struct {
	next func() (struct{}, bool)
	stop func()
}

func start(all []*member, f func(*member)) (out []running) {
	for _, m := range all {
		next, stop := iter.Pull(func(yield func(struct{}) bool) {
			m.yield = yield
			f(m)
		})
		out = append(out, running{next, stop})
	}
	return out
}

// together runs f for all PEs, in random turns.
func together(w *world, all []*member, f func(*member)) {
	left := start(all, f)
	for len(left) > 0 {
		i := w.rng.IntN(len(left))
		if _, more := left[i].next(); more {
			continue
		}
		left[i].stop()
		left[i] = left[len(left)-1]
		left = left[:len(left)-1]
	}
	drain(w, all)
}

// inTime runs f for all PEs as processors do that wait for nothing else: all poll before the next
// fifth of a microsecond begins. In together a poll is an event, so that one PE's messages wait for
// the events of all others.
func inTime(w *world, all []*member, f func(*member)) {
	const instant = sim.Microsecond / 5
	sleeps := w.sleeps
	w.sleeps = false
	for _, m := range all {
		m.asleep = false
	}
	for left := start(all, f); len(left) > 0 && !w.ended; {
		w.net.Manual(true)
		left = slices.DeleteFunc(left, func(r running) bool {
			_, more := r.next()
			return !more
		})
		w.net.Manual(false)
		for until := w.net.Now() + instant; w.net.Now() < until && w.net.Step(); {
		}
	}
	w.sleeps = sleeps
	drain(w, all)
}

// drain lets all messages arrive, and their replies.
func drain(w *world, all []*member) {
	for !w.net.Idle() && !w.ended {
		for _, m := range all {
			w.poll(m.proc)
		}
	}
}

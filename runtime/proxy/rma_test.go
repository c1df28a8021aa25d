package proxy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
)

// everyMode runs f on each network, as it is and at its worst.
func everyMode(t *testing.T, f func(t *testing.T, m mode)) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) { f(t, m) })
		m = rough(m)
		t.Run(m.name, func(t *testing.T) { f(t, m) })
	}
}

// fill makes bytes that are never 0.
func fill(rng *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.NativeEndian.AppendUint64(b, rng.Uint64()|0x0101010101010101)
	}
	return b[:n]
}

func differ(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: byte %d of %d is %#x, want %#x", what, i, len(got), got[i], want[i])
		}
	}
}

var sizes = []int{1, 2, 3, 4, 7, 8, 9, 16, 24, 25, 100, 4039, 4040, 4041, 4103, 4104, 4105, 8192, 1 << 20}

func TestPutGet(t *testing.T) { everyMode(t, putGet) }

func putGet(t *testing.T, m mode) {
	const heap = 1<<20 + 64
	j := newJob(t, m, 1, 2, heap)
	a, b := j.pes[0], j.pes[1]
	model := make([]byte, len(b.memory))
	put := func(at, n int, blocking bool) {
		data := fill(j.rng, n)
		copy(model[at:], data)
		a.put(1, libshmem.Offset(at-internal), data, blocking)
		a.quiet()
		differ(t, fmt.Sprintf("heap after put of %d bytes at %d", n, at-internal), b.memory, model)
		back := make([]byte, n)
		if a.get(1, libshmem.Offset(at-internal), back, blocking); !blocking {
			a.quiet()
		}
		differ(t, fmt.Sprintf("get of %d bytes at %d", n, at-internal), back, data)
	}
	for i, n := range sizes {
		for _, off := range []int{0, 1, 7} {
			if n < 1<<20 || off == i%8 {
				put(internal+16+off, n, (i+off)%2 == 0)
			}
		}
		put(len(model)-n, n, true) // up to the end
	}
	put(0, 8, true) // the internal area is within reach of peers
	put(8, 100, false)
	if m.gpus == nil {
		put(internal-4, 9, false) // GPU memory does not follow it
	}
	if b.Report.Messages() > a.Report.Messages() || a.Report.Count()[layout.Reads] == 0 {
		t.Errorf("counters: %+v at the origin, %+v at the target", a.Report.Count(), b.Report.Count())
	}
	j.close()
}

// Nothing is read from the source or written to the target for 0 bytes.
func TestPutNothing(t *testing.T) {
	j := newJob(t, modes[0], 1, 2, 4096)
	a, b := j.pes[0], j.pes[1]
	copy(b.heap, "untouched")
	a.post(func() Status { return a.Put(1, 0, nil, 0, nil) })
	a.post(func() Status { return a.Put(1, libshmem.Offset(len(b.heap)), nil, 0, nil) })
	a.post(func() Status { return a.PutSignal(1, 8, nil, 0, 16, 5, fabric.OpAdd, nil) })
	a.quiet()
	if got := string(b.heap[:10]); got != "untouched\x00" || b.heap[16] != 5 {
		t.Errorf("heap after puts of 0 bytes: %q, signal %d", got, b.heap[16])
	}
	j.close()
}

// amoModel returns what op leaves behind.
func amoModel(op fabric.Op, old, operand, compare uint64) uint64 {
	switch op {
	case fabric.OpSet, fabric.OpSwap:
		return operand
	case fabric.OpAdd, fabric.OpFetchAdd:
		return old + operand
	case fabric.OpAnd, fabric.OpFetchAnd:
		return old & operand
	case fabric.OpOr, fabric.OpFetchOr:
		return old | operand
	case fabric.OpXor, fabric.OpFetchXor:
		return old ^ operand
	case fabric.OpCompareSwap:
		if old == compare {
			return operand
		}
	}
	return old
}

func TestAtomics(t *testing.T) { everyMode(t, atomics) }

func atomics(t *testing.T, m mode) {
	j := newJob(t, m, 2, 2, 4096)
	a, b := j.pes[0], j.pes[1]
	model := make([]byte, len(b.heap))
	for i := range 400 {
		op, width := fabric.OpSet+fabric.Op(i%int(fabric.OpFetchXor)), uint8(4+4*(i/12%2))
		at := j.rng.IntN(8) * 8
		operand, compare := j.rng.Uint64(), j.rng.Uint64()
		load := func(b []byte) uint64 {
			if width == 4 {
				return uint64(binary.NativeEndian.Uint32(b[at:]))
			}
			return binary.NativeEndian.Uint64(b[at:])
		}
		old := load(model)
		if i%3 == 0 {
			compare = old
		}
		var want uint64
		if width == 4 {
			want = amoModel(op, old, uint64(uint32(operand)), uint64(uint32(compare)))
			binary.NativeEndian.PutUint32(model[at:], uint32(want))
		} else {
			want = amoModel(op, old, operand, compare)
			binary.NativeEndian.PutUint64(model[at:], want)
		}
		// The bytes around the fetched value must stay.
		fetched := [3]uint64{^uint64(0), ^uint64(0), ^uint64(0)}
		got := old
		switch {
		case !op.Fetches():
			a.post(func() Status { return a.AMO(1, libshmem.Offset(at), op, width, operand, compare, nil, nil) })
		case i%2 == 0:
			got = a.do(func(r *Request) Status { return a.AMO(1, libshmem.Offset(at), op, width, operand, compare, nil, r) })
		default:
			a.post(func() Status {
				return a.AMO(1, libshmem.Offset(at), op, width, operand, compare, unsafe.Pointer(&fetched[1]), nil)
			})
			a.quiet()
			if got = fetched[1]; width == 4 {
				got = uint64(*(*uint32)(unsafe.Pointer(&fetched[1])))
			}
			if fetched[0] != ^uint64(0) || fetched[2] != ^uint64(0) || width == 4 && fetched[1]>>32 != 1<<32-1 {
				t.Errorf("op %d of %d bytes wrote around its fetched value: %#x", op, width, fetched)
			}
		}
		if got != old {
			t.Fatalf("op %d of %d bytes fetched %#x, want %#x", op, width, got, old)
		}
		if i%5 == 0 {
			a.quiet()
			differ(t, fmt.Sprintf("heap after op %d of %d bytes", op, width), b.heap, model)
		}
	}
	a.quiet()
	differ(t, "heap", b.heap, model)
	j.close()
}

// Many PEs count on one word: no count is lost and no value fetched twice.
func TestCounter(t *testing.T) { everyMode(t, counter) }

func counter(t *testing.T, m mode) {
	const n, each = 4, 50
	j := newJob(t, m, 3, n, 4096)
	fetched := make([][each]uint64, n)
	for i := range each {
		for _, p := range j.pes[1:] {
			p.post(func() Status { return p.AMO(0, 0, fabric.OpFetchAdd, 8, 1, 0, unsafe.Pointer(&fetched[p.me][i]), nil) })
		}
	}
	seen := make([]int, each*(n-1))
	for _, p := range j.pes[1:] {
		p.quiet()
		for _, v := range fetched[p.me] {
			seen[v]++
		}
	}
	for v, times := range seen {
		if times != 1 {
			t.Errorf("value %d was fetched %d times", v, times)
		}
	}
	if got := binary.NativeEndian.Uint64(j.pes[0].heap); got != each*(n-1) {
		t.Errorf("counter is %d, want %d", got, each*(n-1))
	}
	j.close()
}

// When the signal is there, all bytes are.
func TestPutSignal(t *testing.T) { everyMode(t, putSignal) }

func putSignal(t *testing.T, m mode) {
	const heap = 1<<20 + 4096
	j := newJob(t, m, 4, 2, heap)
	a, b := j.pes[0], j.pes[1]
	signal := (*uint64)(unsafe.Pointer(&b.heap[0]))
	var data []byte
	var at int
	var want, before uint64
	check := func() {
		switch *signal {
		case before:
		case want:
			differ(t, fmt.Sprintf("bytes of put_signal of %d when the signal came", len(data)), b.heap[at:at+len(data)], data)
		default:
			t.Fatalf("signal is %d, want %d or %d", *signal, before, want)
		}
	}
	b.applied = check
	j.net.landed = func(libshmem.PE) { check() }
	for i, n := range sizes {
		for _, op := range []fabric.Op{fabric.OpSet, fabric.OpAdd} {
			if n == 1<<20 && op == fabric.OpAdd {
				continue // slow, and no different
			}
			data, at, before = fill(j.rng, n), 64+j.rng.IntN(16), *signal
			value := uint64(i)<<40 + 1 // not before + anything
			if want = value; op == fabric.OpAdd {
				want += before
			}
			a.putSignal(1, libshmem.Offset(at), data, 0, value, op, i%2 == 0)
			if i%3 != 0 {
				a.quiet()
			}
			j.await("signal", func() bool { return *signal == want })
		}
	}
	j.close()
}

// Both sides ask for more answers at once than there are tokens, on a network on which answers need
// tokens too.
func TestTokensForAnswers(t *testing.T) {
	for _, m := range modes {
		m.caps.MaxInject = 0
		m.delay = 3
		t.Run(m.name, func(t *testing.T) {
			j := newJob(t, m, 5, 2, 4096)
			var fetched [2][2 * layout.Tokens]uint64
			var next [2]int
			j.await("all fetches posted", func() bool {
				for i, p := range j.pes {
					for next[i] < len(fetched[i]) &&
						p.AMO(libshmem.PE(1-i), 0, fabric.OpFetchAdd, 8, 1, 0, unsafe.Pointer(&fetched[i][next[i]]), nil) == Pending {
						next[i]++
					}
				}
				return next[0] == len(fetched[0]) && next[1] == len(fetched[1])
			})
			for i, p := range j.pes {
				p.quiet()
				if fetched[i][len(fetched[i])-1] != uint64(len(fetched[i])-1) {
					t.Errorf("PE %d: last value fetched is %d", i, fetched[i][len(fetched[i])-1])
				}
			}
			j.close()
		})
	}
}

// More messages than there are receive buffers arrive before the target polls.
func TestReceiveBuffersExhausted(t *testing.T) {
	everyMode(t, func(t *testing.T, m mode) {
		m.credits = 0
		j := newJob(t, m, 6, 2, 4096)
		a, b := j.pes[0], j.pes[1]
		waited := 0
		for range 5 * layout.Receives {
			for a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) == Again {
				a.poll() // the target does not poll
			}
		}
		for range 100 * layout.Receives {
			a.poll()
			waited = max(waited, len(b.end.inbox))
		}
		if waited == 0 {
			t.Error("no message waited for a buffer")
		}
		a.quiet()
		if got := binary.NativeEndian.Uint64(b.heap); got != 5*layout.Receives {
			t.Errorf("counter is %d, want %d", got, 5*layout.Receives)
		}
		j.close()
	})
}

func TestUnreachable(t *testing.T) {
	j := newJob(t, modes[0], 7, 2, 4096)
	a := j.pes[0]
	a.ops.Net.Remotes[1].Base, a.ops.Peers[1].Reachable = mem.Nowhere, false
	buf := make([]byte, 8192)
	at := unsafe.Pointer(&buf[0])
	for what, f := range map[string]func() Status{
		"small put":  func() Status { return a.Put(1, 0, at, 8, nil) },
		"large put":  func() Status { return a.Put(1, 0, at, 8192, nil) },
		"get":        func() Status { return a.Get(1, 0, at, 8, nil) },
		"atomic":     func() Status { return a.AMO(1, 0, fabric.OpAdd, 8, 1, 0, nil, nil) },
		"fetch":      func() Status { return a.AMO(1, 0, fabric.OpFetchAdd, 8, 1, 0, at, nil) },
		"put_signal": func() Status { return a.PutSignal(1, 0, at, 8192, 8, 1, fabric.OpSet, nil) },
	} {
		if st := f(); st != Failed || a.Err() != errUnreachable {
			t.Errorf("%s to a PE without address: %d, %v", what, st, a.Err())
		}
	}
	// The callers got the errors; quiet has none to report.
	a.quiet()
	j.close()
}

package proxy

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/mem"
)

// gpus describes the GPUs of a job's PEs; nil in a mode: no PE has one.
type gpus struct {
	has     func(pe int) bool       // whether a PE has a GPU; nil: all have
	mapped  bool                    // each PE has the heaps of the others mapped for copies
	atomics uint64                  // operations that streams can do
	alone   bool                    // words may be changed in steps
	shared  []*gpustage.AtomicsLock // by PE, shared with other engines; nil: not shared
	words   uint64                  // Memory.Words
	delay   int                     // most looks from one step of a stream to the next
	chunk   uint64
	chunks  int
	nic     func(pe int) bool // whether NICs reach the heap; nil: of no PE
	lazy    bool              // the GPU sees the writes of a NIC only after a flush
}

// testGPU is a GPU: memory whose address the CPU may not touch, and streams that carry out their
// work in pieces, each at some later look. A stream sees no more of another than its marks.
type testGPU struct {
	t         testing.TB
	g         *gpus
	rng       *rand.Rand
	all       *[]*testGPU
	memory    []byte // internal area, user heap and the rest, as the test sees it
	device    []byte // heap and rest at inaccessible addresses
	heap      int
	at        int // bytes that local has given out
	streams   [stream.Streams][]deed
	calls     [stream.Streams]int // of Copy
	marks     [stream.Streams]uint64
	passed    [stream.Streams]uint64
	pinned    map[unsafe.Pointer][]byte
	done      func(c *testGPU, to unsafe.Pointer) // after memory has changed
	full      bool                                // with kernels: an atomic operation finds no place
	stands    bool                                // no work is carried out
	asked     func()                              // called when a stream is given work; nil: no call
	failing   string                              // the call that fails
	unflushed *unflushed
	closed    bool
}

// deed is one operation of a stream.
type deed struct {
	to, from unsafe.Pointer
	n        uint64
	half     uint64
	op       fabric.Op
	width    uint8
	operand  uint64
	compare  uint64
	old      unsafe.Pointer
	mark     uint64
	kernel   bool
	due      int
}

var _ stream.Memory = (*testGPU)(nil)

// rest is how much memory a GPU has besides the heap.
const rest = 32 << 20

func newTestGPU(t testing.TB, g *gpus, rng *rand.Rand, heap int) *testGPU {
	t.Helper()
	n := internal + heap + rest
	fd, err := unix.MemfdCreate("card", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, int64(n)); err != nil {
		t.Fatal(err)
	}
	memory, err := unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	device, err := unix.Mmap(-1, 0, n, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(memory); err != nil {
			t.Error(err)
		}
		if err := unix.Munmap(device); err != nil {
			t.Error(err)
		}
	})
	return &testGPU{
		t: t, g: g, rng: rng, memory: memory, device: device[internal:], heap: heap, at: heap, pinned: map[unsafe.Pointer][]byte{}, unflushed: new(unflushed),
	}
}

// local copies b to memory of the GPU behind the heap. It returns the address and the test's view
// of it.
func (c *testGPU) local(b []byte) (unsafe.Pointer, []byte) {
	at := (c.at + 7) &^ 7
	if c.at = at + len(b); c.at >= len(c.device) {
		c.t.Fatal("the card is full")
	}
	seen := c.memory[internal+at : internal+at+len(b)]
	copy(seen, b)
	return unsafe.Pointer(unsafe.SliceData(c.device[at:])), seen
}

// seen returns the test's view of memory of any GPU at an address, or nil.
func (c *testGPU) seen(p unsafe.Pointer, n uint64) (*testGPU, []byte) {
	for _, o := range *c.all {
		if at := uint64(uintptr(p) - uintptr(unsafe.Pointer(&o.device[0]))); at < uint64(len(o.device)) && n <= uint64(len(o.device))-at {
			return o, o.memory[internal+at : internal+at+n]
		}
	}
	return nil, nil
}

func (c *testGPU) Holds(p unsafe.Pointer, n uint64) bool {
	_, b := c.seen(p, n)
	return b != nil
}

func (c *testGPU) fails(call string) error {
	if c.failing == call {
		return fmt.Errorf("%s fails", call)
	}
	return nil
}

func (c *testGPU) Pin(n uint64) (unsafe.Pointer, error) {
	if err := c.fails("Pin"); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(-1, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	c.pinned[unsafe.Pointer(&b[0])] = b
	return unsafe.Pointer(&b[0]), nil
}

func (c *testGPU) Unpin(p unsafe.Pointer) error {
	b := c.pinned[p]
	delete(c.pinned, p)
	return unix.Munmap(b)
}

// bytes returns the memory at an address of an operation.
func (c *testGPU) bytes(p unsafe.Pointer, n uint64) []byte {
	if _, b := c.seen(p, n); b != nil {
		return b
	}
	for _, b := range c.pinned {
		if at := uint64(uintptr(p) - uintptr(unsafe.Pointer(&b[0]))); at < uint64(len(b)) && n <= uint64(len(b))-at {
			return b[at : at+n]
		}
	}
	c.t.Fatalf("memory misused: %d bytes at %p are neither on a card nor pinned", n, p)
	return nil
}

func (c *testGPU) put(s stream.Stream, d deed) {
	if c.asked != nil {
		c.asked()
	}
	d.due = c.rng.IntN(c.g.delay + 1)
	if c.streams[s] = append(c.streams[s], d); len(c.streams[s]) > 2*gpustage.StreamQueue {
		c.t.Errorf("memory misused: %d operations in a stream", len(c.streams[s]))
	}
}

func (c *testGPU) Copy(s stream.Stream, copies []stream.Copy) error {
	if len(copies) == 0 || len(copies) > stream.MaxCopies {
		c.t.Errorf("memory misused: %d copies at once", len(copies))
	}
	c.calls[s]++
	for _, x := range copies {
		if x.N == 0 || !c.Holds(x.To, x.N) && !c.Holds(x.From, x.N) {
			c.t.Errorf("memory misused: copy of %d bytes from main memory to main memory", x.N)
		}
		c.bytes(x.To, x.N)
		c.bytes(x.From, x.N)
		c.put(s, deed{to: x.To, from: x.From, n: x.N})
	}
	return c.fails("Copy")
}

func (c *testGPU) Write(s stream.Stream, at unsafe.Pointer, width uint8, value uint64) error {
	return c.word(s, deed{to: at, op: fabric.OpSet, width: width, operand: value}, "Write")
}

func (c *testGPU) MaxStores() uint64 { return c.g.words }

func (c *testGPU) word(s stream.Stream, d deed, call string) error {
	if d.width != 4 && d.width != 8 || uintptr(d.to)%uintptr(d.width) != 0 || !c.Holds(d.to, uint64(d.width)) {
		c.t.Errorf("memory misused: %s of %d bytes at %p", call, d.width, d.to)
	}
	c.put(s, d)
	return c.fails(call)
}

func (c *testGPU) Atomics() uint64 { return c.g.atomics }

func (c *testGPU) Atomic(s stream.Stream, at unsafe.Pointer, op fabric.Op, width uint8, operand, compare uint64, old unsafe.Pointer) error {
	if c.g.atomics&stream.AtomicBit(op, width) == 0 || op.Fetches() != (old != nil) {
		c.t.Errorf("memory misused: operation %d on %d bytes, value wanted: %v", op, width, old != nil)
	}
	return c.word(s, deed{to: at, op: op, width: width, operand: operand, compare: compare, old: old, kernel: true}, "Atomic")
}

func (c *testGPU) Mark(s stream.Stream) (uint64, error) {
	c.marks[s]++
	c.put(s, deed{mark: c.marks[s]})
	return c.marks[s], c.fails("Mark")
}

func (c *testGPU) Marked(s stream.Stream) (uint64, error) {
	for i := range c.streams {
		c.step(stream.Stream(i))
	}
	return c.passed[s], c.fails("Marked")
}

// step lets a stream do some of its work, or all of it.
func (c *testGPU) step(s stream.Stream) {
	for len(c.streams[s]) > 0 && !c.stands {
		d := &c.streams[s][0]
		if d.kernel && c.full {
			return
		}
		if d.due > 0 {
			d.due--
			return
		}
		if c.g.delay > 0 && d.n > 1 && d.half == 0 {
			d.half = 1 + uint64(c.rng.IntN(int(d.n-1)))
			copy(c.bytes(d.to, d.n)[d.half:], c.bytes(d.from, d.n)[d.half:])
			c.changed(d.to)
			d.due = c.rng.IntN(c.g.delay + 1)
			continue
		}
		c.finish(s, d)
		c.streams[s] = slices.Delete(c.streams[s], 0, 1)
	}
}

func (c *testGPU) finish(s stream.Stream, d *deed) {
	switch {
	case d.mark != 0:
		c.passed[s] = d.mark
		return
	case d.n > 0:
		n := d.n
		if d.half > 0 {
			n = d.half
		}
		copy(c.bytes(d.to, n), c.bytes(d.from, n))
	default:
		old := mem.Apply(d.op, unsafe.Pointer(&c.bytes(d.to, uint64(d.width))[0]), d.width, d.operand, d.compare)
		if d.old != nil {
			mem.Copy(unsafe.Pointer(&c.bytes(d.old, uint64(d.width))[0]), unsafe.Pointer(&old), int(d.width))
		}
	}
	c.changed(d.to)
}

func (c *testGPU) changed(to unsafe.Pointer) {
	if o, _ := c.seen(to, 1); o != nil && o.done != nil {
		o.done(o, to)
	}
}

func (c *testGPU) Close() error {
	c.closed = true
	return c.fails("Close")
}

// open gives the PEs of a job their GPUs.
func (g *gpus) open(t testing.TB, seed uint64, memories [][]byte, heap int) []*testGPU {
	cards := make([]*testGPU, len(memories))
	all := new([]*testGPU)
	for i := range cards {
		if g.has != nil && !g.has(i) {
			continue
		}
		c := newTestGPU(t, g, rand.New(rand.NewPCG(seed, uint64(100+i))), heap)
		c.all = all
		*all = append(*all, c)
		cards[i] = c
		memories[i] = c.memory[: internal+heap : internal+heap]
	}
	return cards
}

// twin returns the same GPU for another engine: with streams of its own.
func (c *testGPU) twin(seed uint64) *testGPU {
	t := *c
	t.rng = rand.New(rand.NewPCG(seed, 200))
	t.pinned = map[unsafe.Pointer][]byte{}
	t.streams = [stream.Streams][]deed{}
	return &t
}

// local copies b to where a program may have its buffers: main memory, or memory of the GPU. The
// first result is the address.
func (p *pe) local(b []byte) (unsafe.Pointer, []byte) {
	if p.card != nil && p.j.rng.IntN(2) == 0 {
		return p.card.local(b)
	}
	b = bytes.Clone(b)
	return unsafe.Pointer(unsafe.SliceData(b)), b
}

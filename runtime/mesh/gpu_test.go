package mesh

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/gpustage/stream/streamtest"
	"libshmem/runtime/shmerr"
)

// fakeGPU is a GPU of a test. Its memory is mapped twice: at the addresses that the program has,
// where the processor cannot touch it, and where the GPU's streams do their work. A stream is late:
// each look at it carries out the work before one more mark.
type fakeGPU struct {
	streamtest.Memory
	device, bytes []byte
	closed        atomic.Int32
}

// newFakeGPU returns a GPU with n bytes of memory.
func newFakeGPU(t testing.TB, n int) *fakeGPU {
	t.Helper()
	fd, err := unix.MemfdCreate("GPU", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	device, err1 := unix.Mmap(fd, 0, n, unix.PROT_NONE, unix.MAP_SHARED)
	if err := unix.Ftruncate(fd, int64(n)); err != nil {
		t.Fatal(err)
	}
	b, err2 := unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err := errors.Join(err1, err2, unix.Close(fd)); err != nil {
		t.Fatal(err)
	}
	return &fakeGPU{device: device, bytes: b}
}

// own returns where the streams find memory, and whether it is the GPU's.
func (c *fakeGPU) own(p unsafe.Pointer, n uint64) (unsafe.Pointer, bool) {
	at := uint64(uintptr(p) - uintptr(unsafe.Pointer(&c.device[0])))
	if at >= uint64(len(c.bytes)) || n > uint64(len(c.bytes))-at {
		return p, false
	}
	return unsafe.Pointer(&c.bytes[at]), true
}

func (c *fakeGPU) Holds(p unsafe.Pointer, n uint64) bool {
	_, is := c.own(p, n)
	return is
}

func (c *fakeGPU) Copy(s stream.Stream, copies []stream.Copy) error {
	moved := make([]stream.Copy, len(copies))
	for i, one := range copies {
		moved[i] = one
		moved[i].To, _ = c.own(one.To, uint64(one.N))
		moved[i].From, _ = c.own(one.From, uint64(one.N))
	}
	return c.Memory.Copy(s, moved)
}

func (c *fakeGPU) Write(s stream.Stream, at unsafe.Pointer, width uint8, value uint64) error {
	at, _ = c.own(at, uint64(width))
	return c.Memory.Write(s, at, width, value)
}

func (c *fakeGPU) Atomic(s stream.Stream, at unsafe.Pointer, op fabric.Op, width uint8, operand, compare uint64, old unsafe.Pointer) error {
	at, _ = c.own(at, uint64(width))
	return c.Memory.Atomic(s, at, op, width, operand, compare, old)
}

func (c *fakeGPU) Marked(s stream.Stream) (uint64, error) {
	passed, err := c.Memory.Marked(s)
	if passed < c.Marks[s] {
		c.Pass(s, passed+1)
	}
	return passed, err
}

func (c *fakeGPU) Close() error {
	c.closed.Add(1)
	return c.Memory.Close()
}

// openWithGPU opens a mesh for a member with a GPU.
func openWithGPU(t testing.TB, number, most int, c *fakeGPU) *Mesh {
	t.Helper()
	return open(t, number, most, func(o *Options) { o.GPU = &GPU{Memory: c} })
}

// TestGPUMemory moves blocks between GPU memory and main memory of two members, and of one, with
// signals in both, and finds each signal behind its bytes.
func TestGPUMemory(t *testing.T) {
	const size = 1 << 20
	gpus := [2]*fakeGPU{newFakeGPU(t, size), newFakeGPU(t, size)}
	a, b := openWithGPU(t, 0, 3, gpus[0]), openWithGPU(t, 1, 3, gpus[1])
	c := open(t, 2, 3, func(o *Options) { o.GPUs = true })
	introduce(t, a, b, c)
	main := memory(t, size)
	_, onGPU := share(t, b, a, gpus[1].device)
	_, inMain := share(t, b, a, main)
	fromC := take(t, c, mustRegister(t, a, gpus[0].device))
	local := memory(t, size)
	random := rand.New(rand.NewPCG(1, 2))
	value := uint64(0)
	for _, n := range []int{1, 8, 100, 4000, 5000, 70000, 500000} {
		for _, source := range [][]byte{local, gpus[0].device} {
			for _, to := range []*Remote{onGPU, inMain} {
				for _, at := range []*Remote{onGPU, inMain} {
					from, offset := 8*random.IntN(1000), 64+8*random.IntN(1000)
					bytesOf := func(m []byte) []byte {
						if &m[0] == &gpus[0].device[0] {
							return gpus[0].bytes
						}
						return m
					}
					target, word := main, main
					if to == onGPU {
						target = gpus[1].bytes
					}
					if at == onGPU {
						word = gpus[1].bytes
					}
					value++
					pattern(bytesOf(source)[from:from+n], int(value))
					want := bytes.Clone(bytesOf(source)[from : from+n])
					req, err := a.Put(0, to, []Block{{Local: unsafe.Pointer(unsafe.Add(unsafe.Pointer(&source[0]), from)), Offset: uint64(offset), Len: uint64(n)}},
						&Signal{Region: at, Offset: 8, Op: Set, Value: value}, false)
					await(t, req, err)
					until(t, "the signal", func() bool { return atomic.LoadUint64((*uint64)(unsafe.Pointer(&word[8]))) == value })
					if !bytes.Equal(target[offset:offset+n], want) {
						t.Fatalf("%d bytes to %v have not come before the signal in %v", n, to, at)
					}
					back := 8 * random.IntN(1000)
					req, err = a.Get(0, to, []Block{{Local: unsafe.Pointer(unsafe.Add(unsafe.Pointer(&source[0]), back)), Offset: uint64(offset), Len: uint64(n)}})
					await(t, req, err)
					if !bytes.Equal(bytesOf(source)[back:back+n], want) {
						t.Fatalf("%d bytes from %v have not come back", n, to)
					}
				}
			}
		}
	}
	// A member without a GPU adds to a word in GPU memory, and reads it.
	binary.LittleEndian.PutUint64(gpus[0].bytes[:8], 0)
	const adds = 50
	for range adds {
		_, err := c.Notify(0, &Signal{Region: fromC, Offset: 0, Op: Add, Value: 3}, false)
		await(t, mustFlush(t, c, 0), err)
	}
	req, err := c.Get(0, fromC, []Block{block(local[:8], 0)})
	await(t, req, err)
	if got := binary.LittleEndian.Uint64(local); got != 3*adds {
		t.Errorf("%d signals of 3 have made %d", adds, got)
	}
}

// mustRegister makes memory a region.
func mustRegister(t testing.TB, m *Mesh, b []byte) *Region {
	t.Helper()
	r, err := m.Register(unsafe.Pointer(unsafe.SliceData(b)), uint64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mustFlush begins a flush of a member.
func mustFlush(t testing.TB, m *Mesh, member int) *Request {
	t.Helper()
	req, err := m.Flush(0, member)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// TestGPUFlush has bytes in GPU memory of a member when a flush is done, and closes the region.
func TestGPUFlush(t *testing.T) {
	const size = 1 << 20
	there, here := newFakeGPU(t, size), newFakeGPU(t, size)
	a, b := openWithGPU(t, 0, 2, here), openWithGPU(t, 1, 2, there)
	introduce(t, a, b)
	region, remote := share(t, b, a, there.device)
	for round := range 20 {
		pattern(here.bytes, round)
		for i := range 8 {
			n := 100 << i
			_, err := a.Put(0, remote, []Block{{Local: unsafe.Pointer(unsafe.Add(unsafe.Pointer(&here.device[0]), i<<16)), Offset: uint64(i << 16), Len: uint64(n)}}, nil, false)
			await(t, mustFlush(t, a, 1), err)
			if !bytes.Equal(there.bytes[i<<16:i<<16+n], here.bytes[i<<16:i<<16+n]) {
				t.Fatalf("round %d: %d bytes have not come before the flush was done", round, n)
			}
		}
	}
	req, err := region.Close()
	await(t, req, err)
	_, err = a.Put(0, remote, []Block{{Local: unsafe.Pointer(unsafe.SliceData(here.device)), Len: 8}}, nil, false)
	wants(t, err, ErrClosed, "has closed region")
}

// TestGPURefused uses GPU memory with members that were not opened for it.
func TestGPURefused(t *testing.T) {
	c := newFakeGPU(t, 4096)
	a, b := openWithGPU(t, 0, 2, c), open(t, 1, 2, nil)
	introduce(t, a, b)
	_, req, err := b.Import(mustRegister(t, a, c.device).Describe())
	if err != nil {
		t.Fatal(err)
	}
	wants(t, req.Wait(patience), shmerr.ErrUnsupported, "region 0 of member 0 is GPU memory (open this mesh for GPU memory, too)")
	_, remote := share(t, b, a, memory(t, 4096))
	_, err = a.Put(0, remote, []Block{{Local: unsafe.Pointer(unsafe.SliceData(c.device)), Len: 8}}, nil, false)
	wants(t, err, shmerr.ErrUnsupported, "block 0 is GPU memory, and member 1 was not opened for that")
	if err := a.Status(1); err != nil {
		t.Error(err)
	}
	failing := newFakeGPU(t, 4096)
	if _, err := Open(Options{Members: 0, Secret: secretOfTests, GPU: &GPU{Memory: failing}}); err == nil || failing.closed.Load() != 1 {
		t.Errorf("error %v, and the GPU memory was closed %d times", err, failing.closed.Load())
	}
}

// TestGPUWords lets two members add to a word that only signals change: its owner reads it once,
// and knows its value from then on.
func TestGPUWords(t *testing.T) {
	g := newFakeGPU(t, 4096)
	binary.LittleEndian.PutUint64(g.bytes[8:], 1000)
	a := openWithGPU(t, 0, 3, g)
	b, c := open(t, 1, 3, func(o *Options) { o.GPUs = true }), open(t, 2, 3, func(o *Options) { o.GPUs = true })
	introduce(t, a, b, c)
	region := mustRegister(t, a, g.device)
	if err := region.KeepWords(); err != nil {
		t.Fatal(err)
	}
	const adds = 50
	for _, m := range []*Mesh{b, c} {
		remote := take(t, m, region)
		for range adds {
			_, err := m.Notify(0, &Signal{Region: remote, Offset: 8, Op: Add, Value: 3}, false)
			await(t, mustFlush(t, m, 0), err)
		}
	}
	if got := binary.LittleEndian.Uint64(g.bytes[8:]); got != 1000+2*3*adds || binary.LittleEndian.Uint64(g.bytes[16:]) != 0 {
		t.Errorf("%d signals of 3 have made %d of 1000", 2*adds, got)
	}
	a.e.WithLock(func() {
		if n := g.Calls[stream.In]; n != 1 {
			t.Errorf("the word was read %d times", n)
		}
	})
}

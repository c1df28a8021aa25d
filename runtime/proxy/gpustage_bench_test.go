package proxy

import (
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/ofi"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/mem"
	"libshmem/runtime/proxy/wake"
)

// copier is a Memory whose GPU memory is main memory. Its streams do everything at once: by memcpy
// on the caller's thread, or not at all, like copy engines that are faster than the network and
// cost the thread nothing.
type copier struct {
	base  uintptr
	n     uintptr
	free  bool
	marks [stream.Streams]uint64
}

func (c *copier) Holds(p unsafe.Pointer, n uint64) bool {
	o := uintptr(p) - c.base
	return o < c.n && uintptr(n) <= c.n-o
}
func (c *copier) Pin(n uint64) (unsafe.Pointer, error) {
	return unsafe.Pointer(&make([]byte, n)[0]), nil
}
func (c *copier) Unpin(unsafe.Pointer) error { return nil }
func (c *copier) Copy(_ stream.Stream, copies []stream.Copy) error {
	for _, x := range copies {
		if !c.free {
			mem.Copy(x.To, x.From, int(x.N))
		}
	}
	return nil
}
func (c *copier) Write(_ stream.Stream, at unsafe.Pointer, width uint8, value uint64) error {
	mem.Store(at, width, value)
	return nil
}
func (c *copier) Atomics() uint64 { return stream.AllAtomics }

func (c *copier) MaxStores() uint64 { return 0 }
func (c *copier) Atomic(_ stream.Stream, at unsafe.Pointer, op fabric.Op, width uint8, operand, compare uint64, _ unsafe.Pointer) error {
	mem.Apply(op, at, width, operand, compare)
	return nil
}
func (c *copier) Mark(s stream.Stream) (uint64, error)   { c.marks[s]++; return c.marks[s], nil }
func (c *copier) Marked(s stream.Stream) (uint64, error) { return c.marks[s], nil }
func (c *copier) Close() error                           { return nil }

// endpoints returns two engines over libfabric. The caller polls them in turn, so that a busy
// machine affects both directions alike.
func endpoints(b *testing.B, size int, staged, free bool) (es [2]*Engine, heaps [2][]byte) {
	ends := make([]Endpoint, 2)
	var stages []*gpustage.Stage
	var gpus []gpustage.Endpoint
	for i := range es {
		prov, err := ofi.Open(fabric.Config{Provider: "net", Tokens: layout.Tokens, MaxRecv: layout.Receives})
		if err != nil {
			b.Skip(err)
		}
		memory := guarded(b, internal+size)
		heaps[i] = memory[internal:]
		words := new([5]uint32)
		segment := mem.Segment{Base: unsafe.Pointer(&memory[0]), Internal: internal, Size: uint64(len(memory))}
		if staged {
			segment.Heap = unsafe.Pointer(&memory[internal])
		}
		e, err := New(prov, i, 2, segment,
			wake.Words{Lock: &words[0], Pollers: &words[1], Napping: &words[4], Sleepers: &words[2], Wakes: &words[3]},
			func(err error) { b.Fatal(err) })
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := e.Close(); err != nil {
				b.Error(err)
			}
		})
		if staged {
			s, err := gpustage.New(e.Host(), &copier{base: uintptr(segment.Heap), n: uintptr(size), free: free}, gpustage.Config{})
			if err != nil {
				b.Fatal(err)
			}
			e.Use(s)
			stages, gpus = append(stages, s), append(gpus, s.Endpoint())
		}
		es[i], ends[i] = e, e.Endpoint()
	}
	for _, e := range es {
		if err := e.Connect(ends); err != nil {
			b.Fatal(err)
		}
	}
	for _, s := range stages {
		s.Connect(gpus)
	}
	return es, heaps
}

// processor returns the processor time of this thread.
func processor() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkStaged measures puts between two endpoints of tcp on one thread: of main memory, of GPU
// memory whose copies cost nothing, and of GPU memory that this thread copies. cpu-ns is the time
// of both sides, the kernel's part included. A signal goes there and back.
func BenchmarkStaged(b *testing.B) {
	const size = 64 << 20
	for _, way := range []struct {
		name         string
		staged, free bool
	}{{"host", false, false}, {"staged", true, true}, {"memcpy", true, false}} {
		es, heaps := endpoints(b, size, way.staged, way.free)
		poll := func() {
			for _, e := range es {
				if _, err := e.Poll(); err != nil {
					b.Fatal(err)
				}
			}
		}
		until := func(f func() bool) {
			for !f() {
				poll()
			}
		}
		post := func(f func() Status) {
			until(func() bool {
				st := f()
				if st == Failed {
					b.Fatal(es[0].Err(), es[1].Err())
				}
				return st == Done || st == Pending
			})
		}
		timed := func(b *testing.B, f func(i int)) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			before := processor()
			for i := range b.N {
				f(i)
			}
			t := es[0].QuietBegin()
			until(func() bool { return es[0].QuietDone(t) == Done })
			b.ReportMetric(float64(processor()-before)/float64(b.N), "cpu-ns/op")
		}
		a, at := es[0], unsafe.Pointer(&heaps[0][0])
		for _, n := range []uint64{64 << 10, 1 << 20, 16 << 20} {
			b.Run(fmt.Sprintf("%s/%d", way.name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				timed(b, func(i int) {
					o := uint64(i) * n % size
					post(func() Status { return a.Put(1, libshmem.Offset(o), unsafe.Add(at, o), n, nil) })
				})
			})
		}
		for _, n := range []uint64{8, 1 << 10, 7 << 10, 64 << 10} {
			b.Run(fmt.Sprintf("%s/64 with signals/%d", way.name, n), func(b *testing.B) {
				b.SetBytes(int64(64 * n))
				timed(b, func(int) {
					for k := range uint64(64) {
						o := 4096 + k*n
						post(func() Status {
							return a.PutSignal(1, libshmem.Offset(o), unsafe.Add(at, o), n, libshmem.Offset(8*k), 1, fabric.OpSet, nil)
						})
					}
					t := a.QuietBegin()
					until(func() bool { return a.QuietDone(t) == Done })
				})
			})
		}
		b.Run(way.name+"/signal", func(b *testing.B) {
			timed(b, func(i int) {
				for k, e := range es {
					word := (*uint64)(unsafe.Pointer(&heaps[1-k][0]))
					*word = 0
					post(func() Status {
						return e.PutSignal(libshmem.PE(1-k), 64, unsafe.Pointer(&heaps[k][64]), 8, 0, 1, fabric.OpSet, nil)
					})
					until(func() bool { return *word == 1 })
				}
			})
		})
	}
}

package mesh

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/fabric/ofi"
	"libshmem/runtime/gpu"
)

// reachedGPU is a fakeGPU whose memory a NIC can reach: that of a provider with which the memory is
// registered where the GPU's streams find it.
type reachedGPU struct {
	*fakeGPU
	order   int // gpu.Facts.WritesOrdering
	refused atomic.Pointer[error]
	flushes atomic.Int32
}

func (g *reachedGPU) Name() string                 { return "GPU 0" }
func (g *reachedGPU) Number() int                  { return 0 }
func (g *reachedGPU) SyncMemops(gpu.Address) error { return nil }
func (g *reachedGPU) FlushWrites(bool) error       { g.flushes.Add(1); return nil }
func (g *reachedGPU) Facts() gpu.Facts {
	return gpu.Facts{Driver: "13.0", Major: 9, RDMA: true, FlushWrites: 1, WritesOrdering: g.order}
}
func (g *reachedGPU) ExportDMABuf(gpu.Address, uint64) (int, error) {
	return -1, errors.New("there are no dma-bufs")
}

// nic is a provider that reaches the memory of a GPU, and counts the registrations and the
// one-sided operations that use it.
type nic struct {
	fabric.Joiner
	gpu        *reachedGPU
	mu         sync.Mutex
	registered map[int]bool // by Region.ID
	reads      atomic.Int32
	writes     atomic.Int32
}

func (n *nic) Caps() fabric.Caps {
	c := n.Joiner.Caps()
	c.GPU = true
	return c
}

func (n *nic) RegisterGPU(m fabric.GPUMemory) (fabric.Region, error) {
	if refused := n.gpu.refused.Load(); refused != nil {
		return fabric.Region{}, *refused
	}
	at, _ := n.gpu.own(m.Base, m.Len)
	r, err := n.Joiner.Register(at, m.Len)
	if err == nil {
		n.mu.Lock()
		n.registered[r.ID] = true
		n.mu.Unlock()
	}
	r.Base = m.Base
	return r, err
}

func (n *nic) Unregister(r fabric.Region) error {
	n.mu.Lock()
	delete(n.registered, r.ID)
	n.mu.Unlock()
	return n.Joiner.Unregister(r)
}

// count returns how many registrations of GPU memory there are.
func (n *nic) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.registered)
}

func (n *nic) Write(op *fabric.RMA) error {
	moved := *op
	moved.Local, _ = n.gpu.own(op.Local, op.Len)
	n.writes.Add(1)
	return n.Joiner.Write(&moved)
}

func (n *nic) Read(op *fabric.RMA) error {
	moved := *op
	moved.Local, _ = n.gpu.own(op.Local, op.Len)
	n.reads.Add(1)
	return n.Joiner.Read(&moved)
}

// openReached opens a mesh for a member whose NIC reaches its GPU's memory, and returns its log.
func openReached(t *testing.T, number, most int, g *reachedGPU) (m *Mesh, n *nic, log func() string) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	n = &nic{gpu: g, registered: map[int]bool{}}
	m = open(t, number, most, func(o *Options) {
		o.GPU = &GPU{Memory: g, NICs: g}
		o.Open = func(c fabric.Config) (fabric.Provider, error) {
			p, err := ofi.Open(c)
			if err != nil {
				return nil, err
			}
			if p.Caps().VirtualAddress {
				t.Fatal("the NIC of this test knows memory by offsets")
			}
			n.Joiner = p.(fabric.Joiner)
			return n, nil
		}
		o.Log = func(text string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, text)
		}
	})
	return m, n, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(lines, "\n")
	}
}

// TestDirect puts to regions of GPU memory that NICs reach, and gets from them, by one-sided
// operations, from GPU memory and main memory. A signal follows the bytes, and the owner flushes
// before it if its GPU needs that.
func TestDirect(t *testing.T) {
	const size = 1 << 20
	for _, order := range []int{200, 0} {
		gpus := [2]*reachedGPU{{fakeGPU: newFakeGPU(t, size), order: order}, {fakeGPU: newFakeGPU(t, size), order: order}}
		a, from, _ := openReached(t, 0, 3, gpus[0])
		b, to, log := openReached(t, 1, 3, gpus[1])
		c := open(t, 2, 3, func(o *Options) { o.GPUs = true })
		introduce(t, a, b, c)
		own := mustRegister(t, a, gpus[0].device)
		region, remote := share(t, b, a, gpus[1].device)
		fromC := take(t, c, region)
		if !own.Direct() || !region.Direct() || !strings.Contains(log(), "NICs reach GPU memory by peer memory") {
			t.Fatalf("no NIC reaches the memory: %s", log())
		}
		local := memory(t, size)
		for i, n := range []int{8, 5000, 70000, 500000} {
			for j, source := range [][]byte{gpus[0].device, local} {
				behind := source
				if j == 0 {
					behind = gpus[0].bytes
				}
				value := uint64(10*i + j + 1)
				pattern(behind[64:64+n], int(value))
				flushes, posted := gpus[1].flushes.Load(), from.writes.Load()+from.reads.Load()
				req, err := a.Put(0, remote, []Block{{Local: unsafe.Add(unsafe.Pointer(unsafe.SliceData(source)), 64), Offset: 4096, Len: uint64(n)}},
					&Signal{Region: remote, Offset: 8, Op: Set, Value: value}, false)
				await(t, req, err)
				word := (*uint64)(unsafe.Pointer(&gpus[1].bytes[8]))
				until(t, "the signal", func() bool { return atomic.LoadUint64(word) == value })
				if !bytes.Equal(gpus[1].bytes[4096:4096+n], behind[64:64+n]) {
					t.Fatalf("%d bytes have not come before their signal", n)
				}
				if order == 0 && gpus[1].flushes.Load() == flushes {
					t.Errorf("%d bytes: the owner has not flushed before the signal", n)
				}
				const back = 700000
				req, err = a.Get(0, remote, []Block{{Local: unsafe.Add(unsafe.Pointer(unsafe.SliceData(source)), back), Offset: 4096, Len: uint64(n / 2)}})
				await(t, req, err)
				if !bytes.Equal(behind[back:back+n/2], behind[64:64+n/2]) {
					t.Fatalf("%d bytes have not come back", n/2)
				}
				if now := from.writes.Load() + from.reads.Load(); n > 5000 && now < posted+2 {
					t.Errorf("%d bytes: %d one-sided operations, want a write and a read", n, now-posted)
				}
			}
		}
		// A member without a GPU, whose memory is main memory.
		pattern(local[:100000], 77)
		_, err := c.Put(0, fromC, []Block{block(local[:100000], 8192)}, nil, false)
		await(t, mustFlush(t, c, 1), err)
		if !bytes.Equal(gpus[1].bytes[8192:8192+100000], local[:100000]) {
			t.Error("the bytes of a member without a GPU have not come")
		}
		if to.count() != 1 {
			t.Errorf("%d registrations, want 1", to.count())
		}

		// The next region has the number of the one before, and no NIC reaches it.
		req, err := region.Close()
		await(t, req, err)
		if to.count() != 0 {
			t.Errorf("%d registrations after Close", to.count())
		}
		full := errors.New("no more entries")
		gpus[1].refused.Store(&full)
		region, remote = share(t, b, a, gpus[1].device)
		if region.Direct() || !strings.Contains(log(), "so its bytes are copied to and from pinned memory: register memory of GPU 0: the driver, of CUDA 13.0, exports no dma-buf of it; no more entries") {
			t.Fatalf("a registration has failed, and the log is %s", log())
		}
		pattern(local[:100000], 78)
		_, err = a.Put(0, remote, []Block{block(local[:100000], 16384)}, nil, false)
		await(t, mustFlush(t, a, 1), err)
		if !bytes.Equal(gpus[1].bytes[16384:16384+100000], local[:100000]) {
			t.Error("the bytes that are copied have not come")
		}
	}
}

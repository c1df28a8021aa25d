package proxy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/layout"
)

// If NICs reach the memory, puts and gets are one operation of the fabric each, with either end in
// GPU memory, and a quiet makes them visible. Bytes that lie in two parts are two operations.
func TestDirect(t *testing.T) {
	const heap, n = 1 << 18, 20_000
	for _, lazy := range []bool{false, true} {
		for i, m := range modes {
			m.gpus = &gpus{nic: every, lazy: lazy, alone: true, delay: 3, chunk: 4 * gpustage.LeastChunk, chunks: 4}
			for _, m := range both(m) {
				t.Run(fmt.Sprintf("lazy=%v/%s", lazy, m.name), func(t *testing.T) {
					j := newRingJob(t, m, uint64(i+1), 2, 1, heap)
					defer j.close()
					a, b := j.pes[0], j.pes[1]
					base := a.ops.Net.Segment.Internal
					move := func(code queue.Code, far, local int) {
						j.push(0, 0, queue.Op{
							Code: code, PE: 1, Dest: base + uint64(far), Local: uint64(uintptr(unsafe.Add(a.ops.Net.Segment.Heap, local))), Length: n,
						})
						j.quiet(0, 0)
					}
					j.drain() // PE 0 knows the registered parts
					for _, c := range []struct {
						what       string
						far, local int
						pieces     uint64
					}{
						{"first part", 512, 1024, 1},
						{"last part", heap - 2*n, heap - n, 1}, // a message has the size of a part in pages
						{"two parts there", heap/parts - n/2, 2048, 2},
						{"two parts here", 4096, heap/parts - n/2, 2},
						{"first part again", 512, 1024, 1},
					} {
						copy(a.heap[c.local:], fill(j.rng, n))
						before, after := a.Report.Count(), b.Report.Count()
						move(queue.CodePut, c.far, c.local)
						differ(t, c.what+", put", b.heap[c.far:c.far+n], a.heap[c.local:c.local+n])
						if a.PutMax() > layout.MaxPayload && (a.Report.Count()[layout.Writes]-before[layout.Writes] != c.pieces || b.Report.Count()[layout.Reads] != after[layout.Reads]) {
							t.Errorf("%s, put: %d writes here, %d reads there", c.what, a.Report.Count()[layout.Writes]-before[layout.Writes], b.Report.Count()[layout.Reads]-after[layout.Reads])
						}
						copy(b.heap[c.far:], fill(j.rng, n))
						before, after = a.Report.Count(), b.Report.Count()
						move(queue.CodeGet, c.far, c.local)
						differ(t, c.what+", get", a.heap[c.local:c.local+n], b.heap[c.far:c.far+n])
						if reads := a.Report.Count()[layout.Reads] - before[layout.Reads]; a.PutMax() > layout.MaxPayload && reads != c.pieces || reads < c.pieces || b.Report.Count() != after {
							t.Errorf("%s, get: %d reads here, counts %+v and then %+v there", c.what, a.Report.Count()[layout.Reads]-before[layout.Reads], after, b.Report.Count())
						}
					}
					for _, err := range j.reports[0] {
						t.Error(err)
					}
				})
			}
		}
	}
}

// A PE that asks after many puts makes the target flush once, and not for each.
func TestFlushOnce(t *testing.T) {
	m := modes[1]
	m.gpus = &gpus{nic: every, lazy: true, alone: true, chunk: gpustage.LeastChunk, chunks: 4}
	j := newJob(t, m, 1, 2, 1<<20)
	a, b := j.pes[0], j.pes[1]
	j.drain()
	before := b.card.unflushed.flushes
	data := fill(j.rng, 10_000)
	const puts = 16
	for i := range puts {
		a.post(func() Status {
			return a.Put(1, libshmem.Offset(i)*10_000, unsafe.Pointer(&data[0]), 10_000, nil)
		})
	}
	a.quiet()
	for i := range puts {
		differ(t, "bytes", b.heap[i*10_000:(i+1)*10_000], data)
	}
	if n := b.card.unflushed.flushes - before; n == 0 || n > puts/2 {
		t.Errorf("%d flushes for %d puts", n, puts)
	}
	j.close()
}

// A registration that fails changes nothing, and the ones that did not fail can be undone.
func TestRegisterHeapRefused(t *testing.T) {
	m := modes[0]
	m.gpus = &gpus{alone: true, chunk: gpustage.LeastChunk, chunks: 2}
	j := newJob(t, m, 1, 2, 1<<16)
	a, b := j.pes[0], j.pes[1]
	at := func(i int) fabric.GPUMemory {
		return fabric.GPUMemory{Base: unsafe.Pointer(&a.card.device[i]), Len: 1 << 14, File: -1}
	}
	no := errors.New("the NIC is full")
	j.net.mode.noGPU = func(fabric.GPUMemory) error { return no }
	if err := a.stage.RegisterHeap(0, 0, at(0)); !errors.Is(err, no) || a.stage.Regions() != 0 || len(a.stage.Endpoint().Extents) != 0 {
		t.Errorf("error %v, %d regions", err, a.stage.Regions())
	}
	j.net.mode.noGPU = nil
	if err := a.stage.RegisterHeap(1<<14, 0, at(1<<14)); err != nil {
		t.Fatal(err)
	}
	if err := a.stage.RegisterHeap(1<<13, 0, at(1<<13)); err == nil || !strings.Contains(err.Error(), "overlaps another part") || a.stage.Regions() != 1 {
		t.Errorf("parts that overlap: error %v, %d regions", err, a.stage.Regions())
	}
	j.drain()
	if x := b.stage.Extents(0); len(x) != 1 || x[0] != a.stage.Endpoint().Extents[0] {
		t.Errorf("PE 1 knows %+v, PE 0 has %+v", x, a.stage.Endpoint().Extents)
	}
	j.close()
}

// A loan can be reached while it lasts, whenever messages about it come: PEs learn of loans that
// they have not begun, and late of loans that are over.
func TestLoans(t *testing.T) {
	const from, n = 1 << 15, 20_000
	m := modes[0]
	m.gpus = &gpus{alone: true, chunk: 4 * gpustage.LeastChunk, chunks: 2}
	j := newJob(t, m, 1, 2, 1<<17)
	a, b := j.pes[0], j.pes[1]
	lend := func(p *pe, loan gpustage.Loan) {
		t.Helper()
		half := uint64(1 << 15)
		for i := range uint64(2) {
			at := from + i*half
			if err := p.stage.RegisterHeap(at, loan, fabric.GPUMemory{Base: unsafe.Pointer(&p.card.device[at]), Len: half, File: -1}); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := func(p *pe, loan gpustage.Loan) {
		t.Helper()
		regions := p.stage.Regions()
		if err := p.stage.EndLoan(loan); err != nil || p.stage.Regions() != regions-2 {
			t.Errorf("%d of %d regions after the end of a loan of two, error %v", p.stage.Regions(), regions, err)
		}
	}
	knows := func(when string, want ...gpustage.Loan) {
		t.Helper()
		var got []gpustage.Loan
		for _, x := range a.stage.Extents(1) {
			got = append(got, x.Loan)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s PE 0 knows of loans %v, want %v", when, got, want)
		}
	}
	put := func(direct bool) {
		t.Helper()
		copy(a.heap, fill(j.rng, n))
		before := a.Report.Count()[layout.Writes]
		a.post(func() Status { return a.Put(1, from+100, unsafe.Pointer(&a.card.device[0]), n, nil) })
		a.quiet()
		differ(t, "bytes", b.heap[from+100:from+100+n], a.heap[:n])
		if direct != (a.Report.Count()[layout.Writes] > before) {
			t.Errorf("%d writes by the NIC, direct: %v", a.Report.Count()[layout.Writes]-before, direct)
		}
	}
	if a.PutMax() <= layout.MaxPayload {
		t.Fatal("puts are no writes of the NIC here, which is no test")
	}
	if err := a.stage.RegisterHeap(0, 0, fabric.GPUMemory{Base: unsafe.Pointer(&a.card.device[0]), Len: 1 << 15, File: -1}); err != nil {
		t.Fatal(err)
	}
	put(false)
	loan := gpustage.Loan(0)
	for range 2 * 0xffff / 0x4000 { // the numbers begin again
		loan += 0x4000
		first, second := loan.Next(), loan.Next().Next()
		b.stage.BeginLoan(first)
		lend(b, first)
		j.drain()
		knows("before it begins with it", first, first)
		a.stage.BeginLoan(first)
		lend(a, first)
		j.drain()
		put(true)
		end(a, first)
		end(b, first)
		j.drain()
		knows("afterwards")
		put(false)

		// Other loans at the same place. PE 0 has ended them before it learns of them.
		b.stage.BeginLoan(second)
		a.stage.BeginLoan(second)
		lend(b, second)
		lend(a, second)
		end(a, second)
		j.drain()
		knows("of one that is over")
		put(false)
		end(b, second)
		j.drain()
	}
	if x := a.stage.Endpoint().Extents; len(x) != 1 || len(b.stage.Endpoint().Extents) != 0 {
		t.Errorf("in the end PE 0 has %+v", x)
	}
	j.close()
}

// If bytes cannot be flushed, the job ends, and nothing is left behind.
func TestFlushFails(t *testing.T) {
	m := modes[0]
	m.gpus = &gpus{nic: every, lazy: true, alone: true, chunk: gpustage.LeastChunk, chunks: 2}
	j := newJob(t, m, 1, 2, 1<<16)
	a, b := j.pes[0], j.pes[1]
	j.drain()
	b.card.failing = "flush"
	a.post(func() Status { return a.AMO(1, 0, fabric.OpSet, 8, 1, 0, nil, nil) })
	j.await("end", func() bool { return len(b.fatals) > 0 })
	if err := b.fatals[0].Error(); !strings.Contains(err, "GPU memory: flush fails") {
		t.Errorf("error %s", err)
	}
	b.fatals, b.card.failing = nil, ""
	j.close()
}

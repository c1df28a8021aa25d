package proxy

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/queue/queuetest"
	"libshmem/tests/need"
)

// pushCell pushes an operation whose bytes are in its cell.
func (j *ringJob) pushCell(pe int, op queue.Op, b []byte) {
	j.t.Helper()
	rig := j.rigs[pe][0]
	n := op.Slots()
	p := rig.Reserve(int(n))
	j.until("room in the ring", func() bool { return rig.CellFree(p + n) })
	cell := rig.Cell(p)
	copy(cell, b)
	op.Local, op.Length = j.address(cell), uint64(len(b))
	rig.Store(p, &op)
}

// reuse overwrites the cells of the operations that have been taken, as the next producers may. A
// cell belongs to two positions, and only one of them can be an operation's first.
func reuse(rig *queuetest.Rig, from *uint64) {
	for ; *from+2 <= rig.Line.Tail; *from += 2 {
		for i := range rig.Cell(*from) {
			rig.Cell(*from)[i] = 0xEE
		}
	}
}

// TestPlayedCells puts from cells. A cell belongs to the next operation as soon as the tail has
// passed it, even if its operation has to wait.
func TestPlayedCells(t *testing.T) {
	all := map[string]*gpus{"": nil}
	for name, g := range gpuModels {
		all[" "+name] = &g
	}
	waited, inC := uint64(0), 0
	for _, m := range allModes() {
		for name, g := range all {
			m.gpus = g
			t.Run(m.name+name, func(t *testing.T) {
				n, c := putCells(t, m)
				waited, inC = waited+n, inC+c
			})
		}
	}
	if waited < 1000 || inC < 500 {
		t.Errorf("%d operations had to wait, and C took %d: that says little", waited, inC)
	}
}

func putCells(t *testing.T, m mode) (waited uint64, inC int) {
	const heap = 1 << 20
	const signals = heap - 64
	count := need.Load("cells")
	j := newRingJob(t, m, 1, 3, 1, heap)
	want := [][]byte{nil, make([]byte, heap), make([]byte, heap)}
	base := uint64(internal)
	var reused uint64
	sums := make([]uint64, 3)
	for i := range count {
		pe := 1 + j.rng.IntN(2)
		size := 1 + j.rng.IntN(queue.CellBytes)
		if i%3 == 0 {
			size = 1 + j.rng.IntN(16)
		}
		to := i*queue.CellBytes + j.rng.IntN(queue.CellBytes-size+1)
		data := slices.Repeat([]byte{byte(i + 1)}, size)
		copy(want[pe][to:], data)
		op := queue.Op{Code: queue.CodePut, PE: uint32(pe), Dest: base + uint64(to)}
		if i%2 == 0 {
			op.Code, op.Kind, op.Signal, op.SignalAt = queue.CodePutSignal, uint8(fabric.OpAdd), uint64(i), base+signals
			sums[pe] += uint64(i)
		}
		j.pushCell(0, op, data)
		for range j.rng.IntN(3) {
			j.step()
			reuse(j.rigs[0][0], &reused)
		}
	}
	// Only a faulty program asks for an answer to such an operation.
	if _, status := j.askCell(queue.Op{Code: queue.CodePut, PE: 1, Dest: base + signals + 8}, []byte("answered")); status != 0 {
		t.Errorf("status %d", status)
	}
	copy(want[1][signals+8:], "answered")
	j.quiet(0, 0)
	for pe := 1; pe < 3; pe++ {
		binary.NativeEndian.PutUint64(want[pe][signals:], sums[pe])
		differ(t, fmt.Sprintf("heap of PE %d", pe), j.pes[pe].heap[:heap], want[pe])
	}
	_, waited = j.consumers[0].Counts()
	inC = j.inLoop
	j.clean()
	return waited, inC
}

func (j *ringJob) askCell(op queue.Op, b []byte) (uint64, int32) {
	j.t.Helper()
	rig := j.rigs[0][0]
	reply, turn, ok := rig.Claim()
	if !ok {
		j.t.Fatal("no reply is free")
	}
	op.Want, op.Reply = 1, reply
	j.pushCell(0, op, b)
	var value uint64
	var status int32
	j.until("answer", func() (came bool) {
		value, status, came = rig.Replied(reply, turn)
		return came
	})
	return value, status
}

// TestCellsRefused: an operation with a cell that makes no sense fails like others.
func TestCellsRefused(t *testing.T) {
	const heap = 1 << 16
	eachConsumer(t, modes[0], func(t *testing.T, m mode) {
		j := newRingJob(t, m, 1, 2, 1, heap)
		j.pushCell(0, queue.Op{Code: queue.CodePut, PE: 2, Dest: at(0)}, make([]byte, 64))
		j.pushCell(0, queue.Op{Code: queue.CodePut, PE: 1, Dest: internal + heap - 63}, make([]byte, 64))
		j.pushCell(0, queue.Op{Code: queue.CodePutSignal, PE: 1, Dest: at(0), Kind: uint8(fabric.OpSet), SignalAt: at(4)}, make([]byte, 64))
		j.pushCell(0, queue.Op{Code: queue.CodePut, PE: 1, Dest: at(8)}, []byte("good"))
		j.quiet(0, 0)
		if len(j.reports[0]) != 3 || string(j.pes[1].heap[8:12]) != "good" {
			t.Errorf("reports %v, and the ring left %q", j.reports[0], j.pes[1].heap[:16])
		}
		j.reports[0] = nil
		j.clean()
	})
}

// TestBeside: bytes that reach over the end of a cell, or lie in none, are not beside the slots.
func TestBeside(t *testing.T) {
	rig := queuetest.New(queue.MinSlots, 0)
	r, err := queue.New(rig.Memory(), queue.MinSlots)
	if err != nil {
		t.Fatal(err)
	}
	first, last := address(rig.Cell(0)), address(rig.Cell(2*queue.Cells-2))
	for _, c := range []struct {
		at, n uint64
		want  bool
	}{
		{first, 1, true}, {first, queue.CellBytes, true}, {first, queue.CellBytes + 1, false}, {first, 0, false},
		{first + 8, queue.CellBytes - 8, true}, {first + 8, queue.CellBytes - 7, false}, {first - 1, 2, false},
		{last, queue.CellBytes, true}, {last + queue.CellBytes, 1, false}, {first, ^uint64(0), false},
	} {
		if got := r.InCell(c.at, c.n); got != c.want {
			t.Errorf("%d bytes at %+d: %v", c.n, int64(c.at-first), got)
		}
	}
	m := rig.Memory()
	m.Cells = nil
	if r, err := queue.New(m, queue.MinSlots); err != nil || r.InCell(8, 8) {
		t.Errorf("a ring without cells has some, or %v", err)
	}
}

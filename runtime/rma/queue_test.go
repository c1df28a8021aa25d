package rma

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"libshmem/runtime/shmerr"
)

// submit submits operations together, and wakes the proxy if it sleeps, as the plugin does for each
// (capi/rma/queue.c).
func submit(g *Group, all ...*Operation) {
	for i, o := range all[1:] {
		o.next = all[i]
	}
	for {
		last := atomic.LoadPointer(g.queue.lastSubmitted())
		all[0].next = (*Operation)(last)
		if atomic.CompareAndSwapPointer(g.queue.lastSubmitted(), last, unsafe.Pointer(all[len(all)-1])) {
			break
		}
	}
	if atomic.LoadUint32(&g.queue.asleep) != 0 {
		g.Wake()
	}
}

// await waits until an operation has ended, and returns its state.
func await(t *testing.T, o *Operation) opState {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Microsecond) {
		if s := opState(atomic.LoadUint32(&o.state)); s != stateUnderway {
			return s
		}
	}
	t.Fatalf("an operation has not ended: %+v", o)
	return stateFailed
}

// pair connects two ranks that have registered 4096 bytes each.
func pair(t *testing.T) (all []*Group, bytes [2][]byte, number uint64) {
	t.Helper()
	all = connect(t, 2)
	bytes = [2][]byte{memory(t, 4096), memory(t, 4096)}
	m, errs := register(all, []unsafe.Pointer{unsafe.Pointer(&bytes[0][0]), unsafe.Pointer(&bytes[1][0])}, []uint64{4096, 4096})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return all, bytes, m[0].Number
}

// TestQueue submits a put, signals behind it that are ordered, and a get, in one batch. Then it lets
// the proxy fall asleep, and submits again.
func TestQueue(t *testing.T) {
	all, bytes, number := pair(t)
	for round := range 3 {
		word := (*uint64)(unsafe.Pointer(&bytes[1][8]))
		atomic.StoreUint64(word, 0)
		copy(bytes[0], "round "+string(rune('0'+round)))
		ops := []*Operation{
			{kind: kindPut, rank: 1, local: unsafe.Pointer(&bytes[0][0]), nbytes: 7, memory: number, offset: 100},
			{kind: kindPut, rank: 1, ordered: 1, signalOp: 0, signalMemory: number, signalOffset: 8, signalValue: 5},
			{kind: kindPut, rank: 1, ordered: 1, signalOp: 1, signalMemory: number, signalOffset: 8, signalValue: 2},
			{kind: kindGet, rank: 1, local: unsafe.Pointer(&bytes[0][200]), nbytes: 8, memory: number, offset: 100},
		}
		submit(all[0], ops[:3]...)
		for i, o := range ops[:3] {
			if s := await(t, o); s != stateDone {
				t.Fatalf("round %d: operation %d ends as %d: %v", round, i, s, all[0].Failure())
			}
		}
		for end := time.Now().Add(patience); atomic.LoadUint64(word) != 7; time.Sleep(50 * time.Microsecond) {
			if time.Now().After(end) {
				t.Fatalf("round %d: the word is %d", round, atomic.LoadUint64(word))
			}
		}
		submit(all[0], ops[3])
		if s := await(t, ops[3]); s != stateDone || string(bytes[0][200:207]) != "round "+string(rune('0'+round)) {
			t.Fatalf("round %d: state %d, bytes %q", round, s, bytes[0][200:207])
		}
		for end := time.Now().Add(patience); atomic.LoadUint32(&all[0].queue.asleep) == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the proxy does not sleep")
			}
		}
	}
}

// TestBadOperations submits operations that cannot be: each ends as failed, the first one's reason is
// the group's, and others go on.
func TestBadOperations(t *testing.T) {
	all, bytes, number := pair(t)
	local := unsafe.Pointer(&bytes[0][0])
	good := &Operation{kind: kindPut, rank: 1, local: local, nbytes: 8, memory: number}
	bad := []*Operation{
		{kind: kindPut, rank: 1, local: local, nbytes: 8, memory: 77},
		{kind: kindPut, rank: 1, local: local, nbytes: 8, memory: number, offset: 4090},
		{kind: kindPut, rank: 9, local: local, nbytes: 8, memory: number},
		{kind: kindPut, rank: 1},
		{kind: kindGet, rank: 1, context: 12, local: local, nbytes: 8, memory: number},
	}
	submit(all[0], append(bad, good)...)
	for i, o := range bad {
		if s := await(t, o); s != stateFailed {
			t.Errorf("operation %d ends as %d", i, s)
		}
	}
	if err := all[0].Failure(); err == nil || !strings.Contains(err.Error(), "registered memory 77 is not known") {
		t.Errorf("error %v", err)
	}
	if s := await(t, good); s != stateDone {
		t.Errorf("the good operation ends as %d", s)
	}
}

// TestLostRank loses a rank on which no operation is under way: the other learns of it all the same,
// because kernels may wait for signals of the lost one. A rank that leaves in order is no loss.
func TestLostRank(t *testing.T) {
	all, _, _ := pair(t)
	last := all[1]
	if err := all[0].Mesh.Remove(1); err != nil { // which ends the connection
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); atomic.LoadUint32(&last.queue.lost) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("rank 1 does not know that it has lost rank 0")
		}
	}
	if err := last.Failure(); !errors.Is(err, shmerr.ErrPeerLost) || !strings.Contains(err.Error(), "member 0 ") {
		t.Errorf("error %v", err)
	}

	all, bytes, number := pair(t)
	o := &Operation{kind: kindPut, rank: 1, local: unsafe.Pointer(&bytes[0][0]), nbytes: 8, memory: number}
	submit(all[0], o)
	await(t, o)
	last = all[1]
	closeAll(t, all)
	if atomic.LoadUint32(&last.queue.lost) != 0 {
		t.Errorf("the end of a group counts as a loss: %v", last.Failure())
	}
}

// TestQueueOfClosing closes a group right after operations were submitted: they take effect, and none
// is under way when Close returns; none can be submitted later.
func TestQueueOfClosing(t *testing.T) {
	all, bytes, number := pair(t)
	ops := make([]*Operation, 500)
	for i := range ops {
		ops[i] = &Operation{kind: kindPut, rank: 1, ordered: 1, signalOp: 1, signalMemory: number, signalOffset: 8, signalValue: 1}
	}
	g := all[0]
	submit(g, ops...)
	closeAll(t, all)
	for i, o := range ops {
		if s := opState(atomic.LoadUint32(&o.state)); s != stateDone {
			t.Fatalf("operation %d ends as %d: %v", i, s, g.Failure())
		}
	}
	if got := atomic.LoadUint64((*uint64)(unsafe.Pointer(&bytes[1][8]))); got != uint64(len(ops)) {
		t.Errorf("%d of %d signals have taken effect", got, len(ops))
	}
	if atomic.LoadUint32(&g.queue.failed) == 0 || g.Failure() == nil {
		t.Error("the closed group takes operations")
	}
}

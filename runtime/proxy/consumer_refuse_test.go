package proxy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/queue"
)

// TestConsumerRefuses checks that an operation that makes no sense fails with a report and an
// answer, and that the ring goes on.
func TestConsumerRefuses(t *testing.T) {
	const heap = 1 << 16
	good := make([]byte, 64)
	holdMemory(t, good)
	for name, row := range map[string]struct {
		op  queue.Op
		say string
	}{
		"PE":            {queue.Op{Code: queue.CodeP, PE: 2, Dest: at(0)}, "PE 2 does not exist, there are 2"},
		"dest":          {queue.Op{Code: queue.CodeP, PE: 1, Width: 2, Dest: internal + heap - 3}, "not in the symmetric segment"},
		"far dest":      {queue.Op{Code: queue.CodePut, PE: 1, Dest: 1<<44 - 1, Local: address(good), Length: 8}, "not in the symmetric segment"},
		"length":        {queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: address(good), Length: 1<<44 - 1}, "not in the symmetric segment"},
		"source":        {queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: 64, Length: 8}, "cannot be read"},
		"high source":   {queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: ^uint64(0) - 3, Length: 8}, "cannot be read"},
		"into constant": {queue.Op{Code: queue.CodeGet, PE: 1, Dest: at(0), Local: uint64(uintptr(unsafe.Pointer(unsafe.StringData("constant")))), Length: 8}, "cannot be written"},
		"amo":           {queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(0), Kind: 15, Width: 3}, "atomic operation 15 does not exist"},
		"amo none":      {queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(0), Kind: 0, Width: 3}, "atomic operation 0 does not exist"},
		"amo width":     {queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(0), Kind: uint8(fabric.OpAdd), Width: 1}, "on 2 bytes"},
		"amo align":     {queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(4), Kind: uint8(fabric.OpAdd), Width: 3}, "not aligned to 8 bytes"},
		"amo unasked":   {queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(0), Kind: uint8(fabric.OpFetchAdd), Width: 3}, "no producer waits for"},
		"signal":        {queue.Op{Code: queue.CodePutSignal, PE: 1, Dest: at(0), Local: address(good), Length: 8, Kind: 9, SignalAt: at(0)}, "signal operation 9"},
		"signal at":     {queue.Op{Code: queue.CodePutSignal, PE: 1, Dest: at(0), Local: address(good), Length: 8, Kind: uint8(fabric.OpSet), SignalAt: at(2)}, "not aligned"},
		"bytes":         {queue.Op{Code: queue.CodePBytes, PE: 1, Dest: at(0)}, "0 bytes in its slots: they hold 1 to 16"},
		"bytes, 17":     {queue.Op{Code: queue.CodePSignal, PE: 1, Dest: at(0), Size: 17, Kind: uint8(fabric.OpSet), SignalAt: at(0)}, "17 bytes in its slots"},
		"bytes, dest":   {queue.Op{Code: queue.CodePBytes, PE: 1, Dest: internal + heap - 2, Size: 3}, "not in the symmetric segment"},
		"bytes, signal": {queue.Op{Code: queue.CodePSignal, PE: 1, Dest: at(0), Size: 8, Kind: 9, SignalAt: at(0)}, "signal operation 9"},
		"signal end":    {queue.Op{Code: queue.CodePSignal, PE: 1, Dest: at(0), Size: 8, Kind: uint8(fabric.OpAdd), SignalAt: internal + heap}, "not in the symmetric segment"},
		"signal odd":    {queue.Op{Code: queue.CodePSignal, PE: 1, Dest: at(0), Size: 8, Kind: uint8(fabric.OpAdd), SignalAt: at(12)}, "not aligned"},
		"reply":         {queue.Op{Code: queue.CodeGet, PE: 1, Dest: at(0), Local: address(good), Length: 8, Want: 1, Reply: queue.Replies}, "reply 1024 does not exist"},
	} {
		m := modes[0]
		m.name = name
		eachConsumer(t, m, func(t *testing.T, m mode) {
			j := newRingJob(t, m, 1, 2, 1, heap)
			j.push(0, 0, row.op)
			j.push(0, 0, queue.Op{Code: queue.CodeP, PE: 1, Dest: at(100), Value: 42})
			j.quiet(0, 0)
			if j.pes[1].heap[100] != 42 {
				t.Error("the ring did not go on")
			}
			if len(j.reports[0]) != 1 || !strings.Contains(j.reports[0][0].Error(), row.say) {
				t.Errorf("reports %v, want one with %q", j.reports[0], row.say)
			}
			if row.op.Code == queue.CodePut {
				if _, st := j.ask(0, 0, row.op); st == 0 {
					t.Error("the answer says that it went well")
				}
			}
			j.reports[0] = nil
			j.clean()
		})
	}
}

// TestConsumerUnknown passes a slot whose code the table does not have.
func TestConsumerUnknown(t *testing.T) {
	eachConsumer(t, modes[0], func(t *testing.T, m mode) {
		j := newRingJob(t, m, 1, 2, 1, 1<<16)
		rig := j.rigs[0][0]
		p := rig.Reserve(1)
		rig.Set(p, 0, 31|rig.Lap(p))
		rig.Set(p, 1, rig.Lap(p))
		j.quiet(0, 0)
		if len(j.reports[0]) != 1 || !strings.Contains(j.reports[0][0].Error(), "operation 31 does not exist") {
			t.Errorf("reports %v", j.reports[0])
		}
		j.reports[0] = nil
		j.clean()
	})
}

// FuzzConsumer gives a consumer arbitrary slots. It reports or posts, and never crashes. Gets are
// left out, because one with a valid address writes there.
func FuzzConsumer(f *testing.F) {
	f.Add([]byte("slots"))
	f.Add(make([]byte, 96))
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		b := make([]byte, 16*32)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		f.Add(b)
	}
	run := func(t *testing.T, m mode, b []byte) []byte {
		j := newRingJob(t, m, 1, 2, 1, 1<<16)
		rig := j.rigs[0][0]
		for len(b) >= 16 && rig.Near.Head < testSlots-4 {
			w0, w1 := binary.NativeEndian.Uint64(b), binary.NativeEndian.Uint64(b[8:])
			b = b[16:]
			if queue.Code(w0&31) == queue.CodeGet {
				continue
			}
			p := rig.Reserve(1)
			rig.Set(p, 0, w0&^(1<<63)|rig.Lap(p))
			rig.Set(p, 1, w1&^(1<<63)|rig.Lap(p))
		}
		for range queue.MaxSlots { // ends an operation whose slots are missing
			j.rigs[0][0].Push(&queue.Op{Code: queue.CodeNop})
		}
		head := rig.Near.Head
		for range 2000 {
			j.step()
		}
		if got := j.rigs[0][0].Line.Tail; head-got >= queue.MaxSlots {
			t.Fatalf("the consumer stands at %d of %d", got, head)
		}
		return append(append([]byte(nil), j.pes[1].heap...), fmt.Sprint(j.reports[0])...)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ways := both(modes[1])
		if a, b := run(t, ways[0], b), run(t, ways[1], b); !bytes.Equal(a, b) {
			t.Error("the consumer in C makes something else of it than the one in Go")
		}
	})
}

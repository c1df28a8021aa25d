package proxy

import (
	"encoding/binary"
	"testing"

	"libshmem/fabric"
	"libshmem/queue"
	"libshmem/runtime/proxy/fastpath"
)

// Kernels put on many rings, and end each ring's puts with a fence and an addition. The fences of
// all rings begin one epoch: with one for each, the puts of a ring would wait until the additions
// of the rings before it have been applied.
func TestFencesOfRings(t *testing.T) {
	const rings, puts = 8, 6
	for name, serve := range map[string]func(*ringJob){
		"Go": func(j *ringJob) { j.consumers[0].Drain() },
		"C":  func(j *ringJob) { j.inC(0) },
	} {
		t.Run(name, func(t *testing.T) {
			j := newRingJob(t, native(modes[0]), 1, 2, rings, 1<<16)
			defer j.clean()
			for r, rig := range j.rigs[0] {
				for i := range puts {
					rig.Push(&queue.Op{Code: queue.CodePWide, PE: 1, Dest: at(8 * (r*puts + i)), Value: 1})
				}
				rig.Push(&queue.Op{Code: queue.CodeFence})
				rig.Push(&queue.Op{Code: queue.CodeAMO, PE: 1, Dest: at(1 << 12), Kind: uint8(fabric.OpAdd), Width: 3, Value: 1})
			}
			before := j.pes[0].Epoch
			j.until("all rings are empty", func() bool {
				serve(j)
				for _, rig := range j.rigs[0] {
					if rig.Line.Tail != rig.Near.Head {
						return false
					}
				}
				return true
			})
			if n := j.pes[0].Epoch - before; n != 1 {
				t.Errorf("%d fences began %d epochs, want 1", rings, n)
			}
		})
	}
}

// A fence waits for FenceAfter operations of other rings at most, whatever they still hold.
func TestFenceBesideABusyRing(t *testing.T) {
	const each = 4
	j := newRingJob(t, native(modes[0]), 1, 2, 2, 1<<16)
	defer j.clean()
	fence := j.rigs[0][0]
	fence.Push(&queue.Op{Code: queue.CodeFence})
	for n := 0; fence.Line.Tail != fence.Near.Head; n += each {
		if n > fastpath.FenceAfter+each {
			t.Fatalf("the fence waits after %d operations of the other ring", n)
		}
		for range each {
			j.push(0, 1, queue.Op{Code: queue.CodePWide, PE: 1, Dest: at(0), Value: 1})
		}
		j.consumers[0].Drain()
	}
}

// TestPlayedFencesOfRings sends numbered blocks, each ring its own, without a wait: a block, a
// fence of the ring, the block's number. A reader that sees a number sees a block at least as new,
// whichever fences begin an epoch together.
func TestPlayedFencesOfRings(t *testing.T) {
	const rings, size, each = 3, 6000, 65536
	short := modes[3] // so that a block is two writes
	short.caps.MaxMessage = 4500
	for _, m := range append(allModes(), both(rough(short))...) {
		seeds(2, func(seed uint64) {
			j := newRingJob(t, m, seed, 3, rings, 3*rings*each)
			defer j.clean()
			at0 := func(from, ring int) int { return (from*rings + ring) * each }
			word := func(p *pe, i int) uint64 { return binary.NativeEndian.Uint64(p.heap[i:]) }
			for to, p := range j.pes {
				p.applied = func() {
					for from := range j.pes {
						for r := range rings {
							i := at0(from, r)
							n, first, last := word(p, i+size), word(p, i), word(p, i+size-8)
							if first < n || last < n {
								t.Fatalf("mode %s seed %d: PE %d sees number %d of ring %d of PE %d, and a block whose ends have %d and %d", m.name, seed, to, n, r, from, first, last)
							}
						}
					}
				}
			}
			for n := uint64(1); n <= 20; n++ {
				for from := range j.pes {
					for r := range rings {
						s := make([]byte, size)
						binary.NativeEndian.PutUint64(s, n)
						binary.NativeEndian.PutUint64(s[size-8:], n)
						to, i := uint32((from+1+r%2)%3), at0(from, r)
						j.push(from, r, queue.Op{Code: queue.CodePut, PE: to, Local: j.address(s), Length: size, Dest: at(i)})
						j.push(from, r, queue.Op{Code: queue.CodeFence})
						j.push(from, r, queue.Op{Code: queue.CodeAMO, PE: to, Dest: at(i + size), Kind: uint8(fabric.OpSet), Width: 3, Value: n})
					}
				}
			}
			for from := range j.pes {
				j.quiet(from, 0)
			}
			for from := range j.pes {
				for r := range rings {
					if n := word(j.pes[(from+1+r%2)%3], at0(from, r)+size); n != 20 {
						t.Errorf("mode %s seed %d: the last number of ring %d of PE %d is %d, want 20", m.name, seed, r, from, n)
					}
				}
			}
		})
	}
}

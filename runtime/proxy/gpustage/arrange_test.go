package gpustage

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// The pieces of a chunk lie as most of them are neighbours, at the target or in the source, and the
// request tells in which order they were posted.
func TestChunkArranged(t *testing.T) {
	const puts, n = 20, 6400
	far := func(k int) int { return k*3*n + k*k%7*64 } // at no one distance
	for i := range 4 {
		// Neighbours at the target, or in the source, at once or with a gap.
		atTarget, apart := i%2 == 0, n*(1+i/2)
		p := newSharingPE(t)
		places := rand.New(rand.NewPCG(1, 2)).Perm(puts)
		others := rand.New(rand.NewPCG(3, 4)).Perm(puts)
		for i, k := range places {
			x := departingPut{
				PE: 1, Token: fabric.Token(i + 1), Epoch: 1, N: n, After: &layout.Header{Op: fabric.OpSet, Operand: uint64(i), Offset: 8},
				Local: unsafe.Pointer(&p.bytes[k*apart]), Offset: libshmem.Offset(far(others[i])),
			}
			if atTarget {
				x.Local, x.Offset = unsafe.Pointer(&p.bytes[far(others[i])]), libshmem.Offset(k*apart)
			}
			p.Put(x)
		}
		p.Advance()
		p.goOn()
		if len(p.engine.sent) != 1 {
			t.Fatalf("%d messages", len(p.engine.sent))
		}
		r, pieces := p.request(t, 0)
		at := unsafe.Slice((*byte)(p.chunks.At(uint16(p.engine.sent[0].header.Token&0x7fff))), r.N)
		for i := range pieces {
			x := &r.Pieces[i]
			turn := int(x.Order)
			from, to := places[turn]*apart, libshmem.Offset(far(others[turn]))
			if atTarget {
				from, to = far(others[turn]), libshmem.Offset(places[turn]*apart)
			}
			if places[turn] != i || x.Offset != to || x.Operand != uint64(turn) {
				t.Errorf("at the target %v: piece %d is put %d: %+v", atTarget, i, turn, x)
			}
			if string(at[i*n:(i+1)*n]) != string(p.bytes[from:from+n]) {
				t.Errorf("at the target %v: bytes of piece %d are wrong", atTarget, i)
			}
		}
		p.answer(0, 0)
		p.rest(t)
	}
}

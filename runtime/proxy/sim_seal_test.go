package proxy

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/fabric/sim"
	"libshmem/runtime/proxy/layout"
)

// TestSeal changes each bit of messages that have seals, as a process does that is root on the
// network. Each change is refused and nothing comes of it, and the message itself is then applied.
// Bytes that a put brings to the user heap, or to the rounds of reductions, have no seal.
func TestSeal(t *testing.T) {
	for _, c := range []struct {
		what   string
		frame  []byte
		sealed int // bytes
	}{
		{"atomic", message(byte(layout.KindAMO), byte(fabric.OpAdd), 8, 0, 1, 64, 7, 0, 0)[2:], frameHeader},
		{"element", message(byte(layout.KindStore), 0, 8, 0, 1, 64, 7, 0, 0)[2:], frameHeader},
		{"put", message(byte(layout.KindPut), 0, 0, 0, 1, 64, 0, 0, 24)[2:], frameHeader},
		{"put with signal", message(byte(layout.KindPutSignal), byte(fabric.OpAdd), 8, 0, 1, 256, 7, 64, 24)[2:], frameHeader},
		{"put to the internal area", message(byte(layout.KindPut), 0, 0, 0, 1, -64, 0, 0, 24)[2:], frameHeader + 24},
		{"put above the rounds", message(byte(layout.KindPut), 0, 0, 0, 1, -96, 0, 0, 24)[2:], frameHeader + 24},
		{"put to the rounds", message(byte(layout.KindPut), 0, 0, 0, 1, -128, 0, 0, 24)[2:], frameHeader},
		{"put below the rounds", message(byte(layout.KindPut), 0, 0, 0, 1, -136, 0, 0, 24)[2:], frameHeader + 24},
		{"batch", batch(1, sound(byte(layout.KindStore), 0, 64, 0), sound(byte(layout.KindPut), 11, 128, 16))[2:], frameHeader + 32 + 32 + 16},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := sim.Bare()
			m.Faults, m.MTU = faults.Faults{}, 1<<16
			v, s := newVictim(t, sim.New(m, 1))
			v.Seal, v.State.RoundsOffset, v.State.RoundsSize = [2]uint64{0x1234, 0x5678}, 128, 32
			b := bytes.Clone(c.frame)
			if c.what != "batch" {
				for i := range b[frameHeader:] {
					b[frameHeader+i] = 0x99
				}
			}
			h := (*layout.Header)(unsafe.Pointer(&b[0]))
			binary.NativeEndian.PutUint64(b[unsafe.Offsetof(h.Job):], v.TokenOf(h, 0, len(b)))
			before := bytes.Clone(v.memory)
			for bit := range 8 * c.sealed {
				s.send(t, v, with(b, bit/8, b[bit/8]^1<<(bit%8)))
				if got := v.Report.Refused(); got != uint64(bit+1) || !bytes.Equal(v.memory, before) || v.fatal != nil {
					t.Fatalf("bit %d of byte %d: %d refused of %d, memory changed: %v, %v", bit%8, bit/8, got, bit+1, !bytes.Equal(v.memory, before), v.fatal)
				}
			}
			s.send(t, v, append(bytes.Clone(b), 0))
			s.send(t, v, b[:len(b)-1])
			if got := v.Report.Refused(); got != uint64(8*c.sealed+2) || !bytes.Equal(v.memory, before) {
				t.Fatalf("another length: %d refused of %d", got, 8*c.sealed+2)
			}
			s.send(t, v, b)
			if v.fatal != nil || bytes.Equal(v.memory, before) {
				t.Errorf("the message itself is not applied: %v", v.fatal)
			}
			v.check(t)
		})
	}
}

// TestSealOfAnother: a message to one PE is refused by another, and under the key of another
// endpoint.
func TestSealOfAnother(t *testing.T) {
	x := &layout.State{Job: simToken, Seal: [2]uint64{1, 2}}
	h := &layout.Header{Kind: layout.KindStore, Width: 8, From: 1, Seq: 1}
	mine := x.TokenOf(h, 0, frameHeader)
	if mine == x.TokenOf(h, 1, frameHeader) || mine == simToken {
		t.Error("it has the seal of a message to PE 1, or none")
	}
	for _, key := range [][2]uint64{{1, 3}, {3, 2}, {2, 1}, {0, 2}, {1, 0}} {
		if x.Seal = key; mine == x.TokenOf(h, 0, frameHeader) {
			t.Errorf("it has the seal of key %v", key)
		}
	}
	if x.Seal = [2]uint64{}; x.TokenOf(h, 0, frameHeader) != simToken {
		t.Error("without a key it is not the token")
	}
}

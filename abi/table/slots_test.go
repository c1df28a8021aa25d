package table

import "testing"

// TestFieldsFit holds the assumptions of the generator and the codecs: no two fields of an
// operation share a bit, none touches the lap, and an operation's slots are as many as its fields
// need.
func TestFieldsFit(t *testing.T) {
	codes := map[int]string{}
	for i := range Ops {
		op := &Ops[i]
		if other, ok := codes[op.Code]; ok || op.Code >= 1<<Head[0].Bits {
			t.Errorf("%s: code %d is taken by %q or too large", op.Name, op.Code, other)
		}
		codes[op.Code] = op.Name
		var used [MaxSlots][2]uint64
		slots := 1
		claim := func(f Field, slot, word, shift, bits int) {
			if slot >= MaxSlots || word > 1 || shift+bits > Bits {
				t.Fatalf("%s.%s: slot %d, word %d, bits %d to %d do not exist", op.Name, f.Name, slot, word, shift, shift+bits-1)
			}
			mask := (uint64(1)<<bits - 1) << shift
			if used[slot][word]&mask != 0 {
				t.Errorf("%s.%s: shares bits with another field", op.Name, f.Name)
			}
			used[slot][word] |= mask
			slots = max(slots, slot+1)
		}
		for _, f := range op.Of() {
			if f.Bits == 64 {
				claim(f, f.Slot, f.Word, 0, Bits)
				claim(f, 0, 0, f.Top, 1)
			} else {
				claim(f, f.Slot, f.Word, f.Shift, f.Bits)
			}
		}
		if slots != op.Slots {
			t.Errorf("%s: has %d slots, needs %d", op.Name, op.Slots, slots)
		}
	}
}

// TestSizes holds the limits that the library promises.
func TestSizes(t *testing.T) {
	for name, bits := range map[string]int{"dest": 44, "signal_at": 44, "length": 44, "pe": 20, "local": 64} {
		if f, ok := Lookup(name); !ok || f.Bits < bits {
			t.Errorf("%s: %d bits, promised %d", name, f.Bits, bits)
		}
	}
}

package queue_test

import (
	"reflect"
	"strings"
	"testing"

	"libshmem/abi/table"
	"libshmem/queue"
	"libshmem/queue/queuetest"
)

// member finds the field of Op that the table's field is decoded into.
func member(op *queue.Op, f table.Field) reflect.Value {
	name := map[string]string{"op": "Code", "pe": "PE", "value32": "Value"}[f.Name]
	if name == "" {
		for _, part := range strings.Split(f.Name, "_") {
			name += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return reflect.ValueOf(op).Elem().FieldByName(name)
}

// extremes returns values of a field at which something can go wrong: the ends, and
// each side of a sign or of a word's part.
func extremes(f table.Field) []uint64 {
	all := ^uint64(0) >> (64 - f.Bits)
	if f.Name == "value32" {
		return []uint64{0, 1, 1<<31 - 1, ^uint64(0), ^uint64(1<<31 - 1)} // the last is -2^31
	}
	return []uint64{0, 1, all, all - 1, all >> 1, all>>1 + 1, all & 0xaaaaaaaaaaaaaaaa, all & 0x5555555555555555}
}

// TestCodec takes each field of each operation through its extreme values, with
// all others at nothing and at all ones, over a ring's memory and back.
func TestCodec(t *testing.T) {
	for i := range table.Ops {
		row := &table.Ops[i]
		g := queuetest.New(queue.MinSlots, 0)
		r := queue.NewAt(g.Memory(), queue.MinSlots, 0)
		fields := row.Of()[1:]
		check := func(want *queue.Op) {
			t.Helper()
			g.Push(want)
			var got queue.Op
			if found := r.Next(&got); found != queue.Found {
				t.Fatalf("%s: pushed %+v, found %d", row.Name, *want, found)
			}
			r.Publish()
			if got.Code != want.Code || queue.SlotsOf(got.Code) != row.Slots {
				t.Errorf("%s: came back as %v of %d slots", row.Name, got.Code, queue.SlotsOf(got.Code))
			}
			for _, f := range fields {
				if a, b := member(&got, f).Uint(), member(want, f).Uint(); a != b {
					t.Errorf("%s.%s: pushed %#x, came back as %#x (all: %+v)", row.Name, f.Name, b, a, *want)
				}
			}
		}
		blank := queue.Op{Code: queue.Code(row.Code)}
		full := blank
		for _, f := range fields {
			member(&full, f).SetUint(^uint64(0) >> (64 - f.Bits))
			if f.Name == "value32" {
				full.Value = ^uint64(0)
			}
		}
		check(&blank)
		check(&full)
		for _, f := range fields {
			for _, v := range extremes(f) {
				for _, op := range []queue.Op{blank, full} {
					member(&op, f).SetUint(v)
					check(&op)
				}
			}
		}
		if r.Position() != g.Near.Head {
			t.Errorf("%s: read to %d of %d", row.Name, r.Position(), g.Near.Head)
		}
	}
}

// TestTooLarge holds that a value which does not fit harms no other field.
func TestTooLarge(t *testing.T) {
	for i := range table.Ops {
		row := &table.Ops[i]
		fields := row.Of()[1:]
		for _, wrong := range fields {
			op := queue.Op{Code: queue.Code(row.Code)}
			v := member(&op, wrong)
			large := ^uint64(0) >> (64 - v.Type().Bits()) &^ (1<<min(wrong.Bits, 63) - 1)
			if wrong.Bits == 64 || large == 0 {
				continue // the member holds no more than the field
			}
			v.SetUint(large)
			var w, none [2 * queue.MaxSlots]uint64
			blank := queue.Op{Code: op.Code}
			if op.Pack(&w); blank.Pack(&none) != row.Slots || w != none {
				t.Errorf("%s: %s of %#x gives %x", row.Name, wrong.Name, large, w)
			}
		}
	}
	var w [2 * queue.MaxSlots]uint64
	for c := range queue.Codes + 1 {
		op := queue.Op{Code: queue.Code(c)}
		if n := op.Pack(&w); c < queue.Codes && n != queue.SlotsOf(op.Code) || c == queue.Codes && n != 0 {
			t.Errorf("%v: packs into %d slots", op.Code, n)
		}
	}
}

func TestNames(t *testing.T) {
	for _, row := range table.Ops {
		if got := queue.Code(row.Code).String(); got != row.Name {
			t.Errorf("operation %d is called %s, want %s", row.Code, got, row.Name)
		}
	}
	if got := queue.Code(31).String(); got != "operation 31" {
		t.Errorf("operation 31 is called %q", got)
	}
}

func TestSize(t *testing.T) {
	g := queuetest.New(queue.MinSlots, 0)
	for _, n := range []int{0, 1, -256, queue.MinSlots - 1, queue.MinSlots + 1, queue.MinSlots / 2, queue.MaxSize * 2} {
		if _, err := queue.New(g.Memory(), n); err == nil || !strings.Contains(err.Error(), "see SHMEM_RING_SIZE") {
			t.Errorf("ring of %d slots: %v", n, err)
		}
	}
	if r, err := queue.New(g.Memory(), queue.MinSlots); err != nil || r.Position() != 0 {
		t.Errorf("smallest ring: %v", err)
	}
}

// TestAllocations holds that the proxy makes no work for the garbage collector.
func TestAllocations(t *testing.T) {
	g := queuetest.New(queue.MinSlots, 0)
	r := queue.NewAt(g.Memory(), queue.MinSlots, 0)
	op := queue.Op{Code: queue.CodePutSignal, PE: 3, Length: 1 << 40, Signal: 1 << 63}
	bad := queue.Op{Code: queue.CodeNop}
	var got queue.Op
	n := testing.AllocsPerRun(1000, func() {
		g.Push(&op)
		for r.Next(&got) == queue.Found {
			r.Unread(&got)
			r.Next(&got)
			r.Publish()
		}
		r.Reply(5, 1, 0)
		r.PublishDone(r.Position())
		r.Sleep(true)
		r.StoredAhead(64)
		p, _ := g.Push(&bad)
		g.Set(p, 0, 31|g.Lap(p))
		r.Next(&got)
		_, _ = r.HeadSlot()
	})
	if n != 0 {
		t.Errorf("%v allocations for an operation", n)
	}
}

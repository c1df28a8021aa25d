package pe

import "testing"

func TestLayout(t *testing.T) {
	for n := 1; n <= 100_000; n++ {
		l := NewLayout(n)
		pes := uint64(n)
		// From the user heap downwards: control page, inbox, scratch.
		inboxEnd := l.InboxOffset - pes*inboxWord
		scratchEnd := l.ScratchOffset - l.ScratchSize
		slot := l.ScratchSize / scratchBuffers / pes // as capi/front divides it
		switch {
		case inboxEnd < ControlOffset:
			t.Errorf("%d PEs: the inbox ends %d bytes below the heap, in the control page", n, inboxEnd)
		case scratchEnd < l.InboxOffset:
			t.Errorf("%d PEs: scratch ends %d bytes below the heap, in the inbox that begins at %d", n, scratchEnd, l.InboxOffset)
		case l.Internal < l.ScratchOffset:
			t.Errorf("%d PEs: scratch begins %d bytes below the heap, outside the area of %d", n, l.ScratchOffset, l.Internal)
		case l.Internal%controlPage != 0:
			t.Errorf("%d PEs: %d bytes are no pages", n, l.Internal)
		case l.InboxOffset%cacheLine != 0 || l.ScratchOffset%cacheLine != 0:
			t.Errorf("%d PEs: inbox at %d and scratch at %d share cache lines", n, l.InboxOffset, l.ScratchOffset)
		case slot*scratchBuffers*pes != l.ScratchSize:
			t.Errorf("%d PEs: %d bytes of scratch are not %d slots each", n, l.ScratchSize, scratchBuffers)
		case slot%cacheLine != 0 || slot < smallestSlot || slot > largestSlot:
			t.Errorf("%d PEs: a slot has %d bytes", n, slot)
		case slot > smallestSlot && l.ScratchSize > scratchBuffers*scratchTarget:
			t.Errorf("%d PEs: %d bytes of scratch, in slots of %d", n, l.ScratchSize, slot)
		case n > 1 && NewLayout(n-1).InboxOffset > l.InboxOffset:
			t.Errorf("%d PEs: the inbox is smaller than for one PE fewer", n)
		}
		if t.Failed() {
			return
		}
	}
}

func TestLayoutSizes(t *testing.T) {
	for _, test := range []struct{ n, slot, internal int }{
		{1, 2048, 4096 + 4096 + 4096},
		{32, 2048, 4096 + 4096 + 2*32*2048},
		{64, 1024, 4096 + 4096 + 2*64*1024},
		{100, 640, 4096 + 4096 + 2*100*640 + 832 + 128},
		{1024, 64, 4096 + 8192 + 2*1024*64},
		{100_000, 64, 0},
	} {
		l := NewLayout(test.n)
		if slot := int(l.ScratchSize) / scratchBuffers / test.n; slot != test.slot {
			t.Errorf("%d PEs: slots of %d bytes, want %d", test.n, slot, test.slot)
		}
		if test.internal != 0 && int(l.Internal) > test.internal {
			t.Errorf("%d PEs: %d bytes, want at most %d", test.n, l.Internal, test.internal)
		}
	}
}

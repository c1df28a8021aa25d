package proxy

import (
	"bytes"
	"testing"

	"libshmem/queue"
)

// TestSimpleApart puts side by side operations that do not belong together: each is a message of
// its own.
func TestSimpleApart(t *testing.T) {
	for _, c := range []struct {
		what        string
		pe          uint32
		dest, local uint64
		want        uint64 // messages
	}{
		{"side by side", 1, 16, 16, 1},
		{"for another PE", 2, 16, 16, 2},
		{"a gap at the target", 1, 24, 16, 2},
		{"a gap in the source", 1, 16, 24, 2},
	} {
		j := newRingJob(t, native(modes[1]), 1, 3, 1, 1<<16)
		p, rig := j.pes[0], j.rigs[0][0]
		stamp(p.heap[:64], 5)
		rig.Push(&queue.Op{Code: queue.CodePut, PE: 1, Dest: at(0), Local: address(p.heap), Length: 16})
		rig.Push(&queue.Op{Code: queue.CodePut, PE: c.pe, Dest: at(0) + c.dest, Local: address(p.heap) + c.local, Length: 16})
		if j.inC(0); j.inLoop != 2 || p.Report.Messages() != c.want {
			t.Errorf("%s: C took %d operations of 2, in %d messages, want %d", c.what, j.inLoop, p.Report.Messages(), c.want)
		}
		j.quiet(0, 0)
		first, second := j.pes[1].heap, j.pes[c.pe].heap[c.dest:]
		if !bytes.Equal(first[:16], p.heap[:16]) || !bytes.Equal(second[:16], p.heap[c.local:c.local+16]) {
			t.Errorf("%s: the bytes are not where they belong", c.what)
		}
		j.clean()
	}
}

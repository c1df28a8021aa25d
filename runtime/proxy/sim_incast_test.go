package proxy

import (
	"encoding/binary"
	"testing"

	"libshmem/fabric"
	"libshmem/fabric/sim"
	"libshmem/tests/need"
)

// A burst of messages goes to a PE that polls when all have come, on a network that turns away
// messages without a receive buffer: those beyond the number that the PE has posted.
// docs/decisions/0016 has the table, of -v without -short.
func TestSimIncast(t *testing.T) {
	if need.Race {
		t.Skip("virtual time is the same without the detector")
	}
	t.Log("| PEs | messages | receive buffers | turned away | µs until all are applied |")
	for _, c := range []struct{ pes, each, room, want int }{
		{33, 4, 64, 64},
		{33, 4, 8192, 1024},
		{256, 4, 64, 64},
		{256, 4, 256, 256},
		{256, 4, 8192, 1024},
		{1000, 1, 64, 64},
		{1000, 1, 8192, 288}, // the windows leave that many
	} {
		if testing.Short() && c.pes > 256 {
			continue
		}
		m, mem := sim.EFADirect(), new(memories)
		m.Post, m.Caps.RecvQueue = post, c.room
		w := newWorld(t, m, 1, c.pes, 4096, mem)
		for range c.each {
			for _, p := range w.pes[1:] {
				if st := p.AMO(0, 0, fabric.OpAdd, 8, 1, 0, nil, nil); st == Failed || st == Again {
					w.fail("PE %d: add: status %d: %v", p.me, st, p.Err())
				}
			}
		}
		for w.net.Step() {
		}
		start, all := w.net.Now(), (c.pes-1)*c.each
		among(w, w.pes[:1], "all adds", func() bool { return binary.NativeEndian.Uint64(w.pes[0].heap) == uint64(all) })
		away := w.net.NotReadyCount()
		t.Logf("| %d | %d | %d | %d | %d |", c.pes, all, c.want, away, (w.net.Now()-start)/sim.Microsecond)
		if want := max(0, all-c.want); away != want {
			t.Errorf("%+v: %d of %d messages were turned away, want %d", c, away, all, want)
		}
		checkQueues(w)
		w.close(mem)
	}
}

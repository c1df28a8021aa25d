package launch

import (
	"testing"

	"libshmem"
	"libshmem/runtime/bootstrap/wire"
)

// A PE that left others alone is named, even where their reaction reaches the loop before the
// notice does.
func TestAbsenceComesFirst(t *testing.T) {
	o, _, text := console(t, false, false)
	j := newJob(&Options{PEs: 2}, o)
	j.procs = []*process{{pe: 0}, {pe: 1}}
	j.actions <- func() { j.ending = true } // PE 0 has failed
	j.meet.Lost(1, wire.Outcome{How: wire.Exited, Init: true}, "barrier 2", []libshmem.PE{0})
	j.loop(nil)
	o.remarks.end()
	<-o.remarksWritten
	if got, want := text(), "shmemrun: PE 1 exited with status 0 without shmem_finalize, but PE 0 waits for it in barrier 2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

package bootstrap

import (
	"testing"
	"time"

	"libshmem"
)

func TestErrors(t *testing.T) {
	m := &MissingError{Step: "allgather 1", Missing: []libshmem.PE{1, 3}, Waited: 2 * time.Second}
	want := "allgather 1: PEs 1, 3 did not come within 2s (find out why they are late, or raise SHMEM_BOOTSTRAP_TIMEOUT)"
	if m.Error() != want {
		t.Errorf("%q, want %q", m.Error(), want)
	}
	p := &PeerError{Step: "barrier 2", PE: 4, Reason: "exited with status 3"}
	if want := "barrier 2: PE 4 exited with status 3 and cannot join"; p.Error() != want {
		t.Errorf("%q, want %q", p.Error(), want)
	}
}

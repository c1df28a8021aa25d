package launch

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap/wire"
)

// TestStoppedPE sends a PE that reads nothing a report of each of 2,000 PEs, which is more than its
// socket holds. Nothing waits for the PE, and it gets all reports, in their order, when it reads
// again.
func TestStoppedPE(t *testing.T) {
	const losses = 2000
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(pair[0], true); err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "socket"), os.NewFile(uintptr(pair[1]), "socket of the PE")
	defer ours.Close()
	defer theirs.Close()
	j := newJob(&Options{PEs: 1}, nil)
	j.replies[0].conn = ours
	sent := make(chan struct{})
	go func() {
		for i := range libshmem.PE(losses) {
			b, err := wire.Append(nil, wire.Frame{Kind: wire.Lost, Payload: wire.Loss{PE: i}.Append(nil)})
			if err != nil {
				t.Error(err)
			}
			j.reply(0, b)
		}
		close(sent)
	}()
	select {
	case <-sent:
	case <-time.After(time.Minute):
		t.Fatal("shmemrun has waited for a minute for a PE that is stopped")
	}
	for i := range libshmem.PE(losses) {
		f, err := wire.Read(theirs)
		if err != nil {
			t.Fatal(err)
		}
		if l, err := wire.ParseLoss(f.Payload); err != nil || l.PE != i {
			t.Fatalf("report %d is about PE %d, %v", i, l.PE, err)
		}
	}
}

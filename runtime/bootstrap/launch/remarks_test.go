package launch

import (
	"bufio"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap/wire"
)

// fullPipe returns a pipe that takes no byte more until the test reads from it.
func fullPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close() // a blocked write ends
		w.Close()
	})
	fd := int(w.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for _, b := range []string{strings.Repeat("\n", 4096), "\n"} {
		for err = nil; err == nil; {
			_, err = unix.Write(fd, []byte(b))
		}
		if !errors.Is(err, unix.EAGAIN) {
			t.Fatal(err)
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	return r, w
}

// TestNoReader has shmemrun report 1,000 PEs to an output that nothing reads. A signal that comes
// afterwards still reaches the PEs and ends the job, and a reader that begins then gets all
// reports.
func TestNoReader(t *testing.T) {
	const pes = 1001
	r, w := fullPipe(t)
	o := newOutput(false, w, w)
	j := newJob(&Options{PEs: pes}, o)
	child(t, j)
	for pe := libshmem.PE(1); pe < pes; pe++ {
		j.procs = append(j.procs, &process{pe: pe})
		j.meet.Lost(pe, wire.Outcome{How: wire.Exited, Init: true}, "barrier 2", []libshmem.PE{0})
	}
	sigs := make(chan os.Signal, 1)
	go j.do(func() { sigs <- unix.SIGTERM }) // the loop has reported all PEs before it calls this
	ended := make(chan struct{})
	go func() {
		j.loop(sigs)
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the job goes on a minute after SIGTERM, because nothing reads shmemrun's output")
	}
	if want := 128 + int(unix.SIGTERM); j.status != want {
		t.Errorf("status %d, want %d", j.status, want)
	}
	o.remarks.end()
	go func() {
		<-o.remarksWritten
		w.Close()
	}()
	reports := 0
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if strings.HasSuffix(lines.Text(), "without shmem_finalize, but PE 0 waits for it in barrier 2") {
			reports++
		}
	}
	if reports != pes-1 {
		t.Errorf("%d PEs were reported, want %d", reports, pes-1)
	}
}

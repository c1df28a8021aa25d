package watch

import (
	"errors"
	"io"
	"os/exec"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/config"
	"libshmem/runtime/job/process"
	"libshmem/runtime/proxy"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/topo"
)

// teller is a launcher that reports losses.
type teller struct {
	bootstrap.Bootstrap
	mu   sync.Mutex
	lost []bootstrap.Loss
	ends [2]int
}

func (b *teller) Losses() (lost []bootstrap.Loss) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lost, b.lost = b.lost, nil
	var buf [64]byte
	if len(lost) > 0 {
		_, _ = unix.Read(b.ends[1], buf[:])
	}
	return lost
}
func (b *teller) News() int              { return b.ends[1] }
func (b *teller) EndsJob() bool          { return true }
func (b *teller) Secret() *secret.Secret { return nil }

// watchOfFour makes the watch of a job of four PEs. This PE is the first.
func watchOfFour(t *testing.T, on config.OnFailure) (*Watch, *teller) {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := &teller{ends: ends}
	log, err := shmlog.Open(&config.Config{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	w := New(Config{
		Peers:    Peers{Nodes: topo.NewNodes([]string{"a", "a", "a", "a"}), Processes: make([]process.Process, 4), Boot: b},
		Survives: on == config.ReturnOnFailure, Log: log,
	})
	t.Cleanup(func() {
		w.Stop()
		_, _ = unix.Close(ends[0]), unix.Close(ends[1])
	})
	return w, b
}

func none() uint32 { return 0 }

// TestWatchAlone: without a launcher, a job that does not go on without a PE ends when a PE has
// ended.
func TestWatchAlone(t *testing.T) {
	w, b := watchOfFour(t, config.AbortOnFailure)
	ended := make(chan error, 4)
	w.Fails = func(pe libshmem.PE, fate string) { ended <- &proxy.LostError{PE: libshmem.PE(pe), Reason: fate} }
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	w.Processes[1] = process.Of(child.Process.Pid)
	w.Begin(func(libshmem.PE, string) { t.Error("a job that ends goes on") }, none)
	if err := unix.Shutdown(b.ends[0], unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	select {
	case err := <-ended:
		if want := "PE 1 ended (its process, "; err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the job waits for ever")
	}
}

// launched is a teller that ends the job: no PE outlives it.
type launched struct{ *teller }

func (launched) Launcher() string { return "the server of a test" }

// TestKilledLauncher: if the launcher that would end the PEs is gone, they end by themselves, even
// if they would go on without another PE. Its answers are not taken for its end.
func TestKilledLauncher(t *testing.T) {
	for _, on := range []config.OnFailure{config.AbortOnFailure, config.ReturnOnFailure} {
		w, b := watchOfFour(t, on)
		w.Boot = launched{b}
		ended := make(chan error, 1)
		w.Fatal = func(err error) { ended <- err }
		w.Begin(func(libshmem.PE, string) { t.Error("a job that ends goes on") }, none)
		if _, err := unix.Write(b.ends[0], []byte("an answer")); err != nil {
			t.Fatal(err)
		}
		w.wake()
		if len(ended) > 0 {
			t.Errorf("ended by an answer: %v", <-ended)
		}
		if err := unix.Shutdown(b.ends[0], unix.SHUT_RDWR); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			var orphan *OrphanError
			if !errors.As(err, &orphan) || err.Error() != "the server of a test has gone" {
				t.Errorf("ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("the job waits for ever")
		}
	}
}

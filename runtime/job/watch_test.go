package job

import (
	"errors"
	"io"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/queue"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/config"
	"libshmem/runtime/job/process"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/topo"
	"libshmem/tests/need"
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

func (b *teller) tell(t *testing.T, l bootstrap.Loss) {
	b.mu.Lock()
	b.lost = append(b.lost, l)
	b.mu.Unlock()
	if _, err := unix.Write(b.ends[0], []byte("x")); err != nil {
		t.Fatal(err)
	}
}

// watchedJob makes a job of four PEs, without memory. This PE is the first.
func watchedJob(t *testing.T, on config.OnFailure) (*Job, *teller) {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := &teller{ends: ends}
	cfg := &config.Config{OnFailure: on}
	log, err := shmlog.Open(cfg, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	j := &Job{Config: cfg, NPEs: 4, boot: b, log: log, stderr: io.Discard, processes: make([]process.Process, 4),
		Nodes: topo.NewNodes([]string{"a", "a", "a", "a"})}
	t.Cleanup(func() {
		j.watch.stop()
		_, _ = unix.Close(ends[0]), unix.Close(ends[1])
	})
	return j, b
}

func none() uint32 { return 0 }

// TestWatch: the launcher's report and the end of a process are each noticed once. The waits of
// kernels end, by the word that they look at and by their rings.
func TestWatch(t *testing.T) {
	j, b := watchedJob(t, config.ReturnOnFailure)
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	j.processes[3] = process.Of(child.Process.Pid)
	h, err := queue.NewHost(1, 256, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var words [2]atomic.Uint32
	j.stopper.begin(&words, h.Rings)
	var mu sync.Mutex
	var lost []topo.PE
	known := func() []topo.PE {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(lost)
	}
	j.Watch(func(pe topo.PE) {
		mu.Lock()
		defer mu.Unlock()
		lost = append(lost, pe)
	}, none)
	b.tell(t, bootstrap.Loss{PE: 2, Fate: "was killed by signal 9 (killed)"})
	need.Eventually(t, "PE 2 is lost", func() bool { return slices.Equal(known(), []topo.PE{2}) })
	b.tell(t, bootstrap.Loss{PE: 2, Fate: "again"})
	if err := child.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	need.Eventually(t, "PE 3 is stopped", func() bool { _, stopped := j.processes[3].Condition(); return stopped })
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	need.Eventually(t, "PE 3 is lost", func() bool { return slices.Equal(known(), []topo.PE{2, 3}) })
	if f := j.Fate(2); f != "was killed by signal 9 (killed)" {
		t.Errorf("PE 2 %s", f)
	}
	j.watch.stop()
	if words[0].Load() != 2 || words[1].Load() != 0 {
		t.Error("kernels go on to wait")
	}
}

// TestWatchAlone: without a launcher, a job that does not go on without a PE ends when a PE has
// ended.
func TestWatchAlone(t *testing.T) {
	j, b := watchedJob(t, config.AbortOnFailure)
	ended := make(chan error, 4)
	j.fatal = func(err error) { ended <- err }
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	j.processes[1] = process.Of(child.Process.Pid)
	j.Watch(func(topo.PE) { t.Error("a job that ends goes on") }, none)
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
		j, b := watchedJob(t, on)
		j.boot = launched{b}
		ended := make(chan error, 1)
		j.fatal = func(err error) { ended <- err }
		j.Watch(func(topo.PE) { t.Error("a job that ends goes on") }, none)
		if _, err := unix.Write(b.ends[0], []byte("an answer")); err != nil {
			t.Fatal(err)
		}
		j.watch.wake()
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

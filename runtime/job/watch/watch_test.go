package watch

import (
	"errors"
	"io"
	"os/exec"
	"slices"
	"testing"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/bootstraptest"
	"libshmem/runtime/config"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/proxy"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/topo"
)

// watchOfFour makes the watch of a job of four PEs. This PE is the first.
func watchOfFour(t *testing.T, on config.OnFailure) (*Watch, *bootstraptest.LossReporter) {
	t.Helper()
	b := bootstraptest.NewLossReporter(t)
	log, err := shmlog.Open(&config.Config{}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	w := New(Peers{
		Self:      &meet.Self{Nodes: topo.NewNodes([]string{"a", "a", "a", "a"}), Settings: &config.Config{OnFailure: on}, Boot: b, Log: log},
		Processes: make([]meet.Process, 4),
	})
	t.Cleanup(w.Stop)
	return w, b
}

func none() uint32 { return 0 }

// TestWatchAlone: without a launcher, a job that does not go on without a PE ends when a PE has
// ended.
func TestWatchAlone(t *testing.T) {
	w, b := watchOfFour(t, config.AbortOnFailure)
	ended := make(chan error, 4)
	w.EndJob = func(pe libshmem.PE, reason string) { ended <- &proxy.LostError{PE: pe, Reason: reason} }
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	w.Processes[1] = meet.ProcessOf(child.Process.Pid)
	w.Begin(func(libshmem.PE, string) { t.Error("a job that ends goes on") }, none)
	b.Disappear(t)
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

// busyNetwork is a network whose engine is in use at the pings whose numbers are in busy.
type busyNetwork struct {
	Network
	pings  int
	busy   map[int]bool
	pinged []libshmem.PE
}

func (n *busyNetwork) Ping(pe libshmem.PE) (sent, locked bool) {
	if n.pings++; n.busy[n.pings] {
		return false, false
	}
	n.pinged = append(n.pinged, pe)
	return true, true
}

// TestPings: a PE that could not be pinged because another thread used the engine is the next to be
// pinged.
func TestPings(t *testing.T) {
	w, _ := watchOfFour(t, config.ReturnOnFailure)
	n := &busyNetwork{busy: map[int]bool{2: true, 3: true}}
	w.Network = n
	for range 3 {
		w.pinged = time.Time{}
		w.ping()
	}
	if want := []libshmem.PE{1, 2, 3, 1}; !slices.Equal(n.pinged, want) {
		t.Errorf("pinged %v, want %v", n.pinged, want)
	}
}

// launched is a LossReporter that ends the job: no PE outlives it.
type launched struct{ *bootstraptest.LossReporter }

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
		b.Write(t, "an answer")
		w.wake()
		if len(ended) > 0 {
			t.Errorf("ended by an answer: %v", <-ended)
		}
		b.Disappear(t)
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

package job

import (
	"io"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/queue"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/bootstraptest"
	"libshmem/runtime/config"
	"libshmem/runtime/job/device"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/topo"
	"libshmem/tests/need"
)

// TestWatch: the launcher's report and the end of a process are each noticed once. The waits of
// kernels end, by the word that they look at and by their rings.
func TestWatch(t *testing.T) {
	b := bootstraptest.NewLossReporter(t)
	cfg := &config.Config{OnFailure: config.ReturnOnFailure}
	log, err := shmlog.Open(cfg, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	j := &Job{Self: meet.Self{Settings: cfg, NPEs: 4, Boot: b, Log: log, Nodes: topo.NewNodes([]string{"a", "a", "a", "a"})}}
	j.JobInfo = &meet.JobInfo{Processes: make([]meet.Process, 4)}
	j.Watch = j.newWatch(&Options{})
	t.Cleanup(j.Watch.Stop)
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	j.Watch.Processes[3] = meet.ProcessOf(child.Process.Pid)
	h, err := queue.NewHost(1, 256, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	var words [2]atomic.Uint32
	j.Producers = new(device.Producers)
	j.Producers.Stopper.Begin(&words, h.Rings)
	var mu sync.Mutex
	var lost []libshmem.PE
	known := func() []libshmem.PE {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(lost)
	}
	j.Begin(func(pe libshmem.PE) {
		mu.Lock()
		defer mu.Unlock()
		lost = append(lost, pe)
	}, func() uint32 { return 0 })
	b.Report(t, bootstrap.Loss{PE: 2, Reason: "was killed by signal 9 (killed)"})
	need.Eventually(t, "PE 2 is lost", func() bool { return slices.Equal(known(), []libshmem.PE{2}) })
	b.Report(t, bootstrap.Loss{PE: 2, Reason: "again"})
	if err := child.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	need.Eventually(t, "PE 3 is stopped", func() bool { _, stopped := j.Watch.Processes[3].Condition(); return stopped })
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	need.Eventually(t, "PE 3 is lost", func() bool { return slices.Equal(known(), []libshmem.PE{2, 3}) })
	if f := j.Watch.Reason(2); f != "was killed by signal 9 (killed)" {
		t.Errorf("PE 2 %s", f)
	}
	j.Watch.Stop()
	if words[0].Load() != 2 || words[1].Load() != 0 {
		t.Error("kernels go on to wait")
	}
}

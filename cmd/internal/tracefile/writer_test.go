package tracefile

import (
	"path/filepath"
	"testing"
	"time"

	"libshmem/runtime/trace"
)

// TestWriter reads what SHMEM_TRACE writes.
func TestWriter(t *testing.T) {
	name := trace.Name(filepath.Join(t.TempDir(), "t.json"), 3)
	f, err := trace.Create(name, 3, "red")
	if err != nil {
		t.Fatal(err)
	}
	track := f.Track(0)
	track.Batch(time.Now(), 5, 7, 0)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	job, err := Scan([]string{name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := job.PE(3)
	if p == nil || p.Host != "red" || p.Others != 1 || p.Calls != 0 || p.Cut || job.NPEs != 4 {
		t.Errorf("PE 3 is %+v of %d PEs", p, job.NPEs)
	}
	if job.Threads[Thread{3, false, 1}] != "endpoint 0" {
		t.Errorf("rows %v", job.Threads)
	}
	events := merged(t, job)
	if len(events) != 1 || events[0].Name != "ring" || string(events[0].Args) != `{"ring":5,"operations":7,"left":0}` || events[0].Length <= 0 {
		t.Errorf("events %+v", events)
	}
	if a := job.Alignment(); len(a.Hosts) != 1 || a.Error != 0 {
		t.Errorf("clocks %+v", a)
	}
}

package run

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/runtime/trace/tracetest"
	"libshmem/tests/need"
)

// TestTrace: a job writes one JSON array for each PE, with the rings, the posts, the polls and the
// sleeps of its proxy, and each operation of the NIC from post to completion; the strictest reader
// of the format accepts it.
func TestTrace(t *testing.T) {
	build, dir := need.Build(t), t.TempDir()
	run := func(file, program string) (string, error) {
		cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), "-n", "2", "--hosts", "2", "--timeout", "60",
			"-x", "SHMEM_TRACE="+file, filepath.Join(build, "tests", program))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(filepath.Join(dir, "t.json"), "rings"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for pe, name := range []string{"t.0.json", "t.1.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var all []struct {
			Ph, Name, ID string
			PID          int
			At           float64 `json:"ts"`
			Dur          float64
		}
		if _, err := tracetest.Check(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		spans, open := map[string]int{}, map[string]string{}
		ended := 0
		for _, e := range all {
			if e.PID != pe || e.Dur < 0 || e.Ph != "M" && e.At <= 0 {
				t.Fatalf("%s: %+v", name, e)
			}
			switch e.Ph {
			case "X":
				spans[e.Name]++
			case "b":
				if open[e.ID] != "" {
					t.Errorf("%s: %s begins twice", name, e.ID)
				}
				open[e.ID] = e.Name
			case "e":
				if open[e.ID] != e.Name {
					t.Errorf("%s: %s ends as %q and began as %q", name, e.ID, e.Name, open[e.ID])
				}
				ended++
				delete(open, e.ID)
			}
		}
		for _, want := range []string{"ring", "send", "write", "poll", "sleep"} {
			if spans[want] == 0 {
				t.Errorf("%s: nothing is called %s: %v", name, want, spans)
			}
		}
		if ended == 0 || len(open) > 0 {
			t.Errorf("%s: %d operations ended, %d did not", name, ended, len(open))
		}
	}
	out, err := run(filepath.Join(dir, "none", "t.json"), "rings")
	if err == nil || !strings.Contains(out, "create SHMEM_TRACE") || !strings.Contains(out, "no such file or directory (name a file in a directory that exists") {
		t.Errorf("%v\n%s", err, out)
	}
}

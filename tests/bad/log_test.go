package bad

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"libshmem/tests/need"
)

// TestReportInTheLog: the report of a wait goes to the log, as a record of its own, and nowhere
// else.
func TestReportInTheLog(t *testing.T) {
	build := need.Build(t)
	dir := t.TempDir()
	log, file := filepath.Join(dir, "log"), filepath.Join(dir, "go")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(build, "bin", "shmemrun"), "-n", "2", "--timeout", "90",
		"-x", "SHMEM_TIMEOUT=1", "-x", "SHMEM_LOG_FILE="+log, compile(t, build, "bad"), "hang")
	cmd.Env = append(os.Environ(), "GO="+file)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for ctx.Err() == nil && !bytes.Contains(text, []byte("has waited")) {
		time.Sleep(10 * time.Millisecond)
		text, _ = os.ReadFile(log) // it may not be there yet
	}
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil || bytes.Contains(out.Bytes(), []byte("has waited")) {
		t.Errorf("%v\n%s", err, out.Bytes())
	}
	want := regexp.MustCompile(`^PE 0: shmem_long_wait_until has waited \d+ s: for 0x\w+ \(heap offset 0x\w+\) == 5, now 0 \(the wait goes on\)$`)
	found := false
	for line := range bytes.Lines(text) {
		var r struct {
			Level, Subsys, Message string
			PE                     *int
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		found = found || want.MatchString(r.Message) && r.Level == "warn" && r.Subsys == "pe" && r.PE != nil && *r.PE == 0
	}
	if !found {
		t.Errorf("no record of the wait:\n%s", text)
	}
}

// TestFullDiskOfTheLog: where the log has no room, the PE says so once, and the program goes on.
func TestFullDiskOfTheLog(t *testing.T) {
	build := need.Build(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(build, "bin", "shmemrun"), "-n", "2", "--timeout", "90",
		"-x", "SHMEM_LOG_LEVEL=info", "-x", "SHMEM_LOG_FILE=/dev/full", compile(t, build, "bad"), "ends_without_finalize")
	out, err := cmd.CombinedOutput()
	told := regexp.MustCompile(`(?m)^shmem: \S+ PE 0: log: write /dev/full: no space left on device, records are lost \(make room there, or name another file in SHMEM_LOG_FILE\)$`)
	if n := len(told.FindAll(out, -1)); err != nil || n != 1 {
		t.Errorf("%v, it is said %d times\n%s", err, n, out)
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := reporterBeside(filepath.Join(dir, "shmemrun")); err == nil || !strings.Contains(err.Error(), "find shmem-trace: it is not beside shmemrun") {
		t.Errorf("without the command: %v", err)
	}
	// PE 1 has older parts; 2.json is of another job.
	for _, name := range []string{"0.json", "1.json", "1.1.json", "1.2.json", "2.json"} {
		write(name, "[]", 0o644)
	}
	write(reporter, "#!/bin/sh\necho \"$@\"\nexit $STATUS\n", 0o755)
	file, err := reporterBeside(filepath.Join(dir, "shmemrun"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reporter     string
		status, want int
	}{{"0", 0, 0}, {"1", 0, 1}, {"0", 7, 7}, {"1", 7, 7}} {
		t.Setenv("STATUS", c.reporter)
		var out, bad bytes.Buffer
		got := runReporter(file, dir, 2, c.status, &out, &bad)
		args := strings.ReplaceAll(strings.TrimSpace(out.String()), dir+"/", "")
		if got != c.want || args != "report 0.json 1.json 1.1.json 1.2.json" || bad.Len() > 0 {
			t.Errorf("%+v: status %d, arguments %q, %q", c, got, args, &bad)
		}
	}
	var out, bad bytes.Buffer
	if got := runReporter(filepath.Join(dir, "nothing"), dir, 1, 0, &out, &bad); got != 1 || !strings.Contains(bad.String(), "run make build") {
		t.Errorf("without the command: status %d, %q", got, &bad)
	}
}

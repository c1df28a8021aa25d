package setup

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// TestDemoBuilds: make demo builds what it shows, and nothing that takes long besides: no kernels,
// no other command, no other example.
func TestDemoBuilds(t *testing.T) {
	cmd := exec.Command("make", "-n", "-C", "../..", "BUILD="+t.TempDir(), "demo", "NVCC=/bin/true")
	cmd.Env = withoutCUDA()
	out, err := cmd.CombinedOutput()
	plan := string(out)
	if err != nil {
		t.Fatalf("%v\n%s", err, plan)
	}
	for _, want := range []string{
		"scripts/setup demo", "scripts/setup model", "/lib/libshmem.so ", "./capi/core", "./cmd/shmemrun", "/examples/ring ",
		"/examples/reshard ", "examples/demo.sh", "s in all",
	} {
		if !strings.Contains(plan, want) {
			t.Errorf("make demo lacks %q:\n%s", want, plan)
		}
	}
	for _, other := range []string{compiles, "./cmd/shmem-", "capi/nvshmem", "capi/preload", "/examples/sort ", "/examples/pagedfill "} {
		if strings.Contains(plan, other) {
			t.Errorf("make demo has %q:\n%s", other, plan)
		}
	}
}

// TestStep: scripts/step says what begins, that it goes on, and how it ended; the command's output
// and status are its own.
func TestStep(t *testing.T) {
	cmd := exec.Command("../../scripts/step", "who: what", "sh", "-c", "echo in; read -r line; echo out; exit 3")
	cmd.Env = append(withoutCUDA(), "STEP_SECONDS=0.05")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("it says %q, want %q", lines.Text(), want)
		}
	}
	next("who: what")
	// The command waits until the ticker has spoken.
	seen := map[string]bool{}
	for !seen["in"] || !seen["who: 0 s so far"] && !seen["who: 1 s so far"] {
		if !lines.Scan() {
			t.Fatalf("it ends with %v", seen)
		}
		seen[lines.Text()] = true
	}
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	var rest []string
	for lines.Scan() {
		if !strings.HasSuffix(lines.Text(), "so far") {
			rest = append(rest, lines.Text())
		}
	}
	err = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 3 || strings.Join(rest, "") != "out" || !strings.HasPrefix(errs.String(), "who: failed with status 3, ") {
		t.Errorf("%v, output %q, errors %q", err, rest, errs.String())
	}
}

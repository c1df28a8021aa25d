package run

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"libshmem/tests/need"
)

// runs are how many of each kind; -runs=100 is for make test-full.
var runs = flag.Int("runs", 20, "runs without chaos, and seeds with it")

// TestMissingFence runs a program that lacks a fence on a network that is made bad,
// and the same program with it.
func TestMissingFence(t *testing.T) {
	build := need.Build(t)
	program := filepath.Join(t.TempDir(), "missing_fence")
	cc := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-O2", "-I../../include", "-o", program, "../chaos/missing_fence.c",
		"-L"+filepath.Join(build, "lib"), "-lshmem")
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("compile missing_fence.c: %v\n%s", err, out)
	}
	run := func(args ...string) (bool, string) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(build, "bin", "shmemrun"), append([]string{"-n", "2", "-x", "SHMEM_PROVIDER=tcp", "--timeout", "60"}, args...)...)
		out, err := cmd.CombinedOutput()
		return err == nil, string(out)
	}
	const missing = "words were not there when the number was"
	for i := range *runs {
		if ok, out := run(program); !ok {
			t.Fatalf("run %d without chaos failed:\n%s", i, out)
		}
	}
	caught := 0
	for seed := range *runs {
		ok, out := run("--chaos", fmt.Sprint(seed), program)
		switch {
		case !ok && strings.Contains(out, missing):
			caught++
		case !ok:
			t.Fatalf("seed %d failed for another reason:\n%s", seed, out)
		}
		if ok, out := run("--chaos", fmt.Sprint(seed), program, "fence"); !ok {
			t.Errorf("seed %d with the fence failed:\n%s", seed, out)
		}
	}
	if 10*caught < 9**runs {
		t.Errorf("the fence was missed with %d of %d seeds, fewer than 9 of 10", caught, *runs)
	}
	t.Logf("%d runs without chaos passed; with it %d of %d seeds missed the fence", *runs, caught, *runs)
}

// TestDroppedPeer has chaos kill a PE: the job ends and names it.
func TestDroppedPeer(t *testing.T) {
	build := need.Build(t)
	cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), "-n", "3", "-x", "SHMEM_PROVIDER=tcp", "--timeout", "60",
		"--chaos", "1,drop-peer=1@100ms", filepath.Join(build, "tests", "zz_atomics"))
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 128+9 || !strings.Contains(string(out), "PE 1 was killed by signal 9") {
		t.Errorf("status %d, error %v:\n%s", code, err, out)
	}
}

package run

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"libshmem/tests/need"
)

// runs is the number of runs of each kind; -runs=100 is for make test-full.
var runs = flag.Int("runs", need.Load("fences"), "runs without chaos, and seeds with it")

var numbered = regexp.MustCompile(`numbered_writes +(\d+)`)

// TestMissingFence runs a program that lacks a fence on a network with chaos, and the same program
// with the fence.
func TestMissingFence(t *testing.T) {
	build := need.Build(t)
	program := filepath.Join(build, "chaos", "missing_fence")
	run := func(args ...string) (bool, string) {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(build, "bin", "shmemrun"), append([]string{"-n", "2", "-x", "SHMEM_PROVIDER=tcp", "--timeout", "100"}, args...)...)
		out, err := cmd.CombinedOutput()
		return err == nil, string(out)
	}
	const missing = "words were not there when the number was"
	var caught atomic.Int64
	one := func(seed int) {
		if ok, out := run(program); !ok {
			t.Errorf("run %d without chaos failed:\n%s", seed, out)
		}
		ok, out := run("--chaos", fmt.Sprint(seed), program)
		switch {
		case !ok && strings.Contains(out, missing):
			caught.Add(1)
		case !ok:
			t.Errorf("seed %d failed for another reason:\n%s", seed, out)
		}
		ok, out = run("--chaos", fmt.Sprint(seed), "-x", "SHMEM_STATS=1", program, "fence")
		if !ok {
			t.Errorf("seed %d with the fence failed:\n%s", seed, out)
		} else if m := numbered.FindStringSubmatch(out); m == nil || m[1] == "0" {
			t.Errorf("seed %d with the fence: no write had a number, so that it was not the target that kept the order:\n%s", seed, out)
		}
	}
	// Two PEs need two cores.
	seeds := make(chan int)
	var wg sync.WaitGroup
	for range max(1, runtime.NumCPU()/2) {
		wg.Go(func() {
			for seed := range seeds {
				one(seed)
			}
		})
	}
	for seed := range *runs {
		seeds <- seed
	}
	close(seeds)
	wg.Wait()
	if 10*caught.Load() < 9*int64(*runs) {
		t.Errorf("the fence was missed with %d of %d seeds, fewer than 9 of 10", caught.Load(), *runs)
	}
	t.Logf("%d runs without chaos passed; with it %d of %d seeds missed the fence", *runs, caught.Load(), *runs)
}

// In TestChaosBarrier the PEs of four hosts are informed of each other's arrival by a third PE.
func TestChaosBarrier(t *testing.T) {
	build := need.Build(t)
	for seed := 1; seed <= 5; seed++ {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, filepath.Join(build, "bin", "shmemrun"), "-n", "4", "-x", "SHMEM_PROVIDER=tcp", "--timeout", "100",
			"--chaos", fmt.Sprint(seed), filepath.Join(build, "chaos", "barrier"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, out)
		}
		cancel()
	}
}

// In TestDroppedPeer chaos kills a PE: the job ends and names it.
func TestDroppedPeer(t *testing.T) {
	build := need.Build(t)
	cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), "-n", "3", "-x", "SHMEM_PROVIDER=tcp", "--timeout", "100",
		"--chaos", "1,drop-peer=1@100ms", filepath.Join(build, "tests", "zz_atomics"))
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 128+9 || !strings.Contains(string(out), "PE 1 was killed by signal 9") {
		t.Errorf("status %d, error %v:\n%s", code, err, out)
	}
}

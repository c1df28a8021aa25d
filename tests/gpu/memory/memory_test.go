package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"libshmem/runtime/gpu/cuda/cudatest"
)

// TestMain is the program itself where a test has started it again.
func TestMain(m *testing.M) {
	if os.Getenv("MEMORY_PROGRAM") != "" {
		os.Exit(run(os.Stdout))
	}
	os.Exit(m.Run())
}

func program(t *testing.T, dir, settings string) (string, int) {
	t.Helper()
	log := cudatest.Set(t, settings)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MEMORY_PROGRAM=1", "LD_LIBRARY_PATH="+dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	log.Check()
	return out.String(), cmd.ProcessState.ExitCode()
}

func TestOnAFakeGPU(t *testing.T) {
	dir := cudatest.Build(t)
	for _, tt := range []struct {
		settings string
		status   int
		want     []string
	}{
		{"", 0, []string{"GPU 0 Fake G100, driver of CUDA 13.3 from ", "\n* pinned: cuMemHostRegister\n", "chosen: pinned by cuMemHostRegister",
			"\npinned by cuMemHostRegister: works", "\nmanaged by cuMemAllocManaged: works", "\nbar by GDRCopy 2.5: works", "\nlocal by cuMemAlloc: works", "\npinned for copies: works"}},
		{"gdrdrv=0", 0, []string{"\nbar by dma-buf: works"}},
		{"gdrdrv=0 attribute152=-1", 0, []string{"\n  bar: not available: "}},
		{"attribute99=0", 0, []string{"\npinned by cuMemHostAlloc: works", "\npinned for copies: works"}},
		{"devices=0", 2, []string{"memory: count the GPUs: there is none"}},
		{"deaf=1", 1, []string{"check pinned memory by cuMemHostRegister: what the GPU filled is not what arrived, which begins with 0000"}},
		{"fail_at=120", 1, []string{"memory: ", "CUDA_ERROR_UNKNOWN"}},
	} {
		out, status := program(t, dir, tt.settings)
		for _, want := range tt.want {
			if !strings.Contains("\n"+out, want) {
				t.Errorf("%q: %q is not in\n%s", tt.settings, want, out)
			}
		}
		if status != tt.status {
			t.Errorf("%q: status %d, want %d\n%s", tt.settings, status, tt.status, out)
		}
	}
}

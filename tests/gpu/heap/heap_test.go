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

// TestMain is the program itself where a test, or the program, has started it.
func TestMain(m *testing.M) {
	if os.Getenv("HEAP_PROGRAM") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func program(t *testing.T, dir, settings string) (string, int) {
	t.Helper()
	log := cudatest.Set(t, settings)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "HEAP_PROGRAM=1", "LD_LIBRARY_PATH="+dir)
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

// TestOnAFakeGPU: the program's PEs really share memory, and it notices a GPU that misbehaves.
func TestOnAFakeGPU(t *testing.T) {
	dir := cudatest.Build(t)
	for _, tt := range []struct {
		settings string
		status   int
		want     []string
	}{
		{"devices=1", 0, []string{"commits, but not while a kernel runs: load device code on GPU 0 Fake G100: cuModuleLoadData: error 200", "vmm, PEs on GPUs [0 0]\n", "ipc, PEs on GPUs [0 0]\n", "3 passed, 0 failed"}},
		{"devices=2", 0, []string{"vmm, PEs on GPUs [0 1 1]\n", "9 passed, 0 failed"}},
		{"devices=2 peers=0", 0, []string{"no way to PE 1: map the heap of PE 1: GPU 0 Fake G100 cannot reach memory of GPU-fa", "9 passed, 0 failed"}},
		{"devices=1 attribute102=0", 1, []string{"PE 0: share memory of GPU 0 Fake G100: it lacks CUDA's virtual memory management", "2 passed, 1 failed"}},
		{"devices=1 ipc=801", 1, []string{"cuIpcGetMemHandle: error 801", "2 passed, 1 failed"}},
		{"devices=1 deaf=1", 1, []string{"the CPU does not see what the GPU stored", "2 passed, 1 failed"}},
		{"devices=1 attribute91=0 attribute122=0 attribute124=0", 1, []string{"main memory at other addresses than the CPU", "no stores by streams into the next heap: StreamOps is false", "no dma-buf", "2 passed, 1 failed"}},
		{"devices=0", 2, []string{"heap: count the GPUs: there is none"}},
	} {
		out, status := program(t, dir, tt.settings)
		for _, want := range tt.want {
			if !strings.Contains(out, want) {
				t.Errorf("%q: %q is not in\n%s", tt.settings, want, out)
			}
		}
		if status != tt.status {
			t.Errorf("%q: status %d, want %d\n%s", tt.settings, status, tt.status, out)
		}
	}
}

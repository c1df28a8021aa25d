package failure

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"libshmem/runtime/gpu/cuda/cudatest"
)

// TestDriverWatch makes a call of the fake GPU driver block: the PE that waits in it reports this
// although its proxy, and all threads that need the proxy, are stuck, and the job ends normally
// when the call returns.
func TestDriverWatch(t *testing.T) {
	shmemrun, program := compile(t, "driverwatch")
	const (
		driver   = `the GPU's driver has not returned from `
		byProxy  = `cuMemcpyAsync for \d+\.\d s, called by the proxy of endpoint 0 for a get of PE 0`
		lazy     = `the program loads a kernel, by its first launch, beside one that runs, or `
		pageable = `copies to pageable memory behind a stream that waits for another PE`
		help     = `synchronize the stream before such a copy or copy to pinned memory; docs/guides/gpu-network\.md\) \(the wait goes on\)`
	)
	type held struct {
		*job
		dir  string
		hold *cudatest.Holder
		pids []int
	}
	begin := func(t *testing.T, r route, settings, timeout string, pes int, more ...string) *held {
		t.Helper()
		h := &held{dir: t.TempDir(), hold: cudatest.NewHolder(t)}
		env := list(r.env, onGPU(t), []string{"FAKE_CUDA=works=1 " + settings, "FAKE_CUDA_HOLD=" + h.hold.Dir, "SHMEM_TIMEOUT=" + timeout, "SHMEM_LOG_LEVEL=info", "SHMEM_GPU_NET=stage"})
		h.job = start(t, env, shmemrun, list(options(strconv.Itoa(pes), r.options...), more, []string{program, h.dir})...)
		for pe := range pes {
			pid, err := strconv.Atoi(h.says(`PE ` + strconv.Itoa(pe) + ` is process (\d+)`)[1])
			if err != nil {
				t.Fatal(err)
			}
			h.pids = append(h.pids, pid)
		}
		return h
	}
	step := func(h *held, names ...string) {
		h.t.Helper()
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(h.dir, name), nil, 0o666); err != nil {
				h.t.Fatal(err)
			}
		}
	}
	ends := func(h *held, pe int, unasked int) {
		h.t.Helper()
		h.hold.Release(h.pids[pe])
		step(h, "quiet", "end")
		out := h.wait(0)
		if n := passed(h.t, out); n != len(h.pids) {
			h.t.Errorf("%d of %d PEs came to the end:\n%s", n, len(h.pids), out)
		}
		if n := strings.Count(out, "PE "+strconv.Itoa(pe)+": the GPU's driver"); unasked >= 0 && n != unasked {
			h.t.Errorf("the PE tells of it %d times, want %d:\n%s", n, unasked, out)
		}
	}
	for _, r := range networks(t, list(tcp, []string{"--hosts", "2"}), false) {
		t.Run("proxy"+r.name, func(t *testing.T) {
			h := begin(t, r, "", "1", 2)
			h.hold.Hold(h.pids[1], "cuMemcpyAsync")
			step(h, "get")
			h.says(`PE 1: ` + driver + byProxy + `: it may be that ` + lazy + pageable + ` \(launch each kernel once beforehand, and ` + help)
			// Both PEs report it: the PE itself, whose only user of the network is blocked, and the
			// other PE, which gets no answer.
			h.says(`PE 0: shmem_long_get has waited \d+ s: for the completion at PE 1; .*PE 1 has not answered for`)
			step(h, "quiet")
			h.says(`PE 1: shmem_\w+ has waited \d+ s: for another thread that uses the network; ` + driver + byProxy + ` \(docs/guides/gpu-network\.md\) \(the wait goes on\)`)
			ends(h, 1, 1)
		})

		t.Run("asked"+r.name, func(t *testing.T) {
			h := begin(t, r, "loading=1", "0", 2)
			h.hold.Hold(h.pids[1], "cuMemcpyAsync")
			step(h, "get")
			// Each signal is one question; a call that has just begun does not answer it.
			for asked := time.Now(); !strings.Contains(h.output(), pageable); time.Sleep(100 * time.Millisecond) {
				if time.Since(asked) > limit/2 {
					t.Fatalf("no PE says it\n%s", h.output())
				}
				if err := h.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
					t.Fatal(err)
				}
			}
			h.says(`PE 1: ` + driver + byProxy + `: it may be that the program ` + pageable + ` \(` + help)
			h.says(`PE 1: asked for a report: ` + driver + byProxy)
			ends(h, 1, -1)
			if strings.Contains(h.output(), "once before") {
				t.Errorf("kernels are loaded with their module, and it is said what helps otherwise:\n%s", h.output())
			}
		})

		// Operations that the program's context cannot execute do not delay the job.
		t.Run("loads"+r.name, func(t *testing.T) {
			h := begin(t, r, "", "0", 2)
			defer h.hold.Load(h.pids[1])()
			step(h, "get", "quiet", "end")
			out := h.wait(0)
			if n := passed(t, out); n != 2 {
				t.Errorf("%d of 2 PEs came to the end:\n%s", n, out)
			}
		})

		// A heap in the program's context waits for it, and the PE reports this.
		t.Run("undone"+r.name, func(t *testing.T) {
			h := begin(t, r, "", "1", 2, "-x", "SHMEM_GPU_SHARE=ipc", "-x", "SHMEM_SYMMETRIC_SIZE=64M")
			loaded := h.hold.Load(h.pids[1])
			step(h, "get")
			const what = `the GPU has carried out none of 1 operation with 8192 bytes on GPU memory, the oldest for a get of PE 0, for \d+\.\d s, asked by the proxy of endpoint 0`
			h.says(`PE 1: ` + what + `: it may be that the program loads a kernel, by its first launch, beside one that runs \(launch each kernel once beforehand; docs/guides/gpu-network\.md\) \(the wait goes on\)`)
			if err := h.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
				t.Fatal(err)
			}
			h.says(`PE 1: asked for a report: .*` + what)
			live, err := exec.Command(filepath.Join(filepath.Dir(shmemrun), "shmem-info"), "--live", strconv.Itoa(h.pids[1])).CombinedOutput()
			if text := `endpoint 0: for \d+\.\d s the GPU has carried out none of 1 operation with 8192 bytes on GPU memory, the oldest for a get of PE 0`; err != nil || !regexp.MustCompile(text).Match(live) {
				t.Errorf("shmem-info --live: %v\n%s", err, live)
			}
			loaded()
			step(h, "quiet", "end")
			out := h.wait(0)
			if n := passed(t, out); n != 2 {
				t.Errorf("%d of 2 PEs came to the end:\n%s", n, out)
			}
		})
	}

	// A thread of the program, in a job without a network.
	t.Run("program", func(t *testing.T) {
		h := begin(t, route{}, "", "1", 1)
		h.hold.Hold(h.pids[0], "cuStreamSynchronize")
		step(h, "get")
		h.says(`PE 0: ` + driver + `cuStreamSynchronize for \d+\.\d s, called by a thread of the program: it may be that ` + lazy + pageable +
			`, or kernels that fill the GPU leave no place for what the program waits for \(`)
		ends(h, 0, 1)
	})
}

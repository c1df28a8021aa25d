package failure

import (
	"regexp"
	"strings"
	"testing"
)

// In TestReset each PE resets its GPU before it finalizes. The job ends normally and each PE
// reports the reset, once; a later use of the GPU fails with the reason.
func TestReset(t *testing.T) {
	shmemrun, program := compile(t, "reset", "-I../../device")
	const text = `the program has reset GPU 0 \(cudaDeviceReset\) while the job used it \(call it before shmem_init or after shmem_finalize\)`
	for way, more := range map[string][]string{
		"node":  nil,
		"ring":  {"-x", "SHMEM_DISABLE_P2P=1"},
		"copy":  {"-x", "SHMEM_DISABLE_P2P=1", "-x", "SHMEM_GPU_NET=copy"},
		"ipc":   {"-x", "SHMEM_DISABLE_P2P=1", "-x", "SHMEM_GPU_SHARE=ipc", "-x", "SHMEM_SYMMETRIC_SIZE=64M"},
		"main":  {"-x", "SHMEM_DISABLE_P2P=1", "-x", "SHMEM_HEAP=pinned"},
		"hosts": list(tcp, []string{"--hosts", "2"}),
	} {
		for _, r := range networks(t, more, false) {
			for when, jobs := range map[string]int{"end": 1, "used": 1, "again": 2} {
				t.Run(way+r.name+"/"+when, func(t *testing.T) {
					out := start(t, list(r.env, r.onGPU(t)), shmemrun, list(options("2", r.options...), []string{program, when})...).wait(0)
					if n := passed(t, out); n != 2 {
						t.Errorf("%d of 2 PEs came to the end:\n%s", n, out)
					}
					for _, pe := range []string{"0", "1"} {
						if n := len(regexp.MustCompile(`(?m)^shmem: PE `+pe+`: shmem_finalize: `+text+`$`).FindAllString(out, -1)); n != jobs {
							t.Errorf("PE %s says it %d times, want %d:\n%s", pe, n, jobs, out)
						}
					}
					if n := strings.Count(out, "GPU"); n != 2*jobs {
						t.Errorf("the GPU is named %d times, want %d:\n%s", n, 2*jobs, out)
					}
				})
			}
		}
	}
	t.Run("inside", func(t *testing.T) {
		out := start(t, onGPU(t), shmemrun, list(options("2"), []string{program, "inside"})...).wait(134)
		if !regexp.MustCompile(`shmem: PE \d: shmem_\w*p: .*GPU 0 Fake G100.*: `+text).MatchString(out) || strings.Contains(out, "goroutine ") {
			t.Errorf("it is not told:\n%s", out)
		}
	})
}

package nvshmem

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/fabric/ofi/stub"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/need"
)

// experts builds the kernels of examples/deepep for threads of the host.
func experts(t *testing.T, build string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "moe")
	// nvcc's pragmas mean nothing here, and some arguments are hints.
	args := append([]string{"-std=c++17", "-O1", "-g", "-DEMULATED", "-Wno-unknown-pragmas", "-Wno-unused-parameter", "-I../../device", "-I../../include",
		"-I../../include/nvshmem", "-I../device/emulated", "-I../../examples/deepep"}, flags...)
	compile(t, "g++", append(args, "testdata/moe.cc", "-o", program, "-L"+filepath.Join(build, "lib"), "-lshmem", "-lpthread")...)
	return program
}

// runExperts runs them with settings, and reports whether all PEs passed.
func runExperts(build string, settings, args []string) (bool, string) {
	cmd := exec.Command(launcher(build), append([]string{"--timeout", "120"}, args...)...)
	cmd.Env = append(append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(build, "lib"), "SHMEM_SYMMETRIC_SIZE=1g"), settings...)
	out, err := cmd.CombinedOutput()
	return err == nil && strings.Contains(string(out), ": passed\n") && !strings.Contains(string(out), "failed"), string(out)
}

// TestExperts runs the kernels that rely on the order of a queue: with PEs that are reached
// directly, through rings, both ways, and on networks that keep no order. With a fake GPU they have
// the state that the library makes for kernels.
func TestExperts(t *testing.T) {
	build := need.Build(t)
	program := experts(t, build)
	tcp, efa := []string{"SHMEM_PROVIDER=tcp"}, stub.Networks(false)[0].Env(filepath.Join(build, "stub", "libfabric.so.1"))
	fakeGPU := append(tcp, "SHMEM_HEAP=device", "FAKE_CUDA=works=1", "EMULATED_GPU=1",
		"LD_LIBRARY_PATH="+filepath.Join(build, "lib")+":"+cudatest.Build(t))
	tokens, rounds := "256", "2"
	if need.Full() {
		tokens, rounds = "1024", "20"
	}
	for _, c := range []struct {
		name     string
		settings []string
		args     []string
		push     bool
	}{
		{"node", tcp, []string{"-n", "2"}, true},
		{"hosts", tcp, []string{"-n", "2", "--hosts", "2"}, true},
		{"pairs", tcp, []string{"-n", "4", "--hosts", "2"}, false},
		{"by PE", append(tcp, "SHMEM_RING_MAP_BY=pe", "SHMEM_RING_COUNT=3", "SHMEM_PROXY_THREADS=2"), []string{"-n", "2", "--hosts", "2"}, false},
		{"one ring", append(tcp, "SHMEM_RING_COUNT=1"), []string{"-n", "2", "--hosts", "2"}, false},
		{"GPU/direct", fakeGPU, []string{"-n", "2"}, true},
		{"GPU/ring", append(fakeGPU, "SHMEM_DISABLE_P2P=1"), []string{"-n", "2"}, true},
		{"GPU/pairs", fakeGPU, []string{"-n", "4", "--hosts", "2"}, false},
		{"chaos", tcp, []string{"-n", "2", "--chaos", "7,delay=10ms"}, true},
		{"EFA", efa, []string{"-n", "2", "--chaos", "3,delay=10ms"}, false},
	} {
		numbers := []string{"64", "8"}
		if need.Left("dispatch") {
			if !c.push {
				continue
			}
			numbers = numbers[:1]
		}
		for _, number := range numbers {
			t.Run(c.name+"/"+number, func(t *testing.T) {
				if good, out := runExperts(build, c.settings, append(c.args, program, number, tokens, rounds)); !good {
					t.Errorf("%.4000s", out)
				}
			})
		}
	}
}

// TestExpertsWithoutOrder omits the fence of the queue, which the test above must notice.
func TestExpertsWithoutOrder(t *testing.T) {
	build := need.Build(t)
	program := experts(t, build, "-DIBGDA_WITHOUT_ORDER")
	for _, seed := range []string{"1", "2", "3", "4", "5", "6"} {
		good, out := runExperts(build, []string{"SHMEM_PROVIDER=tcp"}, []string{"-n", "2", "--chaos", seed + ",delay=2ms", program, "64", "256", "2"})
		if !good && strings.Contains(out, " words are wrong") {
			return
		}
		if !good {
			t.Fatalf("chaos %s: it failed for another reason:\n%s", seed, out)
		}
	}
	t.Error("no network of six lost the order")
}

package failure

import (
	"fmt"
	"testing"
)

func compileEnds(t *testing.T) (shmemrun, program string) {
	t.Helper()
	return compile(t, "ends", "-I../../device")
}

// TestEnds has PEs that end without shmem_finalize: what they have sent arrives, so that each comes
// to its end. In chaos it waits for milliseconds within the sender, and would be lost with it.
func TestEnds(t *testing.T) {
	shmemrun, program := compileEnds(t)
	for _, what := range []string{"barrier", "sum", "put"} {
		for seed := range *seeds * 3 {
			chaos := fmt.Sprintf("%d,delay=5ms", seed)
			for _, r := range networks(t, list(tcp, []string{"--hosts", "4", "--chaos", chaos}), false) {
				t.Run(fmt.Sprintf("%s %d%s", what, seed, r.name), func(t *testing.T) {
					t.Parallel()
					j := start(t, r.env, shmemrun, options("4", append(r.options, program, what)...)...)
					if n := passed(t, j.wait(0)); n != 4 {
						t.Errorf("%d of 4 PEs came to their end:\n%s", n, j.output())
					}
				})
			}
		}
	}
}

// limited ends a job that waits for ever.
var limited = []string{"--timeout", "60"}

// TestEndsOnGPU has PEs that end without shmem_finalize, whose heaps are in GPU memory: what they
// have sent arrives, before the driver ends. On a node the fake GPU copies only when it is asked, so
// that no copy is done by luck.
func TestEndsOnGPU(t *testing.T) {
	shmemrun, program := compileEnds(t)
	for _, what := range []string{"barrier", "sum", "put", "large", "again"} {
		ends := func(name string, env, options []string) {
			t.Run(what+" "+name, func(t *testing.T) {
				t.Parallel()
				j := start(t, env, shmemrun, append(options, program, what)...)
				if n := passed(t, j.wait(0)); n != 2 {
					t.Errorf("%d of 2 PEs came to their end:\n%s", n, j.output())
				}
			})
		}
		ends("a node", append(onGPU(t), "FAKE_CUDA=works=0"), options("2", limited...))
		for _, r := range networks(t, list(limited, tcp, []string{"--hosts", "2", "--chaos", "1,delay=5ms"}), false) {
			if what == "again" && r.network != nil {
				continue // libfabric looks for the GPU's libraries once in a process
			}
			ends("hosts"+r.name, list(r.onGPU(t), r.env), options("2", r.options...))
		}
	}
}

// TestEndsOnRing has a PE that passes an operation to a proxy through a ring, as kernels do, and
// ends.
func TestEndsOnRing(t *testing.T) {
	shmemrun, program := compileEnds(t)
	for _, r := range networks(t, list(tcp, []string{"--hosts", "2", "--chaos", "1,delay=5ms"}, limited, []string{"-x", "SHMEM_PROXY_THREADS=2"}), false) {
		j := start(t, r.env, shmemrun, options("2", append(r.options, program, "ring")...)...)
		if n := passed(t, j.wait(0)); n != 2 {
			t.Errorf("%d of 2 PEs came to their end:\n%s", n, j.output())
		}
	}
}

// TestEndsInHandler has PEs that end by exit(0) in the handler of a signal, which interrupts calls
// of the library that hold its lock: the job ends all the same.
func TestEndsInHandler(t *testing.T) {
	shmemrun, program := compileEnds(t)
	for _, r := range networks(t, list(tcp, []string{"--hosts", "4"}), false) {
		start(t, r.env, shmemrun, options("4", append(r.options, program, "handler")...)...).wait(0)
	}
}

package examples

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"libshmem/fabric/ofi/stub"
	"libshmem/tests/need"
)

// experts returns ways to run examples/deepep/host.c on a network that delays and reorders: over
// tcp, and over the stub's NICs of EFA, which keep no order of their own.
func experts(t *testing.T) map[string][]string {
	efa := stub.Networks(false)[0]
	if efa.Provider != "efa" {
		t.Fatalf("the stub's newest network is of %s", efa.Provider)
	}
	return map[string][]string{
		"tcp": {"SHMEM_PROVIDER=tcp", "SHMEM_SYMMETRIC_SIZE=1g"},
		"efa": append(efa.Env(filepath.Join(build, "stub", "libfabric.so.1")), "SHMEM_SYMMETRIC_SIZE=1g"),
	}
}

// TestExperts sends tokens to experts and results back. The receivers trust a count: a message that
// has not arrived by then is a violation, which the program counts.
func TestExperts(t *testing.T) {
	host := example(t, "deepep", "deepep", "-pthread")
	const most = 100_000 // messages of a run
	messages := need.Load("experts")
	each := strconv.Itoa(min(messages, most))
	passed := func(t *testing.T, r result, pes int) {
		t.Helper()
		if r.status != 0 || strings.Count(r.stdout, " 0 had not come when the count said so: passed\n") != pes {
			t.Error(r)
		}
	}
	t.Run("node", func(t *testing.T) { passed(t, shmemrun(t, nil, "-n", "2", host, "5000", "8"), 2) })
	t.Run("four", func(t *testing.T) {
		passed(t, shmemrun(t, []string{"SHMEM_PROVIDER=tcp"}, "-n", "4", "--hosts", "2", host, "5000", "64"), 4)
	})
	for name, settings := range experts(t) {
		t.Run(name, func(t *testing.T) {
			for seed := 1; (seed-1)*most < messages; seed++ {
				number := []string{"8", "64"}[seed%2]
				passed(t, shmemrun(t, settings, "-n", "2", "--chaos", strconv.Itoa(seed)+",delay=1ms", host, each, number), 2)
			}
		})
	}
}

// TestExpertsUnordered omits the ordering: if no run fails without it, TestExperts proves nothing.
func TestExpertsUnordered(t *testing.T) {
	host := example(t, "deepep", "deepep", "-pthread")
	for name, settings := range experts(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range 6 {
				r := shmemrun(t, settings, "-n", "2", "--chaos", strconv.Itoa(seed)+",delay=2ms", host, "10000", "64", "unordered")
				if r.status != 0 && strings.Contains(r.stdout, "had not come when the count said so: failed") {
					return
				}
				if r.status != 0 {
					t.Fatalf("seed %d failed for another reason: %v", seed, r)
				}
			}
			t.Error("no network of six lost the order")
		})
	}
}

// TestExpertsRefuse passes inconsistent numbers.
func TestExpertsRefuse(t *testing.T) {
	host := example(t, "deepep", "deepep", "-pthread")
	for _, args := range [][]string{{"100", "6"}, {"100", "1"}, {"0", "8"}, {"100", "512"}} {
		r := shmemrun(t, nil, append([]string{"-n", "2", host}, args...)...)
		if r.status != 2 || !strings.Contains(r.stderr, "experts are a power of 2, up to 256, and the PEs have as many each") {
			t.Errorf("%v: %v", args, r)
		}
	}
}

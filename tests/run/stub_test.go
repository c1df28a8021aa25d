package run

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// networkOf is 4 PEs on two hosts, and between them NICs that this machine does not have
// (fabric/ofi/stub).
func networkOf(name, settings string, env ...string) configuration {
	c := configuration{name: name, args: on("4", "--hosts", "2"), stub: settings}
	for _, e := range env {
		c.args = append(c.args, "-x", e)
	}
	return c
}

// direct is the newest fabric of efa; the others are for -whole.
const direct = "efa-direct-2.6"

var stubbed = []configuration{
	networkOf(direct, "provider=efa version=2.6", "SHMEM_PROVIDER=efa", "SHMEM_FABRIC=efa-direct"),
	networkOf("efa-direct-2.6-nics", "provider=efa version=2.6 nics=4", "SHMEM_PROVIDER=efa", "SHMEM_NIC_POLICY=split"),
	networkOf("efa-direct-2.4", "provider=efa version=2.4", "SHMEM_PROVIDER=efa", "SHMEM_FABRIC=efa-direct"),
	networkOf("efa-direct-2.3", "provider=efa version=2.3", "SHMEM_PROVIDER=efa", "SHMEM_FABRIC=efa-direct"),
	networkOf("efa-direct-2.1", "provider=efa version=2.1", "SHMEM_PROVIDER=efa", "SHMEM_FABRIC=efa-direct"),
	networkOf("efa-2.6", "provider=efa version=2.6", "SHMEM_PROVIDER=efa", "SHMEM_FABRIC=efa"),
	networkOf("efa-2.1", "provider=efa version=2.1", "SHMEM_PROVIDER=efa", "SHMEM_FABRIC=efa"),
	networkOf("efa-1.22", "provider=efa version=1.22", "SHMEM_PROVIDER=efa"),
	networkOf("cxi-2.3", "provider=cxi version=2.3", "SHMEM_PROVIDER=cxi"),
	networkOf("cxi-1.22", "provider=cxi version=1.22", "SHMEM_PROVIDER=cxi"),
	networkOf("verbs", "provider=verbs", "SHMEM_PROVIDER=verbs"),
}

// overNetwork reports whether a program runs between two hosts over tcp, with 4 PEs.
func overNetwork(p program) bool { return len(p.only) == 0 || slices.Contains(p.only, "hosts-4") }

// TestStubNICs runs what runs between hosts over tcp on NICs of other kinds: with -whole all of it
// on each; else what the configuration gpu-nic-4 leaves out, on the newest of EFA's.
func TestStubNICs(t *testing.T) {
	build := need.Build(t)
	sources, err := filepath.Glob(filepath.Join("..", "c", "*.c"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("list tests/c: %d programs, error %v", len(sources), err)
	}
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".c")
		p := programs[name]
		if !overNetwork(p) || !*runWhole && !p.hostOnly && (len(p.only) == 0 || slices.Contains(p.only, "gpu-nic-4")) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, c := range stubbed {
				if *runWhole || c.name == direct {
					t.Run(c.name, func(t *testing.T) { runProgram(t, build, name, p, c) })
				}
			}
		})
	}
}

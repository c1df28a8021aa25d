package job

import (
	"errors"
	"slices"
	"testing"

	"libshmem/fabric"
	"libshmem/runtime/config"
	"libshmem/runtime/shmerr"
)

// TestRequireKnowsItsWords: the setting accepts the names that are checked, and no others.
func TestRequireKnowsItsWords(t *testing.T) {
	var known []string
	for _, p := range fabric.Properties {
		known = append(known, p.Name)
	}
	for _, d := range demands {
		known = append(known, d.name)
	}
	if s := config.Lookup("SHMEM_REQUIRE"); !slices.Equal(s.Choices, known) {
		t.Errorf("SHMEM_REQUIRE takes %v, and %v are looked for", s.Choices, known)
	}
}

func TestRequire(t *testing.T) {
	if err := require([]string{"rdma", "fence", "registration-cache"}, &facts{}); err != nil {
		t.Errorf("of a network that is not needed: %v", err)
	}
	for word, want := range map[string]string{
		"network":    `require "network" of SHMEM_REQUIRE: all PEs share memory (start the job on several hosts, or leave it out)`,
		"gpu-heap":   `require "gpu-heap" of SHMEM_REQUIRE: the heap is in main memory (set SHMEM_HEAP=device, and check with shmem-info whether there is a GPU)`,
		"gpu-direct": `require "gpu-direct" of SHMEM_REQUIRE: NICs do not reach a heap in GPU memory (SHMEM_LOG_LEVEL=info says why; SHMEM_GPU_NET selects a path)`,
	} {
		if err := require([]string{"rdma", word}, &facts{}); err == nil || err.Error() != want || !errors.Is(err, shmerr.ErrUnsupported) {
			t.Errorf("%s: %v", word, err)
		}
	}
	if err := require([]string{"registration-cache"}, &facts{network: true}); err == nil {
		t.Error("a cache that is off is taken for one")
	}
}

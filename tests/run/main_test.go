package run

import (
	"fmt"
	"os"
	"testing"

	"libshmem/fabric/ofi/stub"
	"libshmem/runtime/gpu/cuda/cudatest"
)

// TestMain keeps the driver and the NIC that are played: dozens of jobs take them, and
// to compile them takes as long as such a job.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "played")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cudatest.Keep(dir)
	stub.Keep(dir)
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

package run

import (
	"fmt"
	"os"
	"testing"

	"libshmem/fabric/ofi/stub"
	"libshmem/runtime/gpu/cuda/cudatest"
)

// TestMain keeps the fake driver and NIC: dozens of jobs use them, and compiling them takes as long
// as such a job.
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

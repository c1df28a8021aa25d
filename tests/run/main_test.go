package run

import (
	"os"
	"testing"

	"libshmem/tests/need"
)

// TestMain compiles the fake driver and the fake NIC once: dozens of jobs use them, and compiling
// them takes as long as such a job.
func TestMain(m *testing.M) { os.Exit(need.Keep(m)) }

package run

import (
	"os"
	"testing"

	"libshmem/tests/need"
)

// TestMain keeps the driver and the NIC that are played: dozens of jobs take them, and
// to compile them takes as long as such a job.
func TestMain(m *testing.M) { os.Exit(need.Keep(m)) }

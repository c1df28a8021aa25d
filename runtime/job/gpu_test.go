package job

import (
	"testing"

	"libshmem/runtime/config"
	"libshmem/runtime/job/meet"
)

// TestNoDriverWatch: a PE without a GPU has no driver to watch.
func TestNoDriverWatch(t *testing.T) {
	j := &Job{Self: meet.Self{Settings: &config.Config{}}}
	j.watchDriver(func() uint32 { return 0 }) // without a GPU
	if j.driverWatch.Running() {
		t.Error("a goroutine looks at the driver of a PE without a GPU")
	}
}

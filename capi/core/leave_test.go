package core

import (
	"testing"

	"libshmem/runtime/guard"
)

// TestFailureWhileLeaving holds that a queue that cannot be read does not make an exit with status 0
// end with an internal error: the process only stops waiting for its messages.
func TestFailureWhileLeaving(t *testing.T) {
	var caught []*guard.Panic
	guard.End(func(p *guard.Panic) { caught = append(caught, p) })
	leaving.Store(true)
	defer func() {
		leaving.Store(false)
		broken.Store(false)
	}()
	shmemgoComplete(nil, -5)
	if len(caught) != 0 || !broken.Load() {
		t.Errorf("caught %v, broken %v", caught, broken.Load())
	}
}

package loop

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"libshmem/tests/need"
)

// TestBind checks that the thread of the loop is bound, even if the loop changes threads.
func TestBind(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	need.Processors(t, allowed.Count(), 2)
	first := 0
	for !allowed.IsSet(first) {
		first++
	}
	var l Loop
	l.Bind([]int{first})
	for range 2 {
		done := make(chan unix.CPUSet)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with its binding
			for range 2 * checkEvery {
				l.binding.rebind()
			}
			var now unix.CPUSet
			if err := unix.SchedGetaffinity(0, &now); err != nil {
				t.Error(err)
			}
			done <- now
		}()
		if now := <-done; now.Count() != 1 || !now.IsSet(first) {
			t.Errorf("the thread may use %d processors", now.Count())
		}
	}
}

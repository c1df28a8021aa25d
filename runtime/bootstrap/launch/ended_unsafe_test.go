package launch

import (
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The status of an ended child is the same before and after it is reaped.
func TestEnded(t *testing.T) {
	if unsafe.Sizeof(childInfo{}) != unsafe.Sizeof(unix.Siginfo{}) {
		t.Fatalf("%d bytes, want %d", unsafe.Sizeof(childInfo{}), unsafe.Sizeof(unix.Siginfo{}))
	}
	for _, script := range []string{"exit 0", "exit 7", "exit 255", "kill -9 $$", "ulimit -c 0; kill -ABRT $$", "ulimit -c unlimited; kill -SEGV $$"} {
		pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		got, before, err := findEnded(unix.P_PID, pid, 0)
		if err != nil || got != pid {
			t.Errorf("%s: process %d, want %d: %v", script, got, pid, err)
		}
		var then unix.WaitStatus
		if _, err := unix.Wait4(pid, &then, 0, nil); err != nil || before != then {
			t.Errorf("%s: status %#x, want %#x: %v", script, before, then, err)
		}
		if _, _, err := findEnded(unix.P_PID, pid, unix.WNOHANG); err != unix.ECHILD {
			t.Errorf("%s: looked at again: %v", script, err)
		}
	}
	pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "300"}, &syscall.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := findEnded(unix.P_PID, pid, unix.WNOHANG); got != 0 || err != nil {
		t.Errorf("one that runs: process %d, %v", got, err)
	}
	_ = unix.Kill(pid, unix.SIGKILL)
	_, _ = unix.Wait4(pid, nil, 0, nil)
}

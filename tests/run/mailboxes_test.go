package run

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestMailboxes runs the messages of tests/c/sendrecv.c through mailboxes as small as in jobs of
// thousands of PEs, down to a line: nearly all messages are long ones, and senders wait for room.
func TestMailboxes(t *testing.T) {
	build := need.Build(t)
	for _, c := range []struct{ name, memory, args string }{
		{"a line", "64", "-n 2"},
		{"two lines", "256", "-n 2 --hosts 2 -x SHMEM_PROVIDER=tcp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append(strings.Fields(c.args), "--timeout", "100", "-x", "SHMEM_MESSAGE_MEMORY="+c.memory,
				filepath.Join(build, "tests", "sendrecv"), "200", "small")
			out, err := exec.Command(filepath.Join(build, "bin", "shmemrun"), args...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), " passed, 0 failed") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

package failure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"libshmem/tests/need"
)

// TestFirstContact makes PE 0 write to a stopped PE that it has never communicated with, so that no
// processor of that PE answers. If the PE continues the bytes arrive; if it is killed PE 0 gets an
// error, and continues with the others.
func TestFirstContact(t *testing.T) {
	shmemrun, program := compile(t, "contact")
	for _, r := range networks(t, list(tcp, []string{"--hosts", "8"}), true) {
		for _, c := range []struct {
			name           string
			signal         syscall.Signal
			status, passed int
			says           string
		}{
			{"goes on", syscall.SIGCONT, 0, 8, "PE 0 has reached PE 5"},
			{"is killed", syscall.SIGKILL, 128 + 9, 7, "PE 0 has lost PE 5"},
		} {
			t.Run(c.name+r.name, func(t *testing.T) {
				dir := t.TempDir()
				stop, put := filepath.Join(dir, "stop"), filepath.Join(dir, "put")
				j := start(t, list(goOn, r.env), shmemrun, list(options("8", r.options...), []string{program, "5", stop, put})...)
				pid, first := 0, 0
				for pe := range 8 {
					n, err := strconv.Atoi(j.says(fmt.Sprintf(`PE %d is process (\d+)`, pe))[1])
					if err != nil {
						t.Fatal(err)
					}
					switch pe {
					case 0:
						first = n
					case 5:
						pid = n
					}
				}
				touch(t, stop)
				stops(t, pid)
				touch(t, put)
				j.says("PE 0 puts")
				need.Eventually(t, "PE 0 waits for its puts", func() bool { return need.Asleep(first, first) })
				if err := syscall.Kill(pid, c.signal); err != nil {
					t.Fatal(err)
				}
				out := j.wait(c.status)
				if n := passed(t, out); n != c.passed || !strings.Contains(out, c.says) {
					t.Errorf("%d of %d PEs came to the end, and %q:\n%s", n, c.passed, c.says, out)
				}
			})
		}
	}
}

func touch(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
}

// stops waits for a process to be stopped.
func stops(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(limit / 2); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil {
			t.Fatal(err)
		}
		if _, after, ok := strings.Cut(string(b), ") "); ok && strings.HasPrefix(after, "T") {
			return
		}
	}
	t.Fatalf("process %d does not stop", pid)
}

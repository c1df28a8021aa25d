package failure

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestStranger acts as a process of the same user that tries to get the symmetric heap of a
// starting job: it connects to the job's sockets and sends nothing, garbage, too much, too little,
// and copies of what it received. The job starts, and one line names the process.
func TestStranger(t *testing.T) {
	shmemrun, program := compile(t, "stand")
	file := filepath.Join(t.TempDir(), "go")
	// PE 0 waits for the others with its socket open, until the file exists.
	j := start(t, nil, shmemrun, "-n", "3", "sh", "-c",
		`[ $SHMEM_LAUNCHER_PE = 2 ] && while ! [ -e "$1" ]; do sleep 0.02; done; exec "$0" nothing -1 "$1"`, program, file)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(j.output())
		}
	})
	pids := descendants(t, j.cmd.Process.Pid, filepath.Base(program), 2)
	name := socketOf(t, pids)
	var conns []int
	defer func() {
		for _, fd := range conns {
			_ = unix.Close(fd)
		}
	}()
	for _, text := range [][]byte{nil, []byte("let me in"), make([]byte, 48), make([]byte, 64<<10), make([]byte, 1)} {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, fd)
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: "@" + name}); err != nil {
			if err == unix.EAGAIN { // the queue has one place for each PE
				break
			}
			t.Fatal(err)
		}
		if text != nil {
			if err := unix.Sendmsg(fd, text, unix.UnixRights(0), nil, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(conns) < 3 {
		t.Fatalf("only %d strangers came", len(conns))
	}
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	out := j.wait(0)
	if n := passed(t, out); n != 3 {
		t.Errorf("%d of 3 PEs came to the end:\n%s", n, out)
	}
	want := fmt.Sprintf("turned away process %d of user %d: ", os.Getpid(), os.Geteuid())
	if n := strings.Count(out, want); n != 1 {
		t.Errorf("%d lines with %q, want one:\n%s", n, want, out)
	}
}

// socketOf finds the abstract name of a socket at which the first of some PEs listens.
func socketOf(t *testing.T, pids []int) string {
	t.Helper()
	re := regexp.MustCompile(`(?m) 00010000 0005 01 +(\d+) @(shmem-\S+)$`)
	for end := time.Now().Add(limit / 2); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, pid := range pids {
			if !isFirst(pid) {
				continue
			}
			fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
			for _, m := range re.FindAllStringSubmatch(sockets(t, pid), -1) {
				for _, fd := range fds {
					if to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name())); to == "socket:["+m[1]+"]" {
						return m[2]
					}
				}
			}
		}
	}
	for _, pid := range pids {
		fds, _ := exec.Command("ls", "-l", fmt.Sprintf("/proc/%d/fd", pid)).CombinedOutput()
		t.Logf("process %d, the first PE: %v\n%s%s", pid, isFirst(pid), fds, sockets(t, pid))
	}
	t.Fatal("the first PE listens at no socket")
	return ""
}

func isFirst(pid int) bool {
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return strings.Contains(string(env), "\x00SHMEM_LAUNCHER_PE=0\x00")
}

// sockets returns the table of the namespace that a process is in. /proc/net would show the
// namespace of this process's first thread.
func sockets(t *testing.T, pid int) string {
	t.Helper()
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/unix", pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(table)
}

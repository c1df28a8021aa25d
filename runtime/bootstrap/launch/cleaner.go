package launch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/runtime/bootstrap/launch/hostnet"
)

// CleanUp is the first argument of a shmemrun that runs as the cleaner of another; the second one
// is the process id of that other.
const CleanUp = "--clean-up-after"

// A cleaner is a process that removes what a job has left in file systems, even if shmemrun and the
// PEs are killed: names of network namespaces, and the files of libfabric's provider shm. The
// cleaner of an agent, a shmemrun that starts the PEs of another host for the first one, also ends
// the processes that the PEs have started: no other process on that host would. Its standard input
// is a pipe from its shmemrun, with the process ids of PEs, from an agent also the ids of their
// process groups as negative numbers, and, unless that shmemrun is killed, the word over. It acts
// when that pipe ends.
type cleaner struct {
	pid int
	to  *os.File // nil once it is closed
}

// over is the last line that shmemrun writes to the cleaner. If its input ends without that line,
// the cleaner kills the PEs.
const over = "over"

// sharedFiles is the folder of the files of provider shm, named PROCESS:USER:NUMBER.
const sharedFiles = "/dev/shm"

// needsCleaner reports whether a job leaves files or namespaces behind when it is killed. An agent
// has a cleaner in any case.
func (o *Options) needsCleaner() bool {
	for _, name := range []string{"SHMEM_PROVIDER", "NVSHMEM_LIBFABRIC_PROVIDER"} {
		if strings.Contains(lookup(o.Env, name), "shm") {
			return true
		}
	}
	return o.Netns
}

// startCleaner starts the cleaner of this process.
func startCleaner(null *os.File) (*cleaner, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the cleaner: %w", err)
	}
	defer read.Close()
	// The cleaner has a session of its own, so that a kill of shmemrun's process group spares it. It
	// does not inherit the job's standard error: the reader of that would wait until the cleaner
	// ends.
	pid, err := syscall.ForkExec("/proc/self/exe", []string{os.Args[0], CleanUp, strconv.Itoa(os.Getpid())}, &syscall.ProcAttr{
		Files: []uintptr{read.Fd(), null.Fd(), null.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		write.Close()
		return nil, fmt.Errorf("start the cleaner: %w", err)
	}
	return &cleaner{pid: pid, to: write}, nil
}

// note tells the cleaner the process id of a PE, whose files the cleaner removes.
func (c *cleaner) note(pid int) {
	if c != nil && c.to != nil && pid > 0 {
		// The pipe may be full or closed: the write is best effort, and errors have no use.
		_, _ = fmt.Fprintln(c.to, pid)
	}
}

// noteGroup tells the cleaner the process group of a PE, which the cleaner kills if shmemrun is
// killed.
func (c *cleaner) noteGroup(pid int) {
	if c != nil && c.to != nil {
		_, _ = fmt.Fprintln(c.to, -pid) // best effort, like note
	}
}

// close lets the cleaner, a process that outlives a killed shmemrun, begin its work: it removes
// what the job has left behind, and ends. On a nil c it does nothing.
func (c *cleaner) close() {
	if c != nil && c.to != nil {
		_, _ = fmt.Fprintln(c.to, over)
		c.to.Close()
		c.to = nil
	}
}

// How long the processes of a job may outlive their shmemrun before the cleaner leaves their files
// alone, and how often it checks.
const (
	cleanerTimeout = 10 * time.Second
	cleanerPause   = 10 * time.Millisecond
)

// Clean is the main function of a cleaner: it reads the process ids from in, and text is the id of
// the shmemrun that started it.
func Clean(in io.Reader, text string) error {
	signal.Ignore(ending...)
	launcher, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%s %s: not the number of a process (shmemrun starts its cleaner itself)", CleanUp, text)
	}
	killed := true
	var pids []int
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if pid, err := strconv.Atoi(lines.Text()); err == nil {
			pids = append(pids, pid)
		}
		killed = lines.Text() != over
	}
	err = hostnet.Remove(launcher)
	end := time.Now().Add(cleanerTimeout)
	for _, pid := range pids {
		// The kernel has killed the processes that shmemrun had started itself (parent-death
		// signal), but not those that they have started.
		if killed {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		for (pid > 0 || killed) && !gone(pid) && time.Now().Before(end) {
			time.Sleep(cleanerPause)
		}
		if pid > 0 && gone(pid) {
			err = errors.Join(err, removeShared(pid))
		}
	}
	return err
}

// gone reports whether there is no process with this id or, if pid is negative, no process group.
func gone(pid int) bool { return unix.Kill(pid, 0) == unix.ESRCH }

// removeShared removes the files that libfabric's provider shm has made for a process.
func removeShared(pid int) error {
	names, err := filepath.Glob(filepath.Join(sharedFiles, fmt.Sprintf("%d:%d:*", pid, os.Getuid())))
	for _, name := range names {
		if e := os.Remove(name); !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

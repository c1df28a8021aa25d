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

// CleanUp is the first argument of shmemrun as a cleaner; the second one is the process number of
// the shmemrun that has started it.
const CleanUp = "--clean-up-after"

// A cleaner is a process that removes what a job has in file systems, also where shmemrun and the
// PEs are killed: names of network namespaces, and the files of libfabric's provider shm. That of an
// agent also ends what the PEs have started: nobody else on that host would. Its standard input is a
// pipe from shmemrun, with the process numbers of PEs, those of their process groups as negative
// numbers, and over where shmemrun is not killed; it acts at the end of that.
type cleaner struct {
	pid int
	to  *os.File // nil once it is closed
}

const over = "over"

// sharedFiles is the folder of the files of provider shm, named PROCESS:USER:NUMBER.
const sharedFiles = "/dev/shm"

// needsCleaner reports whether a job leaves something behind when it is killed.
func (o *Options) needsCleaner() bool {
	for _, name := range []string{"SHMEM_PROVIDER", "NVSHMEM_LIBFABRIC_PROVIDER"} {
		if strings.Contains(lookup(o.Env, name), "shm") {
			return true
		}
	}
	return o.Netns
}

func startCleaner(null *os.File) (*cleaner, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start the cleaner: %w", err)
	}
	defer read.Close()
	// A session of its own: a kill of shmemrun's process group leaves it alone. The job's standard
	// error would have to wait for it.
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

// note reports a process with the library to the cleaner.
func (c *cleaner) note(pid int) {
	if c != nil && c.to != nil && pid > 0 {
		// The pipe may be full or closed: the write is best effort, and errors have no use.
		_, _ = fmt.Fprintln(c.to, pid)
	}
}

// noteGroup tells the cleaner of a PE's process group.
func (c *cleaner) noteGroup(pid int) {
	if c != nil && c.to != nil {
		_, _ = fmt.Fprintln(c.to, -pid) // as above
	}
}

// close lets the cleaner begin. It then ends.
func (c *cleaner) close() {
	if c != nil && c.to != nil {
		_, _ = fmt.Fprintln(c.to, over)
		c.to.Close()
		c.to = nil
	}
}

// How long the processes of a job may outlive their shmemrun before the cleaner leaves their files
// alone, and how often it looks.
const (
	cleanerPatience = 10 * time.Second
	cleanerPause    = 10 * time.Millisecond
)

// Clean is the cleaner's process: in has the process numbers, and shmemrun's own is text.
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
	end := time.Now().Add(cleanerPatience)
	for _, pid := range pids {
		if killed { // The kernel has done this with the processes that shmemrun had started itself.
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

func gone(pid int) bool { return unix.Kill(pid, 0) == unix.ESRCH }

func removeShared(pid int) error {
	names, err := filepath.Glob(filepath.Join(sharedFiles, fmt.Sprintf("%d:%d:*", pid, os.Getuid())))
	for _, name := range names {
		if e := os.Remove(name); !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

package meet

// The processes of other PEs on the same machine, and whether they live. The functions read /proc
// and keep no state. Any goroutine may call them.

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Process describes a PE's process so that others of its machine can find it. The zero value is a
// process that this PE cannot see.
type Process struct {
	ID    int
	Start uint64 // start time in ticks since the boot, because process numbers are used again
	Space string // the namespace of process numbers
}

// OwnProcess returns this process.
func OwnProcess() Process { return ProcessOf(os.Getpid()) }

// ProcessOf returns the process with a process ID, as this process sees it.
func ProcessOf(id int) Process {
	p := Process{ID: id}
	_, p.Start, _ = processStat(p.ID)
	p.Space, _ = os.Readlink("/proc/self/ns/pid")
	return p
}

// Visible reports whether this PE can see the process, dead or alive.
func (p *Process) Visible() bool { return p.ID > 0 && p.Start > 0 && p.Space != "" }

// Open returns a descriptor that becomes readable when the process ends; -1 if it has ended.
func (p *Process) Open() (int, error) {
	fd, err := unix.PidfdOpen(p.ID, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return -1, nil
	case err != nil:
		return -1, err
	}
	if state, start, ok := processStat(p.ID); !ok || start != p.Start || state == 'Z' {
		return -1, unix.Close(fd) // it has ended, and another process may have its ID now
	}
	return fd, nil
}

// Condition reports whether the process has ended, and whether a signal or a debugger has stopped
// it. The process must be visible in this PID namespace. Another process with its number but
// another start time does not count.
func (p *Process) Condition() (gone, stopped bool) {
	state, start, ok := processStat(p.ID)
	if !ok || start != p.Start || state == 'Z' || state == 'X' {
		return true, false
	}
	return false, state == 'T' || state == 't'
}

// processStat reads the state and the start time of a process.
func processStat(id int) (state byte, start uint64, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
	if err != nil {
		return 0, 0, false
	}
	// "id (name) state ...": the name may contain anything, so count from its end.
	_, rest, ok := strings.Cut(string(b[max(strings.LastIndexByte(string(b), ')'), 0):]), " ")
	const startField = 22 - 3 // of proc_pid_stat(5), from the state on
	if f := strings.Fields(rest); ok && len(f) > startField {
		start, err := strconv.ParseUint(f[startField], 10, 64)
		return f[0][0], start, err == nil
	}
	return 0, 0, false
}

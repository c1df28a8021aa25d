package launch

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap/launch/relay"
	"libshmem/runtime/bootstrap/wire"
	"libshmem/runtime/topo"
)

// process is one PE of a job, for the shmemrun or the agent that runs it.
type process struct {
	pe  libshmem.PE
	pid int // also its process group; 0: an agent has started the PE

	link *link // to that agent; nil: the PE is a child of this process

	conn     *os.File // shmemrun's end of the PE's socket
	stdout   *os.File // read ends of its output
	stderr   *os.File
	errs     *outputPipe // its stderr, passed on by shmemrun
	hungUp   bool        // the PE has closed its socket
	exited   bool
	leaving  bool // it asked for the end of the job, or failed to join it: it gets time to end by itself
	aborting bool // its abort is handled after the ends of other PEs, one of which may be the cause
	decided  bool // decide has settled what its end means for the job
	otherJob bool // it has joined a job by other means, which continues without it
	named    bool // it has been reported that others may wait for it in vain
	lost     bool // its host is lost, which has been reported
	probed   bool // the agents have been pinged about PEs that ended before its abort
	waitStat unix.WaitStatus
}

// outcomeOf returns how a PE has ended, from its wait status; inside: between init and finalize.
func outcomeOf(ws unix.WaitStatus, inside bool) wire.Outcome {
	if ws.Signaled() {
		return wire.Outcome{How: wire.Killed, Code: int(ws.Signal()), Core: ws.CoreDump(), Init: inside}
	}
	return wire.Outcome{How: wire.Exited, Code: ws.ExitStatus(), Init: inside}
}

// signal sends to the PE's whole process group, as a terminal would.
func (p *process) signal(sig unix.Signal) {
	if p.link != nil && !p.exited {
		p.link.signal(p.pe, sig)
	}
	if p.pid > 0 && !p.exited {
		// ESRCH: the reaper has reaped it, and the loop has not handled its exit yet.
		_ = unix.Kill(-p.pid, sig)
	}
}

// unread reports whether the PE's socket has something to read, or the end of the
// stream. On a busy machine its reader may be late.
func (p *process) unread() bool {
	ready := 0
	raw, err := p.conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			ready, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		})
	}
	return err == nil && ready > 0
}

// hangUp ends the stream to the PE, by which the PE learns that the job ends. shmemrun still reads
// the PE's frames.
func (p *process) hangUp() {
	if p.link != nil {
		p.link.out.send(relay.Frame{Kind: relay.HangUp, PE: p.pe})
		return
	}
	if raw, err := p.conn.SyscallConn(); err == nil {
		// A PE that is gone has closed the socket, and needs no notice.
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
}

// How many files shmemrun has open for each PE while the job runs (a socket and two pipes), and for
// itself.
const (
	filesPerPE = 3
	filesOwn   = 64
)

// checkFiles returns an error if shmemrun may not open enough files for `pes` PEs; otherwise the
// start would fail midway. The Go runtime has raised the soft limit to the hard one, and gives the
// PEs the old one.
func checkFiles(pes int) error {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("read limit of open files: %w", err)
	}
	if need := uint64(pes*filesPerPE + filesOwn); lim.Cur < need {
		return fmt.Errorf("start %d PEs: shmemrun needs %d open files and may have %d (raise it with ulimit -Hn, or start fewer PEs)", pes, need, lim.Cur)
	}
	return nil
}

// starter starts PEs from one locked thread. They inherit its network namespace and
// processors, and the kernel kills them when it ends.
type starter struct {
	opt     *Options
	path    string
	env     environ
	enter   func(host int) error // moves the thread into a host's network namespace; nil: there is none
	null    *os.File
	cpus    []topo.Set     // the processors of each PE; nil: PEs are not bound
	onStart func(*process) // called with each PE that has been started
}

// run starts all PEs, sends the result to started, and then keeps the thread until
// over is closed.
func (s *starter) run(stdin *os.File, started chan<- error, over <-chan struct{}) {
	// Never unlocked: the thread may be in another network namespace and on
	// fewer processors, so it ends with this goroutine.
	runtime.LockOSThread()
	started <- s.startAll(stdin)
	<-over
}

// startAll starts the PEs of this process; PE 0 gets the standard input.
func (s *starter) startAll(stdin *os.File) error {
	for i := range s.opt.PEs {
		in := s.null
		if s.opt.number(i) == 0 {
			in = stdin
		}
		p, err := s.start(i, in)
		if err != nil {
			return err
		}
		s.onStart(p)
	}
	return nil
}

// start starts the i-th PE of those that this process starts.
func (s *starter) start(i int, stdin *os.File) (_ *process, err error) {
	pe, host := s.opt.number(i), -1
	if s.opt.hostOf != nil {
		host = s.opt.hostOf[i]
	}
	if s.enter != nil {
		if err := s.enter(host); err != nil {
			return nil, err
		}
	}
	if s.cpus != nil {
		if err := bind(s.cpus[i]); err != nil {
			return nil, fmt.Errorf("bind PE %d: %w", pe, err)
		}
	}
	var ends fdPairs
	defer ends.closeTheirs()
	defer func() {
		if err != nil {
			ends.closeOurs()
		}
	}()
	conn, err := ends.add(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
	if err != nil {
		return nil, fmt.Errorf("start PE %d: socket: %w", pe, err)
	}
	out, err := ends.add(pipe())
	if err != nil {
		return nil, fmt.Errorf("start PE %d: pipe: %w", pe, err)
	}
	errs, err := ends.add(pipe())
	if err != nil {
		return nil, fmt.Errorf("start PE %d: pipe: %w", pe, err)
	}
	// The PE inherits the socket under the number that it has here, so that it does not take the
	// number of a descriptor that the user passes on. No other process can inherit it: until
	// closeTheirs, only this thread starts processes.
	if _, err := unix.FcntlInt(uintptr(conn[1]), unix.F_SETFD, 0); err != nil {
		return nil, fmt.Errorf("start PE %d: socket: %w", pe, err)
	}
	pid, err := syscall.ForkExec(s.path, append([]string{s.opt.Program}, s.opt.Args...), &syscall.ProcAttr{
		Env:   s.env.pe(i, pe, conn[1], host),
		Files: []uintptr{stdin.Fd(), uintptr(out[1]), uintptr(errs[1])},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return nil, startError(s.path, err)
	}
	p := &process{pe: pe, pid: pid}
	for _, f := range []struct {
		to   **os.File
		fd   int
		name string
	}{{&p.conn, conn[0], "socket"}, {&p.stdout, out[0], "stdout"}, {&p.stderr, errs[0], "stderr"}} {
		if err := unix.SetNonblock(f.fd, true); err != nil {
			_ = unix.Kill(-pid, unix.SIGKILL)
			return nil, fmt.Errorf("start PE %d: %s: %w", pe, f.name, err)
		}
		*f.to = os.NewFile(uintptr(f.fd), f.name+" of PE "+strconv.Itoa(int(pe)))
	}
	return p, nil
}

// fdPairs are the two ends of pipes and sockets: [0] is shmemrun's end and [1] the PE's.
type fdPairs [][2]int

// add adds a new pair to the list, unless err says that it could not be made. It returns its
// arguments.
func (f *fdPairs) add(pair [2]int, err error) ([2]int, error) {
	if err == nil {
		*f = append(*f, pair)
	}
	return pair, err
}

// closeTheirs closes the descriptors that are for the PE.
func (f *fdPairs) closeTheirs() {
	for _, p := range *f {
		unix.Close(p[1])
	}
}

// closeOurs closes the descriptors that this process has kept.
func (f *fdPairs) closeOurs() {
	for _, p := range *f {
		unix.Close(p[0])
	}
}

// pipe makes a pipe that a program does not inherit.
func pipe() (p [2]int, err error) {
	var fds [2]int
	err = unix.Pipe2(fds[:], unix.O_CLOEXEC)
	return fds, err
}

// reap waits for children, and for the processes that they left to shmemrun as the subreaper, until
// there are none. It reports the end of a child before it reaps it: while Linux removes the child's
// entries in /proc, wait4 does not return, and with a load of 20 that took up to two seconds.
func reap(exited func(pid int, ws unix.WaitStatus)) {
	for {
		pid, ws, err := findEnded(unix.P_ALL, 0, 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return
		default:
			exited(pid, ws)
			for _, err := unix.Wait4(pid, nil, 0, nil); errors.Is(err, unix.EINTR); {
				_, err = unix.Wait4(pid, nil, 0, nil)
			}
		}
	}
}

// children lists the processes whose parent is shmemrun.
func children() []int {
	var pids []int
	self := os.Getpid()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it ended meanwhile
		}
		// pid (name) state ppid: the name may contain anything, so count from its end.
		_, rest, ok := strings.Cut(string(stat[max(strings.LastIndexByte(string(stat), ')'), 0):]), " ")
		if fields := strings.Fields(rest); ok && len(fields) > 1 && fields[1] == strconv.Itoa(self) {
			pids = append(pids, pid)
		}
	}
	return pids
}

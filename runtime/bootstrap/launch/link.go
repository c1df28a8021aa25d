package launch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap/launch/relay"
	"libshmem/runtime/bootstrap/launch/ssh"
	"libshmem/runtime/bootstrap/wire"
)

// link is the connection to the agent on a host, and the process through which it goes: ssh or, on
// this host, the agent itself.
type link struct {
	host  string
	here  bool   // the agent is on this host, without ssh
	file  string // the agent's shmemrun, for reports
	pes   []libshmem.PE
	cmd   *exec.Cmd
	out   *outbox
	in    *bufio.Reader
	said  tail
	ended chan struct{} // closed when the process has ended
	over  chan struct{} // closed when the agent sends nothing more
	heard stamp         // when the last bytes arrived

	started chan error // the agent's reply to the job: nil, or why it started nothing
	remotes map[libshmem.PE]*remote
	input   *credit // for the standard input of PE 0

	// The fields below belong to the job's loop.
	failed bool // the agent has started nothing, and has said why
	gone   bool // the agent is lost, or has ended
}

// remote is a PE of an agent. The link writes what the agent passes on into a socket and two pipes,
// so that the rest of shmemrun reads them like those of a child.
type remote struct {
	*process
	up      *pump    // writes the PE's frames into the socket
	outputs [2]*pump // write its standard output and error into the pipes
}

// tail keeps the last bytes that a process has written to its standard error, up to maxTail.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is the most bytes that a tail keeps.
const maxTail = 8 << 10

// Write implements io.Writer: it keeps only the last maxTail bytes of all that has been written,
// for an error message.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if cut := len(t.text) - maxTail; cut > 0 {
		t.text = append(t.text[:0], t.text[cut:]...)
	}
	return len(b), nil
}

// String returns the last bytes that were written, at most maxTail.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// newLink starts the agent on a host, through ssh unless it is this host.
func newLink(o *Options, host string) (*link, error) {
	l := &link{host: host, here: ssh.Here(host), ended: make(chan struct{}), over: make(chan struct{}), started: make(chan error, 1),
		remotes: map[libshmem.PE]*remote{}, file: o.agentFile()}
	if l.here {
		l.cmd = exec.Command("/proc/self/exe", AsAgent)
		l.cmd.Args[0], l.cmd.Env = os.Args[0], o.Env
	} else {
		argv := ssh.Command(o.SSH, host, ssh.Start(l.file, AsAgent))
		l.cmd = exec.Command(argv[0], argv[1:]...)
	}
	// Signals of the terminal are for shmemrun, which ends the job in good order.
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	l.cmd.Stderr = &l.said
	l.cmd.WaitDelay = time.Second // a process that connects to a jump host may hold ssh's standard error
	in, err := l.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start agent on %s: %w", host, err)
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start agent on %s: %w", host, err)
	}
	defer to.Close()
	l.cmd.Stdout = to
	if err := l.cmd.Start(); err != nil {
		from.Close()
		return nil, fmt.Errorf("start agent on %s: %w", host, explainStart(err))
	}
	l.out = &outbox{to: in}
	l.in = bufio.NewReader(l.heard.reader(from))
	go func() {
		_ = l.cmd.Wait() // the status is in ProcessState
		close(l.ended)
	}()
	return l, nil
}

// explainStart adds the remedy to the error of an ssh that cannot be started.
func explainStart(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w (install openssh-client, or name another command with --ssh)", err)
	}
	return err
}

// greet waits for the agent's greeting, which says that it runs in the same version. It returns an
// error that says why none arrived: ssh failed, the versions differ, or a login shell prints too
// much.
func (l *link) greet() error {
	noise, err := relay.ReadGreeting(l.in)
	var other *relay.VersionError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &other):
		l.kill()
		return fmt.Errorf("start agent on %s: %w, of %s (install the same version on both, or copy this one with --sync)", l.host, err, l.file)
	case !errors.Is(err, io.EOF):
		l.kill()
		return fmt.Errorf("start agent on %s: %w (the login shell there writes too much: see ssh %s true)", l.host, err, l.host)
	}
	<-l.ended
	if l.here {
		return fmt.Errorf("start agent on %s: it ended with status %d: %s (check whether shmemrun --version works)", l.host, l.cmd.ProcessState.ExitCode(), strings.TrimSpace(l.said.String()))
	}
	return ssh.Explain(l.host, l.file, noise+l.said.String(), l.cmd.ProcessState.ExitCode())
}

// kill kills the local process of the link: ssh, or an agent on this host. An agent that ssh has
// started ends when its input does.
func (l *link) kill() {
	select {
	case <-l.ended:
	default:
		_ = unix.Kill(-l.cmd.Process.Pid, unix.SIGKILL)
	}
}

// signal tells the agent to send a signal to a PE, or to all of its PEs.
func (l *link) signal(pe libshmem.PE, sig unix.Signal) {
	l.out.send(relay.Frame{Kind: relay.Signal, PE: pe, Payload: relay.Number(uint32(sig))})
}

// add makes the socket and pipes for a PE that the agent is to start. The job reads them like those
// of its own PEs; the link writes to them what the agent sends (remote).
func (l *link) add(pe libshmem.PE) (*process, error) {
	p := &process{pe: pe, link: l}
	r := &remote{process: p}
	var ends fdPairs
	conn, err := ends.add(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0))
	var pipes [2][2]int
	for i := range pipes {
		if err == nil {
			pipes[i], err = ends.add(pipe())
		}
		for _, fd := range pipes[i] {
			if err == nil {
				err = unix.SetNonblock(fd, true)
			}
		}
	}
	if err != nil {
		ends.closeOurs()
		ends.closeTheirs()
		return nil, fmt.Errorf("start PE %d on %s: %w", pe, l.host, err)
	}
	file := func(fd int, name string) *os.File {
		return os.NewFile(uintptr(fd), fmt.Sprintf("%s of PE %d", name, pe))
	}
	p.conn, p.stdout, p.stderr = file(conn[0], "socket"), file(pipes[0][0], "stdout"), file(pipes[1][0], "stderr")
	r.up = &pump{to: file(conn[1], "socket"), wrote: func(int) {}, gone: func() {}}
	for i, kind := range []relay.Kind{relay.CreditOut, relay.CreditErr} {
		// A credit of 0 says that the output has no reader any more.
		sendCredit := func(n int) { l.out.send(relay.Frame{Kind: kind, PE: pe, Payload: relay.Number(uint32(n))}) }
		r.outputs[i] = &pump{to: file(pipes[i][1], "output"), wrote: sendCredit, gone: func() { sendCredit(0) }}
	}
	l.remotes[pe] = r
	return p, nil
}

// read reads and handles the agent's frames until the last one.
func (l *link) read(j *job) {
	defer close(l.over)
	err := error(nil)
	for {
		var f relay.Frame
		if f, err = relay.Read(l.in); err != nil {
			break
		}
		if f.Kind == relay.Over {
			break
		}
		if err = l.handle(j, f); err != nil {
			break
		}
	}
	l.close(j, err)
}

// close handles the end of the agent's frames: it closes the PEs' sockets and pipes when all that
// has arrived is written, and reports the end to the job. err is nil if the agent has reported that
// nothing is left.
func (l *link) close(j *job, err error) {
	l.out.close()
	select { // wait for ssh to end: its last messages say why
	case <-l.ended:
	case <-time.After(agentGrace):
		l.kill()
	}
	select {
	case l.started <- errLeft:
	default: // the agent has replied
	}
	if l.input != nil {
		l.input.end()
	}
	var handled sync.WaitGroup
	for _, r := range l.remotes {
		for _, o := range r.outputs {
			o.closeAfter()
		}
		r.up.closeAfter()
		handled.Add(1)
		r.up.then(handled.Done)
	}
	handled.Wait() // the ends of PEs that the agent has reported were queued before, and are handled
	j.do(func() { j.handleLinkEnd(l, err) })
}

// lostReason returns a text that says why the connection to the agent has ended, with a remedy: the
// last line that ssh or the agent has printed, or err.
func (l *link) lostReason(err error) string {
	cause, remedy := "the connection has ended", "see what ended it, its sshd, or the network"
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		cause = err.Error()
	}
	if l.here {
		cause, remedy = "the agent has ended", "see what ended it"
	}
	lines := strings.FieldsFunc(l.said.String(), func(c rune) bool { return c == '\n' || c == '\r' })
	if len(lines) > 0 {
		cause = lines[len(lines)-1]
	}
	if cause == silent {
		remedy = "see that it is up, and the network; --keepalive gives it longer"
	}
	return fmt.Sprintf("host %s: %s (%s)", l.host, strings.TrimSuffix(strings.TrimSpace(cause), "."), remedy)
}

// silent is the cause of the end of a connection on which nothing arrived for too long.
const silent = "nothing has come from it for too long"

// errLeft stands for the reply of an agent that has ended before it could start its PEs. The job's
// loop reports that end.
var errLeft = errors.New("the agent has ended")

// handle does what a frame of the agent requests. It does not wait, even if the reader of a PE's
// output is slow.
func (l *link) handle(j *job, f relay.Frame) error {
	var p *remote
	switch f.Kind {
	case relay.Request, relay.HungUp, relay.Breach, relay.Stdout, relay.Stderr, relay.Exited:
		if p = l.remotes[f.PE]; p == nil {
			return fmt.Errorf("%w: %v of PE %d", relay.ErrFormat, f.Kind, f.PE)
		}
	}
	switch f.Kind {
	case relay.Started:
		l.started <- nil
	case relay.Failed:
		e, err := relay.ParseFailure(f.Payload)
		if err != nil {
			return err
		}
		l.started <- &Error{e.Status, fmt.Errorf("host %s: %s", l.host, e.Text)}
		j.do(func() {
			l.failed = true
			j.failStart()
		})
	case relay.Request:
		if len(f.Payload) < wire.HeaderLen {
			return fmt.Errorf("%w: a PE's frame of %d bytes", relay.ErrFormat, len(f.Payload))
		}
		p.up.then(func() { p.catchUp(f.Payload) })
		p.up.send(f.Payload)
	case relay.HungUp:
		p.up.closeAfter()
	case relay.Breach:
		j.do(func() { j.endForBreach(p.process, errors.New(string(f.Payload))) })
	case relay.Stdout, relay.Stderr:
		to := p.outputs[f.Kind-relay.Stdout]
		if len(f.Payload) == 0 {
			to.closeAfter()
		} else {
			to.send(f.Payload)
		}
	case relay.CreditIn:
		n, err := relay.ParseNumber(f)
		if err != nil || l.input == nil {
			return err
		}
		l.input.release(int(n))
	case relay.Exited:
		n, err := relay.ParseNumber(f)
		if err != nil {
			return err
		}
		p.up.then(func() { j.do(func() { j.handleEnd(p.process, unix.WaitStatus(n)) }) })
	case relay.Pong:
		n, err := relay.ParseNumber(f)
		if err != nil {
			return err
		}
		// First let the job handle the ends of PEs that the agent has reported before.
		for _, r := range l.remotes {
			r.up.awaitEmpty(reaperDelay)
		}
		j.do(func() { j.handlePong(n) })
	case relay.Say:
		j.out.say(l.host + ": " + string(f.Payload))
	default:
		return fmt.Errorf("%w: an agent does not send %v", relay.ErrFormat, f.Kind)
	}
	return nil
}

// catchUp waits, if a PE's frame requests the end of the job, until the PE's reason is in the pipe
// of its standard error.
func (r *remote) catchUp(frame []byte) {
	if f, err := wire.Read(strings.NewReader(string(frame))); err == nil && (f.Kind == wire.Abort || f.Kind == wire.Exit) {
		r.outputs[1].awaitEmpty(reasonDelay)
	}
}

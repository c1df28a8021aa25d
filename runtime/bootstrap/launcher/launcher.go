// Package launcher is the bootstrap of a PE that shmemrun started: the PE's
// side of runtime/bootstrap/wire, over the socket that the PE inherits.
//
// It lives inside a C program's process, so it starts no goroutine, uses only
// one descriptor, and blocks in the kernel while it waits: Go's poller is not
// started in a process that has no other use for it. shmemrun keeps the time. A
// PE whose shmemrun is gone sees the end of the stream; a PE whose shmemrun is
// stopped reports that.
package launcher

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/bootstrap/wire"
)

// slack is how much later than the timeout shmemrun may name the missing PEs.
const slack = 2 * time.Second

// Client is a PE's connection to its shmemrun.
type Client struct {
	conn *socket
	rank libshmem.PE
	size int
	seq  uint32 // of the last collective step
	out  []byte // buffer of send, kept for the next frame
	err  error  // the stream is unusable, and why

	timeout time.Duration     // after which shmemrun names the missing PEs; 0: never
	late    func(text string) // is called if shmemrun has not named them in time; may be nil

	secret secret.Secret

	mu     sync.Mutex // guards writes to the connection, out, err, closed and failed, so that any goroutine may call Abort, Exit and Over
	closed bool
	failed bool // Fail was called

	reading   sync.Mutex // locked by the goroutine that reads the stream, before mu and lostMu
	lostMu    sync.Mutex // guards the fields below; locked after reading and mu
	lost      []bootstrap.Loss
	outcomes  map[libshmem.PE]wire.Outcome // of PEs about which this one has inquired
	inquiring bool                         // an Inquiry has no reply yet
}

var (
	_ bootstrap.Bootstrap = (*Client)(nil)
	_ bootstrap.Ender     = (*Client)(nil)
	_ bootstrap.Failer    = (*Client)(nil)
	_ bootstrap.Inquirer  = (*Client)(nil)
)

// New makes a Client on the descriptor, sends shmemrun the greeting and receives the job's secret.
// It does not wait for other PEs. timeout is how long later steps wait for them; 0: for ever.
// survives: this PE learns of PEs that fail, and does not end with them. If a reply has not arrived
// in time, New and the later steps call late, unless that is nil, and go on waiting. New makes the
// descriptor close-on-exec; Close closes it.
func New(fd int, rank libshmem.PE, size int, timeout time.Duration, survives bool, late func(text string)) (*Client, error) {
	if !rank.In(size) {
		return nil, fmt.Errorf("join job: PE %d of %d (%s and %s contradict each other: start the program with shmemrun)",
			rank, size, EnvPE, EnvNPEs)
	}
	if err := check(fd); err != nil {
		return nil, fmt.Errorf("join job: descriptor %d is not shmemrun's: %w (start the program with shmemrun, or unset %s)",
			fd, err, EnvFD)
	}
	unix.CloseOnExec(fd)
	c := &Client{conn: &socket{fd}, rank: rank, size: size, timeout: timeout, late: late}
	hello := wire.Greeting{PE: rank, Size: size, Timeout: timeout, Survives: survives, PID: os.Getpid()}.Append(nil)
	if err := c.send(wire.Frame{Kind: wire.Hello, Payload: hello}); err != nil {
		return nil, fmt.Errorf("join job: %w", err)
	}
	if err := c.welcome(); err != nil {
		return nil, fmt.Errorf("join job: %w", err)
	}
	return c, nil
}

// welcome waits for shmemrun's reply to Hello.
func (c *Client) welcome() error {
	c.reading.Lock()
	defer c.reading.Unlock()
	for {
		c.await("join job")
		f, err := wire.Read(c.conn)
		switch {
		case errors.Is(err, io.EOF):
			return ErrGone
		case err != nil:
			return err
		case notice(f.Kind): // it was meant for an earlier program of this PE, as in a shell script
			continue
		case f.Kind != wire.Welcome:
			return fmt.Errorf("%w: %v in place of welcome", wire.ErrFormat, f.Kind)
		}
		a, err := wire.ParseAdmission(f.Payload)
		c.secret = a.Secret
		return err
	}
}

// await waits until there is something to read. shmemrun names missing PEs after the timeout; if it
// has sent nothing some time after that, await reports that it may be stopped (late), and the wait
// continues.
func (c *Client) await(step string) {
	if c.late == nil || c.timeout <= 0 || c.conn.await(c.timeout+slack) {
		return
	}
	c.late(fmt.Sprintf("%s: shmemrun has not answered for %v, and should have named the missing PEs after %v (check whether it is stopped; the wait goes on)",
		step, c.timeout+slack, c.timeout))
}

// check returns an error for a descriptor that cannot be the launcher's. A program
// that a PE starts inherits the variables but not the descriptor, whose number may
// then belong to any file of the program.
func check(fd int) error {
	typ, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return err
	}
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	if typ != unix.SOCK_STREAM || domain != unix.AF_UNIX {
		return errors.New("it is a socket of another kind")
	}
	return nil
}

// EndsJob implements bootstrap.Ender: shmemrun ends all PEs of a job when one fails.
func (c *Client) EndsJob() bool { return true }

// Name returns "launcher".
func (c *Client) Name() string { return "launcher" }

// Rank returns this PE's number.
func (c *Client) Rank() libshmem.PE { return c.rank }

// Size returns the number of PEs.
func (c *Client) Size() int { return c.size }

// Allgather implements bootstrap.Bootstrap. A contribution has at most
// wire.MaxContribution bytes.
func (c *Client) Allgather(mine []byte) ([][]byte, error) {
	if len(mine) > wire.MaxContribution {
		return nil, fmt.Errorf("allgather %d: %d bytes from one PE, at most %d", c.seq+1, len(mine), wire.MaxContribution)
	}
	p, err := c.step(wire.Gather, mine, wire.Gathered)
	if err != nil {
		return nil, err
	}
	parts, err := wire.ParseParts(p)
	if err == nil && len(parts) != c.size {
		err = fmt.Errorf("%w: %d contributions from %d PEs", wire.ErrFormat, len(parts), c.size)
	}
	if err != nil {
		return nil, fmt.Errorf("allgather %d: %w", c.seq, err)
	}
	return parts, nil
}

// Barrier implements bootstrap.Bootstrap: it waits until all PEs have called it.
func (c *Client) Barrier() error {
	_, err := c.step(wire.Barrier, nil, wire.Released)
	return err
}

// LeaveBarrier implements bootstrap.Bootstrap: the barrier of PEs that leave the job.
func (c *Client) LeaveBarrier() error {
	_, err := c.step(wire.LeaveBarrier, nil, wire.Released)
	return err
}

// Secret implements bootstrap.Bootstrap: only PEs of the job know it.
func (c *Client) Secret() *secret.Secret { return &c.secret }

// step sends the frame of a collective step and waits for its reply, whose payload it returns if
// the reply is of the kind want.
func (c *Client) step(kind wire.Kind, payload []byte, want wire.Kind) ([]byte, error) {
	c.seq++
	name := fmt.Sprintf("%v %d", kind, c.seq)
	// Lock before the frame is sent: hear, in another goroutine, would take a reply that comes at
	// once for a notice.
	c.reading.Lock()
	defer c.reading.Unlock()
	if err := c.send(wire.Frame{Kind: kind, Seq: c.seq, Payload: payload}); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f, err := c.readReplyLocked(name)
	if err == nil && f.Seq != c.seq {
		err = fmt.Errorf("%w: answer to step %d", wire.ErrFormat, f.Seq)
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = ErrGone
		}
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if f.Kind == want {
		return f.Payload, nil
	}
	return nil, replyError(name, f)
}

// notice reports whether a frame of this kind is a notice and not the reply to a step: the frame
// reports a loss, or replies to an Inquiry.
func notice(k wire.Kind) bool { return k == wire.Lost || k == wire.Outcomes }

// readReplyLocked waits for the reply to a step, and handles notices, frames that shmemrun sends
// unasked, that arrive before it. The caller holds c.reading.
func (c *Client) readReplyLocked(step string) (wire.Frame, error) {
	for {
		c.await(step)
		f, err := wire.Read(c.conn)
		if err != nil || !notice(f.Kind) {
			return f, err
		}
		if err := c.note(f); err != nil {
			return f, err
		}
	}
}

// note handles a notice of shmemrun: it records the loss of a PE, or how PEs have ended or left.
func (c *Client) note(f wire.Frame) error {
	if f.Kind == wire.Outcomes {
		return c.noteOutcomes(f)
	}
	l, err := wire.ParseLoss(f.Payload)
	if err == nil && !l.PE.In(c.size) {
		err = fmt.Errorf("%w: loss of PE %d of %d", wire.ErrFormat, l.PE, c.size)
	}
	if err == nil {
		c.lostMu.Lock()
		c.lost = append(c.lost, bootstrap.Loss{
			PE: l.PE, Reason: l.Outcome.String(),
			Ends: l.Outcome.How == wire.EndedJob, Status: l.Outcome.Status(),
		})
		c.lostMu.Unlock()
	}
	return err
}

// Losses implements bootstrap.Bootstrap: it returns each loss once. While another goroutine waits
// in a step, that goroutine reads the frames, and Losses reads none.
func (c *Client) Losses() []bootstrap.Loss {
	c.hear()
	c.lostMu.Lock()
	defer c.lostMu.Unlock()
	lost := c.lost
	c.lost = nil
	return lost
}

// hear reads and handles the notices that have arrived, unless another goroutine is reading, which
// then handles them. After an error, no further frame can be sent or read.
func (c *Client) hear() {
	if c.reading.TryLock() {
		for c.unread() {
			f, err := wire.Read(c.conn)
			if err == nil && !notice(f.Kind) {
				err = fmt.Errorf("%w: unexpected %v", wire.ErrFormat, f.Kind)
			}
			if err == nil {
				err = c.note(f)
			}
			if err != nil {
				c.mu.Lock()
				c.err = err
				c.mu.Unlock()
				break
			}
		}
		c.reading.Unlock()
	}
}

// noteOutcomes records how PEs have ended or left, which shmemrun has sent as the reply to an
// Inquiry.
func (c *Client) noteOutcomes(f wire.Frame) error {
	all, err := wire.ParseOutcomes(f.Payload)
	if err != nil {
		return err
	}
	c.lostMu.Lock()
	defer c.lostMu.Unlock()
	c.inquiring = false
	if c.outcomes == nil {
		c.outcomes = map[libshmem.PE]wire.Outcome{}
	}
	for _, l := range all {
		if !l.PE.In(c.size) {
			return fmt.Errorf("%w: end of PE %d of %d", wire.ErrFormat, l.PE, c.size)
		}
		c.outcomes[l.PE] = l.Outcome
	}
	return nil
}

// Inquire implements bootstrap.Inquirer. It sends nothing while an earlier Inquiry has no reply, so
// that a stopped shmemrun gets only one. Of more than wire.MaxInquiry PEs it names only the first.
func (c *Client) Inquire(pes []libshmem.PE) {
	c.hear()
	c.lostMu.Lock()
	already := c.inquiring
	c.inquiring = true
	c.lostMu.Unlock()
	if already {
		return
	}
	_ = c.send(wire.Frame{Kind: wire.Inquiry, Payload: wire.AppendPEs(nil, pes[:min(len(pes), wire.MaxInquiry)])})
}

// Outcome implements bootstrap.Inquirer: it says how a PE has ended or left, if that is known.
func (c *Client) Outcome(pe libshmem.PE) string {
	c.hear()
	c.lostMu.Lock()
	defer c.lostMu.Unlock()
	if f, known := c.outcomes[pe]; known {
		return f.String()
	}
	return ""
}

// Absent implements bootstrap.Inquirer: it reports whether a PE is known to have exited with status
// 0 after its init and without finalize.
func (c *Client) Absent(pe libshmem.PE) bool {
	c.hear()
	c.lostMu.Lock()
	defer c.lostMu.Unlock()
	return c.outcomes[pe].Absent()
}

// unread reports whether the socket has bytes to read, and no earlier error forbids that.
func (c *Client) unread() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed && c.err == nil && c.conn.readable()
}

// NewsFD implements bootstrap.Bootstrap: it is readable when a PE is lost or the job ends.
func (c *Client) NewsFD() int { return c.conn.fd }

// replyError returns the error that a reply stands for if it is not of the wanted kind.
func replyError(step string, f wire.Frame) error {
	var err error
	switch f.Kind {
	case wire.Missing:
		var a wire.Absence
		if a, err = wire.ParseAbsence(f.Payload); err == nil {
			return &bootstrap.MissingError{Step: step, Missing: a.PEs, Waited: a.Waited}
		}
	case wire.PeerFailed:
		var l wire.Loss
		if l, err = wire.ParseLoss(f.Payload); err == nil {
			return &bootstrap.PeerError{Step: step, PE: l.PE, Reason: l.Outcome.String()}
		}
	case wire.Refused:
		err = errors.New(string(f.Payload))
	default:
		err = fmt.Errorf("%w: unexpected %v", wire.ErrFormat, f.Kind)
	}
	return fmt.Errorf("%s: %w", step, err)
}

// Abort implements bootstrap.Bootstrap: it requests the end of the job, with a reason.
func (c *Client) Abort(status int, reason string) {
	c.end(wire.Abort, wire.Ending{Status: int32(status), Reason: reason})
}

// Exit implements bootstrap.Bootstrap: it requests the end of the job with a status.
func (c *Client) Exit(status int) {
	c.end(wire.Exit, wire.Ending{Status: int32(status)})
}

// end tells shmemrun to end the job. It reports no error: if shmemrun is gone, this process ends
// itself next anyway.
func (c *Client) end(kind wire.Kind, e wire.Ending) {
	_ = c.send(wire.Frame{Kind: kind, Payload: e.Append(nil)})
}

// Over implements bootstrap.Bootstrap: it reports whether shmemrun has hung up, as it does when it
// ends the job.
func (c *Client) Over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed && c.conn.hungUp()
}

// Fail implements bootstrap.Failer: this PE's initialisation has failed.
func (c *Client) Fail() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = true
}

// leaving returns the kind of the frame with which this PE leaves the job: Fail if its
// initialisation has failed, so that the others need not wait for it, else Done.
func (c *Client) leaving() wire.Kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed {
		return wire.Fail
	}
	return wire.Done
}

// Close implements bootstrap.Bootstrap: this PE leaves the job.
func (c *Client) Close() error {
	err := c.send(wire.Frame{Kind: c.leaving()})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	c.err = errors.New("it is closed")
	if cerr := unix.Close(c.conn.fd); err == nil && cerr != nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("leave job: %w", err)
	}
	return nil
}

// send sends a frame to shmemrun. After an error every call returns that error.
func (c *Client) send(f wire.Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	out, err := wire.Append(c.out[:0], f)
	if err != nil {
		return err
	}
	if cap(out) <= 64<<10 { // do not keep the memory of a long frame
		c.out = out
	}
	if err := c.conn.writeAll(out); err != nil {
		c.err = err
		return err
	}
	return nil
}

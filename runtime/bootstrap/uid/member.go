package uid

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/launcher"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/bootstrap/wire"
	"libshmem/runtime/guard"
)

const (
	// comeback is how long a PE tries to connect to the root again after its connection has broken;
	// the root waits for a shorter time (reconnectTimeout).
	comeback = 5 * time.Second
	// deliveryTimeout bounds the wait until the root, or the other PEs, have received the last
	// frames sent to them.
	deliveryTimeout = time.Second
	// slack is how much later than the timeout the root may name the missing PEs.
	slack = 5 * time.Second
)

// Options describe this PE and its job.
type Options struct {
	ID       ID
	PE       libshmem.PE
	Size     int
	Timeout  time.Duration // how long to wait for the other PEs, above 0
	Survives bool          // the PE continues when others fail (SHMEM_ON_FAILURE=return)
	Connect  time.Duration // how long to try to reach the root; 0: Timeout
	Name     string        // name of the bootstrap; "": uid
}

// Member is the bootstrap of a PE by a unique id. It uses the client of package launcher; two
// goroutines replace shmemrun at the other side of a pair of sockets, and pass frames on to and
// from the root.
type Member struct {
	name   string
	client *launcher.Client
	link   *link
}

var (
	_ bootstrap.Bootstrap = (*Member)(nil)
	_ bootstrap.Ender     = (*Member)(nil)
	_ bootstrap.Failer    = (*Member)(nil)
	_ bootstrap.Inquirer  = (*Member)(nil)
)

// Join connects to the root, within the timeout. It does not wait for other PEs.
func Join(o Options) (*Member, error) { return join(o, dialTCP) }

// join does the work of Join with a dialer, which tests replace. The member is a launcher.Client at
// one end of a pair of sockets; goroutines pass frames between the other end and the root.
func join(o Options, dial dialer) (*Member, error) {
	c, err := decode(&o.ID)
	if err != nil {
		return nil, fmt.Errorf("join job: %w", err)
	}
	if o.Size < 1 || o.Size > maxPEs || !o.PE.In(o.Size) {
		return nil, fmt.Errorf("join job: PE %d of %d (PEs are numbered from 0, and there are at most %d)", o.PE, o.Size, maxPEs)
	}
	l := &link{
		addresses: c.addresses, secret: c.secret, dial: dial, timeout: o.Timeout, conversation: newConversation(),
		me:   claim{pe: o.PE, size: o.Size, session: newSession(), fresh: true},
		sent: make(chan struct{}), upEnded: make(chan struct{}), gone: make(chan struct{}),
	}
	if l.root, err = rootOf(o.ID, &c, o.PE); err != nil {
		return nil, fmt.Errorf("join job: %w", err)
	}
	conn, has, err := l.connect(cmp.Or(o.Connect, o.Timeout))
	if err != nil {
		return nil, fmt.Errorf("join job: %w", err)
	}
	mine, theirs, err := pair()
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("join job: %w", err)
	}
	l.local = theirs
	guard.Go("the bootstrap", l.up)
	guard.Go("the bootstrap", func() { l.keep(conn, has) })
	m := &Member{name: cmp.Or(o.Name, "uid"), link: l}
	if m.client, err = launcher.New(mine, o.PE, o.Size, o.Timeout, o.Survives, nil); err != nil {
		err = errors.Join(m.explain(err), unix.Close(mine))
		l.conversation.end()
		<-l.gone
		return nil, err
	}
	return m, nil
}

// pair makes two connected sockets: mine is a descriptor for launcher.New, and theirs a net.Conn.
func pair() (mine int, theirs net.Conn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, nil, err
	}
	f := os.NewFile(uintptr(fds[1]), "pair")
	defer f.Close() // FileConn has a descriptor of its own
	if theirs, err = net.FileConn(f); err != nil {
		return -1, nil, errors.Join(err, unix.Close(fds[0]))
	}
	return fds[0], theirs, nil
}

// link passes frames between a PE's launcher.Client and the root.
type link struct {
	addresses    []netip.AddrPort
	secret       secret.Secret
	dial         dialer
	root         *Root // the root, if it is in this process; else nil
	timeout      time.Duration
	me           claim
	conversation *conversation
	local        net.Conn

	sent    chan struct{} // closed when the PE's Abort or Exit is queued for the root
	upEnded chan struct{} // closed when up ends: it passes on no more frames of the PE
	gone    chan struct{} // closed when there is no connection any more, and will be none

	mu      sync.Mutex
	leaving bool // the PE has sent its last frame
	err     error
	late    *time.Timer // fires if the root does not reply to a step
	waits   uint32      // the step for whose reply the PE waits; 0: none
}

// connect connects to the root until it admits the PE, or returns why that was not possible within
// the limit. has is the number of frames of this PE that the root has received.
func (l *link) connect(limit time.Duration) (conn net.Conn, has uint64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	// The error of an attempt that the limit has cut off says less than the one before.
	var last error
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if conn, has, err = l.attempt(ctx); err == nil {
			return conn, has, nil
		}
		// A PE without a connection so far may be admitted to the root's next job: it tries again.
		var refusal *Refusal
		if errors.As(err, &refusal) && !(refusal.Later && l.me.fresh) {
			return nil, 0, fmt.Errorf("the process that made the unique id refuses PE %d: %w", l.me.pe, err)
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if l.conversation.ended() {
			return nil, 0, last
		}
		select {
		case <-time.After(pause):
			continue
		case <-ctx.Done():
		}
		// The text names the larger time: a caller with a shorter limit tries again until then.
		return nil, 0, &Unreached{last, fmt.Sprintf("the process that made the unique id did not answer PE %d of %d, on host %s, within %v: %v "+
			"(see that it still runs and can be reached at one of these addresses; SHMEM_BOOTSTRAP_INTERFACE there names "+
			"others, SHMEM_BOOTSTRAP_TIMEOUT waits longer; run shmem-doctor on both hosts)", l.me.pe, l.me.size, hostName(), max(limit, l.timeout), last)}
	}
}

// Unreached reports that the root has not admitted a PE in time, and has not refused it for good.
type Unreached struct {
	Last error // of the attempts: a *Refusal, or what happened at each address
	text string
}

// Error returns a text that names the addresses which were tried; it includes the text of Last.
func (e *Unreached) Error() string { return e.text }

// Unwrap returns Last.
func (e *Unreached) Unwrap() error { return e.Last }

// hostName returns the name of this host, for errors.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "without a name"
	}
	return name
}

// attempt tries once to connect to the root and to be admitted. A PE in the root's own process uses
// a connection within the process. It returns the number of the last frame that the root has
// received.
func (l *link) attempt(ctx context.Context) (net.Conn, uint64, error) {
	addresses, dial := l.addresses, l.dial
	if l.root != nil {
		// inside ignores the address that it gets, so one is enough.
		addresses, dial = addresses[:1], l.inside
	}
	p, err := race(ctx, addresses, &l.secret, dial)
	if err != nil {
		return nil, 0, err
	}
	me := l.me
	me.received = l.conversation.received()
	_ = p.conn.SetDeadline(time.Now().Add(handshakeLimit))
	has, err := sendClaim(p.conn, p.proof, me)
	if err != nil {
		p.conn.Close()
		return nil, 0, err
	}
	l.me.fresh = false
	_ = p.conn.SetDeadline(time.Time{})
	return p.conn, has, nil
}

// inside connects to a root in this process by a pipe, without the network.
func (l *link) inside(context.Context, netip.AddrPort) (net.Conn, error) {
	mine, theirs := net.Pipe()
	l.root.welcome(theirs)
	return mine, nil
}

// keep exchanges frames with the root, and connects again if the connection breaks.
func (l *link) keep(conn net.Conn, has uint64) {
	defer close(l.gone)
	defer l.local.Close()
	for {
		_ = l.conversation.run(conn, has, l.deliver) // the error matters only if no connection follows
		if l.conversation.ended() {
			return
		}
		l.mu.Lock()
		limit, leaving := comeback, l.leaving
		l.mu.Unlock()
		if leaving && l.conversation.settle(0) {
			l.conversation.end() // the root has received all, and has closed the connection
			return
		}
		if leaving {
			limit = farewell // the root does not wait longer for a PE that leaves
		}
		var err error
		if conn, has, err = l.connect(limit); err != nil {
			l.mu.Lock()
			l.err = err
			l.mu.Unlock()
			l.conversation.end()
			return
		}
	}
}

// deliver passes a frame of the root on to the PE, unless it is the reply to a step whose timeout
// has passed: the PE has the error already.
func (l *link) deliver(f wire.Frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.Seq != 0 {
		if f.Seq != l.waits {
			return nil // it is too late: the PE has the error already
		}
		l.waits = 0
		l.late.Stop()
	}
	b, err := wire.Append(nil, f)
	if err == nil {
		_, _ = l.local.Write(b) // a PE that has closed its side reads nothing
	}
	return err
}

// up passes the PE's frames on to the root until the PE leaves. For a collective step it sets a
// timer: if the root, which names missing PEs, has not replied by then, the link gives up.
func (l *link) up() {
	defer close(l.upEnded)
	for {
		f, err := wire.Read(l.local)
		if err != nil {
			return
		}
		b, err := wire.Append(nil, f)
		if err != nil {
			return
		}
		l.mu.Lock()
		switch f.Kind {
		case wire.Gather, wire.Barrier, wire.LeaveBarrier:
			l.waits = f.Seq
			l.late = time.AfterFunc(l.timeout+slack, guard.Func("the bootstrap", func() { l.giveUp(f.Seq) }))
		case wire.Done, wire.Fail, wire.Abort, wire.Exit:
			l.leaving = true
		}
		l.conversation.send(b) // before any other goroutine sees that the PE leaves
		l.mu.Unlock()
		if f.Kind == wire.Abort || f.Kind == wire.Exit {
			close(l.sent)
			return
		}
	}
}

// giveUp fails a step to which the root has sent no reply at all.
func (l *link) giveUp(seq uint32) {
	_ = l.deliver(wire.Frame{Kind: wire.Refused, Seq: seq, Payload: fmt.Appendf(nil,
		"the process that made the unique id, at %v, did not answer within %v (check whether it is stopped)",
		l.addresses[0], l.timeout)})
}

// explain returns err, or in place of launcher.ErrGone, which says that the socket was closed, the
// reason why the link to the root ended.
func (m *Member) explain(err error) error {
	if err == nil || !errors.Is(err, launcher.ErrGone) {
		return err
	}
	m.link.mu.Lock()
	defer m.link.mu.Unlock()
	if m.link.err != nil {
		return m.link.err
	}
	return errors.New("the process that made the unique id has ended the connection")
}

// Name returns Options.Name, or "uid" if that is empty.
func (m *Member) Name() string { return m.name }

// Rank returns this PE's number.
func (m *Member) Rank() libshmem.PE { return m.client.Rank() }

// Size returns the number of PEs.
func (m *Member) Size() int { return m.client.Size() }

// EndsJob implements bootstrap.Ender: the root reports PEs that fail, and ends none.
func (m *Member) EndsJob() bool { return false }

// Allgather implements bootstrap.Bootstrap: every PE gets the bytes of every PE.
func (m *Member) Allgather(mine []byte) ([][]byte, error) {
	all, err := m.client.Allgather(mine)
	return all, m.explain(err)
}

// Barrier implements bootstrap.Bootstrap: it waits until all PEs have called it.
func (m *Member) Barrier() error { return m.explain(m.client.Barrier()) }

// LeaveBarrier implements bootstrap.Bootstrap: the barrier of PEs that leave the job.
func (m *Member) LeaveBarrier() error { return m.explain(m.client.LeaveBarrier()) }

// Secret implements bootstrap.Bootstrap: the id contains the secret.
func (m *Member) Secret() *secret.Secret { return &m.link.secret }

// Abort implements bootstrap.Bootstrap: it requests the end of the job, with a reason.
func (m *Member) Abort(status int, reason string) {
	m.client.Abort(status, reason)
	m.awaitDelivery()
}

// Exit implements bootstrap.Bootstrap: it requests the end of the job with a status.
func (m *Member) Exit(status int) {
	m.client.Exit(status)
	m.awaitDelivery()
}

// awaitDelivery waits until the root has received this PE's Abort or Exit and, if the root is in
// this process, until the other PEs have received it: the process may exit next, and frames that
// are still queued would be lost. Each of the three waits takes at most
// deliveryTimeout.
func (m *Member) awaitDelivery() {
	select {
	case <-m.link.sent:
	case <-m.link.upEnded:
	case <-time.After(deliveryTimeout):
	}
	m.link.conversation.settle(deliveryTimeout)
	if m.link.root != nil {
		m.link.root.settle(deliveryTimeout)
	}
}

// Over implements bootstrap.Bootstrap: it reports whether the job is being ended.
func (m *Member) Over() bool { return m.client.Over() }

// Fail implements bootstrap.Failer: this PE's initialisation has failed.
func (m *Member) Fail() { m.client.Fail() }

// Losses implements bootstrap.Bootstrap: it returns the PEs that have ended before they left the
// job.
func (m *Member) Losses() []bootstrap.Loss { return m.client.Losses() }

// Inquire implements bootstrap.Inquirer: it requests from the root how PEs have ended or left.
func (m *Member) Inquire(pes []libshmem.PE) { m.client.Inquire(pes) }

// Outcome implements bootstrap.Inquirer: it says how a PE has ended or left, if that is known.
func (m *Member) Outcome(pe libshmem.PE) string { return m.client.Outcome(pe) }

// Absent implements bootstrap.Inquirer: it reports whether a PE is known to have exited with status
// 0 after its init and without finalize.
func (m *Member) Absent(pe libshmem.PE) bool { return m.client.Absent(pe) }

// NewsFD implements bootstrap.Bootstrap: it is readable when a PE is lost or the job ends.
func (m *Member) NewsFD() int { return m.client.NewsFD() }

// NoteStarted records, in the process of the root, that all PEs have connected: a PE that is lost
// from now on is not replaced.
func (m *Member) NoteStarted() {
	if r := m.link.root; r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.began = true
	}
}

// Missing returns the PEs without a connection to the root, if it is in this process.
func (m *Member) Missing() (pes []libshmem.PE) {
	r := m.link.root
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for pe, c := range libshmem.ByPE(r.participants) {
		if c == nil || !c.connected {
			pes = append(pes, pe)
		}
	}
	return pes
}

// Abandon leaves a meeting that has failed, so that the PE can begin another one at the same
// address. If the root, the server of the meeting, is in this process, Abandon first waits, for at
// most deliveryTimeout, until the other PEs have received all frames: they say that the meeting has
// failed. Then it closes the root.
func (m *Member) Abandon() {
	if m.link.root != nil {
		m.link.root.settle(deliveryTimeout)
	}
	m.link.conversation.end()
	if m.link.root != nil {
		m.link.root.Close()
	}
	_ = m.client.Close() // the connection to the root is closed already, so an error says nothing
	<-m.link.upEnded
	<-m.link.gone
}

// Close implements bootstrap.Bootstrap. If the root is in this process, Close waits until the other
// PEs have left, at most for the timeout of Join.
func (m *Member) Close() error {
	err := m.explain(m.client.Close())
	<-m.link.upEnded
	m.link.conversation.settle(comeback)
	m.link.conversation.end()
	<-m.link.gone
	if m.link.root != nil {
		m.link.root.outlast(m.link.timeout)
		select { // the PEs close their connections when the root has received their last frames
		case <-m.link.root.over:
		case <-time.After(farewell):
		}
		m.link.root.Close()
	}
	return err
}

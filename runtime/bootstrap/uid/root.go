package uid

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/runtime/bootstrap/rendezvous"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/bootstrap/wire"
	"libshmem/runtime/guard"
)

const (
	// reconnectTimeout is the longest time that a PE whose connection has broken may take to
	// connect again. If the root's side ended by a TCP timeout, of which the PE may not know yet,
	// the PE has the time silence.
	reconnectTimeout = 3 * time.Second
	silence          = 20 * time.Second
	// farewell is how long the root waits until PEs that have left close their connections.
	farewell = 2 * time.Second
	// maxUnused caps the roots of a process that no PE has joined yet. An id that the program has
	// forgotten costs a port and a descriptor, and the root cannot distinguish it from one that is
	// on its way to the PEs.
	maxUnused = 64
	// maxUnproven caps the connections that have not proved yet that they know the id. A further
	// one closes the oldest; if that is a PE, it tries again.
	maxUnproven = 256
	// maxPEs is the largest job that the first PE may announce.
	maxPEs = 1 << 20
)

// Root is the server of a unique id, through which the PEs exchange data in the bootstrap.
type Root struct {
	number           uint64 // counts the roots of this process
	id               ID
	secret           secret.Secret
	session          bool // the id is of a session, so other jobs use it, too
	reconnectTimeout time.Duration
	listener         net.Listener
	over             chan struct{} // closed when every PE has left, or the root was closed
	talks            sync.WaitGroup

	mu           sync.Mutex
	cond         sync.Cond  // of mu: a PE has left
	unproven     []net.Conn // connections that have not proved yet that they know the id; the oldest first
	meeting      *rendezvous.Meeting
	first        libshmem.PE    // PE that connected first
	participants []*participant // by PE; nil: it has not connected yet
	left         int            // PEs that have left
	began        bool           // all PEs of a session have connected
	closed       bool           // no new connections: Close was called, or all PEs have left
}

// participant is a PE from its init to its finalize.
type participant struct {
	session      uint64
	conversation *conversation
	connLock     sync.Mutex // one connection at a time
	from         net.Addr   // of its first connection

	// Root.mu guards the fields below.
	gone      error       // why it may not connect again
	done      bool        // it has left
	connected bool        // it has a connection
	timer     *time.Timer // fires if it has had no connection for too long, and is then lost
}

// roots are the roots of this process, whose PEs need no network to reach them.
var (
	rootsMu sync.Mutex
	roots   = map[ID]*Root{}
	made    uint64 // number of roots that this process has made
)

// NewRoot makes a root, which listens from now on, and its id. The root lives until all
// PEs have joined and left, unless Close ends it before.
func NewRoot(f Filter) (*Root, ID, error) {
	all, err := interfaces()
	if err != nil {
		return nil, ID{}, err
	}
	addresses, err := choose(all, f)
	if err != nil {
		return nil, ID{}, err
	}
	listener, err := listen(f.Family, 0)
	if err != nil {
		return nil, ID{}, fmt.Errorf("make unique id: %w", err)
	}
	port := uint16(listener.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert // it listens on TCP
	s := secret.New()
	id := encode(ofRoot, s, port, addresses)
	return newRoot(listener, s, id), id, nil
}

// listen listens at a port, or for 0 at a free one, on all addresses of a family. For AnyFamily,
// Go's "tcp" would leave out IPv6 if no interface has 127.0.0.1, so listen opens an IPv6 socket
// that accepts IPv4, too.
func listen(f Family, port uint16) (net.Listener, error) {
	at := fmt.Sprintf(":%d", port)
	if f != AnyFamily {
		return net.Listen(map[Family]string{IPv4: "tcp4", IPv6: "tcp6"}[f], at)
	}
	both := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var inner error
		err := c.Control(func(fd uintptr) {
			inner = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
		})
		return errors.Join(err, inner)
	}}
	if l, err := both.Listen(context.Background(), "tcp6", at); err == nil {
		return l, nil
	}
	return net.Listen("tcp", at) // without IPv6; if the port is taken, this fails, too
}

// newRoot makes the root of an id, and starts to accept connections.
func newRoot(listener net.Listener, s secret.Secret, id ID) *Root {
	r := &Root{id: id, listener: listener, secret: s, session: id[atFormat] == ofSession, reconnectTimeout: reconnectTimeout, over: make(chan struct{})}
	r.cond.L = &r.mu
	rootsMu.Lock()
	made++
	r.number, roots[r.id] = made, r
	all := slices.Collect(maps.Values(roots))
	rootsMu.Unlock()
	closeUnused(all)
	guard.Go("the bootstrap", r.accept)
	return r
}

// closeUnused closes the oldest roots that no PE has joined yet, if there are more than maxUnused:
// a program may make unique ids that it never uses, and each has a listener.
func closeUnused(all []*Root) {
	unused := slices.DeleteFunc(all, func(r *Root) bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.meeting != nil
	})
	slices.SortFunc(unused, func(a, b *Root) int { return cmp.Compare(a.number, b.number) })
	for _, r := range unused[:max(0, len(unused)-maxUnused)] {
		r.Close()
	}
}

// accept accepts connections until the listener is closed.
func (r *Root) accept() {
	for {
		conn, err := r.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // no descriptors are left, for example
			time.Sleep(lastPause)
			continue
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetKeepAliveConfig(keepAlive)
		}
		r.welcome(conn)
	}
}

// welcome serves a new connection, in a goroutine of its own. At most maxUnproven connections may
// be without a proof of the secret: the oldest of them is closed, so that strangers cannot use up
// descriptors.
func (r *Root) welcome(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		conn.Close()
		return
	}
	if len(r.unproven) == maxUnproven {
		r.unproven[0].Close()
		r.unproven = r.unproven[1:]
	}
	r.unproven = append(r.unproven, conn)
	r.talks.Go(guard.Func("the bootstrap", func() { r.talk(conn) }))
}

// markProved removes a connection from the list of those that have not proved that they know the
// id.
func (r *Root) markProved(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unproven = slices.DeleteFunc(r.unproven, func(c net.Conn) bool { return c == conn })
}

// talk serves a connection: after the handshake it exchanges frames with the PE until the
// connection ends.
func (r *Root) talk(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(handshakeLimit))
	who, err := receive(conn, &r.secret)
	r.markProved(conn)
	if err != nil {
		return // another program, or a connection that broke
	}
	c, err := r.admit(who, conn.RemoteAddr())
	if errors.Is(err, errNext) {
		return // the PE will try again
	}
	if err != nil {
		_ = reply(conn, 0, err)
		return
	}
	c.conversation.closeConnection() // the PE's earlier connection, which the root may think alive
	c.connLock.Lock()
	defer c.connLock.Unlock()
	if err := reply(conn, c.conversation.received(), nil); err != nil {
		return
	}
	_ = conn.SetDeadline(time.Time{})
	r.mu.Lock()
	c.connected = true
	c.timer.Stop()
	r.mu.Unlock()
	err = c.conversation.run(conn, who.received, func(f wire.Frame) error { return r.handleFrame(who.pe, c, f) })
	r.mu.Lock()
	defer r.mu.Unlock()
	wait := r.reconnectTimeout
	if errors.Is(err, unix.ETIMEDOUT) {
		wait = silence
	}
	c.connected = false
	if !c.done && c.gone == nil {
		c.timer.Reset(wait)
	}
}

// errNext is the error for a PE of a session's next job, which must wait for that job's root.
var errNext = errors.New("the root is that of the job before")

// admit finds the participant that a PE claims to be, or returns why the PE may not be it.
func (r *Root) admit(who claim, from net.Addr) (*participant, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errNext
	}
	if who.size < 1 || who.size > maxPEs || !who.pe.In(who.size) {
		return nil, fmt.Errorf("it says that it is PE %d of %d (PEs are numbered from 0, and there are at most %d)", who.pe, who.size, maxPEs)
	}
	unknown := &Refusal{r.session, fmt.Sprintf("PE %d resumes a connection that is not known here", who.pe)}
	if r.meeting == nil {
		if !who.fresh {
			return nil, unknown // of an earlier job of a session, perhaps of another size
		}
		// The PEs share a secret by the id, so none is sent over a network.
		r.meeting = rendezvous.New(who.size, secret.Secret{}, r.send)
		r.meeting.ReportAll = true
		r.first, r.participants = who.pe, make([]*participant, who.size)
	}
	if err := r.takenLocked(who); err != nil {
		return nil, err
	}
	// The jobs of a session share an id, but each has its own root. Otherwise PE 0 would wait for
	// ever for PEs of the last job that have connected for the next one.
	if r.session && who.fresh && r.left > 0 {
		return nil, errNext
	}
	if len(r.participants) != who.size {
		return nil, fmt.Errorf("PE %d says that the job has %d PEs, PE %d said %d (give every PE the same number of PEs)",
			who.pe, who.size, r.first, len(r.participants))
	}
	c := r.participants[who.pe]
	switch {
	case c != nil && c.session == who.session:
		return c, c.gone
	case !who.fresh:
		return nil, unknown
	case c != nil && !c.done && r.session:
		return nil, errNext // its connection has ended, and it may soon be given up
	case c != nil && !c.done:
		return nil, fmt.Errorf("there is already a PE %d (give each PE its own number, and each job its own id)", who.pe)
	}
	if c != nil { // the PE had left, and joins again
		r.left--
	}
	c = &participant{session: who.session, conversation: newConversation(), from: from}
	c.timer = time.AfterFunc(r.reconnectTimeout, guard.Func("the bootstrap", func() { r.lose(who.pe, c) }))
	r.participants[who.pe] = c
	return c, nil
}

// takenLocked returns an error for a process in a session if another process has its place, or had
// it when the job began. The refused process may wait for the session's next job (Refusal.Later):
// Kubernetes, for example, starts the successor of a pod while the pod still ends, and starts all
// pods of a job again when one has failed.
func (r *Root) takenLocked(who claim) error {
	if !r.session || !who.fresh || len(r.participants) != who.size {
		return nil
	}
	c := r.participants[who.pe]
	switch {
	case c == nil || c.session == who.session || c.done && c.gone == nil:
		return nil
	case c.gone != nil && r.began:
		return &Refusal{true, fmt.Sprintf("the job has begun, and its PE %d, at %s, is lost; no other process takes its place", who.pe, host(c.from))}
	case c.connected && r.began:
		return &Refusal{true, fmt.Sprintf("the job has begun, and its PE %d is at %s", who.pe, host(c.from))}
	case c.connected:
		return &Refusal{true, fmt.Sprintf("there is already a PE %d, at %s (give each PE its own number)", who.pe, host(c.from))}
	}
	return nil
}

// host returns the address without the port.
func host(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().String()
	}
	return "the host of the process that made the unique id"
}

// send sends a frame to a PE, on its present connection or a later one.
func (r *Root) send(pe libshmem.PE, frame []byte) {
	r.mu.Lock()
	c := r.participants[pe]
	r.mu.Unlock()
	c.conversation.send(frame)
}

// handleFrame does what a frame of a PE requests. An error is a breach of the protocol, after which
// the PE may not connect again.
func (r *Root) handleFrame(pe libshmem.PE, c *participant, f wire.Frame) (err error) {
	defer func() {
		if err != nil {
			r.mu.Lock()
			c.gone = fmt.Errorf("it broke the protocol: %w", err)
			r.mu.Unlock()
			r.meeting.End(pe, wire.Outcome{How: wire.Vanished})
		}
	}()
	switch f.Kind {
	case wire.Hello:
		g, err := wire.ParseGreeting(f.Payload)
		if err != nil {
			return err
		}
		return r.meeting.Hello(pe, g)
	case wire.Gather, wire.Barrier, wire.LeaveBarrier:
		return r.meeting.Join(pe, f)
	case wire.Inquiry:
		return r.meeting.Inquire(pe, f)
	case wire.Done, wire.Fail:
		if err := r.meeting.Leave(pe, f.Kind == wire.Fail); err != nil {
			return err
		}
		r.leave(c)
		return nil
	case wire.Abort, wire.Exit:
		e, err := wire.ParseEnding(f.Payload)
		if err != nil {
			return err
		}
		status := int(e.Status) & 0xff
		if status == 0 && f.Kind == wire.Abort {
			status = 1 // an abort is a failure, whatever its status
		}
		r.meeting.End(pe, wire.Outcome{How: wire.EndedJob, Code: status})
		r.leave(c)
		return nil
	}
	return fmt.Errorf("%w: a PE does not send %v", wire.ErrFormat, f.Kind)
}

// leave records, once, that a PE has left the job. After the last PE the root ends.
func (r *Root) leave(c *participant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.done {
		return
	}
	c.done = true
	c.timer.Stop()
	r.countLeftLocked()
}

// countLeftLocked counts a PE that has left or is lost, and ends the root after the last one.
func (r *Root) countLeftLocked() {
	if r.left++; r.left == len(r.participants) && !r.closed {
		r.closed = true
		r.endLocked()
	}
	r.cond.Broadcast()
}

// outlast waits until each PE that has joined has left, but no longer than limit: the process of
// the root must not end while other PEs still need it.
func (r *Root) outlast(limit time.Duration) {
	late := false
	t := time.AfterFunc(limit, guard.Func("the bootstrap", func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		late = true
		r.cond.Broadcast()
	}))
	defer t.Stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	for slices.ContainsFunc(r.participants, func(c *participant) bool { return c != nil && !c.done }) && !late {
		r.cond.Wait()
	}
}

// lose gives up a PE that has not connected again in time, and reports to the others that it is
// lost.
func (r *Root) lose(pe libshmem.PE, c *participant) {
	r.mu.Lock()
	if c.done || c.gone != nil || c.connected || r.closed {
		r.mu.Unlock()
		return
	}
	c.gone = fmt.Errorf("the other PEs have given up PE %d, which was silent for %v", pe, r.reconnectTimeout)
	r.mu.Unlock()
	c.conversation.end()
	r.meeting.End(pe, wire.Outcome{How: wire.Vanished})
	r.mu.Lock()
	defer r.mu.Unlock()
	c.done = true
	r.countLeftLocked()
}

// endLocked ends the root: it stops listening, and closes the connections of PEs that do not close
// them themselves within farewell.
func (r *Root) endLocked() {
	rootsMu.Lock()
	delete(roots, r.id)
	rootsMu.Unlock()
	r.listener.Close()
	for _, c := range r.participants {
		if c != nil {
			c.timer.Stop()
			time.AfterFunc(farewell, guard.Func("the bootstrap", func() { c.conversation.end() }))
		}
	}
	guard.Go("the bootstrap", func() {
		r.talks.Wait()
		close(r.over)
	})
}

// Close ends the root, even if PEs still use it. It closes their connections, and waits until the
// goroutines that serve these have ended.
func (r *Root) Close() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		r.endLocked()
	}
	participants := r.participants
	r.mu.Unlock()
	for _, c := range participants {
		if c != nil {
			c.conversation.end()
		}
	}
	<-r.over
}

// newSession returns a random number, by which the root recognises the connections of one init.
func newSession() uint64 {
	var b [8]byte
	rand.Read(b[:]) //nolint:errcheck // it never fails
	return binary.LittleEndian.Uint64(b[:])
}

// settle waits until all PEs have received all frames for them, but no longer than limit.
func (r *Root) settle(limit time.Duration) {
	r.mu.Lock()
	participants := slices.Clone(r.participants)
	r.mu.Unlock()
	end := time.Now().Add(limit)
	for _, c := range participants {
		if c != nil {
			c.conversation.settle(time.Until(end))
		}
	}
}

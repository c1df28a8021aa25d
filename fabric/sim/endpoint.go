package sim

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/runtime/shmerr"
)

// endpoint is an endpoint of one process. When it has died, another endpoint may be opened at its
// address.
type endpoint struct {
	net    *Network
	id     int
	nic    *nic
	addr   address
	caps   fabric.Caps
	closed bool

	tokens   int
	capacity int    // of the completion queue
	maxRecv  int    // the most receive buffers that may be posted; 0: any number
	busy     []bool // by token: an operation or a receive buffer in use has it
	flying   int    // operations under way
	calls    uint64 // calls so far that could be refused

	peers         []peer
	live          []*message // operations of this endpoint that are under way
	regions       []region
	keys          uint64 // regions registered so far
	recvs         []buffer
	inbox         []*message // from inHead on: arrived, and waiting for a receive buffer or room in the queue
	inHead        int
	handshakes    []handshakePacket // packets of handshakes, for the next Poll
	awaitingReply int               // operations that wait for the handshakes of peers
	notReady      []*message        // messages that went back to their senders, because there was no receive buffer
	socket        []*packet         // from read on: arrived, and not read
	read          int
	queue         []fabric.Completion // from head on: completions that Poll has not returned
	head          int

	peakQueued, overran int // the most completions in queue at a time, and the completions that found it full

	fatal   error // each Poll returns it
	reasons map[fabric.Token]string

	retrying int    // messages of notReady that are on their way again
	retries  uint64 // how often a message has been sent again

	wake  chan struct{}
	came  bool // something has arrived since the last Arm
	awake bool // Wake was called
}

// peer is a PE in the address vector of this endpoint.
type peer struct {
	addr       address
	hasAddress bool
	gone       bool // its endpoint has died, and this one cannot reach another endpoint at the address
	pair       *pair
}

// buffer is a posted receive buffer.
type buffer struct {
	at    unsafe.Pointer
	n     int
	token fabric.Token
}

var _ fabric.Atomics = (*endpoint)(nil)

// Caps implements fabric.Provider: it returns what the endpoint promises and supports.
func (e *endpoint) Caps() fabric.Caps { return e.caps }

// Addr implements fabric.Provider: it returns the address for the other PEs' Connect.
func (e *endpoint) Addr() []byte { return e.addr.bytes() }

// Native implements fabric.Provider: C has nothing to call here.
func (e *endpoint) Native() fabric.Native { return fabric.Native{} }

// Connect implements fabric.Provider: it stores the addresses of all PEs. A PE without one cannot
// be reached.
func (e *endpoint) Connect(addrs [][]byte) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	if e.peers != nil {
		return &shmerr.Error{Op: "connect", Object: e.caps.Provider, Cause: shmerr.Causef(shmerr.ErrArgument, "the peers are known already")}
	}
	peers := make([]peer, len(addrs))
	for pe, b := range addrs {
		if len(b) == 0 {
			continue
		}
		a, err := parseAddress(b)
		if err != nil {
			return &shmerr.Error{Op: "connect", Object: fmt.Sprintf("%s to PE %d", e.caps.Provider, pe), Cause: err}
		}
		peers[pe] = peer{addr: a, hasAddress: true}
	}
	e.peers = peers
	return nil
}

// drawRefusal draws whether a call is to return ErrAgain, by chance or because of a storm: a time
// in which all calls of the endpoint do.
func (e *endpoint) drawRefusal() bool {
	n, m := e.net, &e.net.model
	e.calls++
	storm := faults.Throw(n.seed, uint64(e.id), faults.ForStorm, uint64(n.now/stormLength)).Hits(faults.ForStorm, m.Storm)
	if !storm && !faults.Throw(n.seed, uint64(e.id), faults.ForCall, e.calls).Hits(faults.ForCall, m.Again) {
		return false
	}
	n.note(didRefuse, e, nil, e.calls, 0)
	return true
}

// stormLength is a period of the simulated clock. In each period one random number decides whether
// all calls of the endpoint return ErrAgain (a storm).
const stormLength = 20 * Microsecond

// checkToken returns an error if the endpoint is closed, or if a token is in flight or not below a
// bound: a caller must not use one twice.
func (e *endpoint) checkToken(t fabric.Token, below int) error {
	switch {
	case e.closed:
		return shmerr.Causef(shmerr.ErrArgument, "the endpoint is closed")
	case int64(t) >= int64(below):
		return shmerr.Causef(shmerr.ErrArgument, "token %d is not below %d", t, below)
	case e.busy[t]:
		return shmerr.Causef(shmerr.ErrArgument, "token %d is in flight", t)
	}
	return nil
}

// Recv implements fabric.Provider: it posts a receive buffer, and delivers a message that has
// waited for one.
func (e *endpoint) Recv(at unsafe.Pointer, n int, desc uintptr, t fabric.Token) error {
	net := e.net
	net.mu.Lock()
	defer net.mu.Unlock()
	if err := e.checkToken(t, len(e.busy)); err != nil {
		return &shmerr.Error{Op: "receive into", Object: fmt.Sprintf("buffer %d", t), Cause: err}
	}
	if err := e.checkLocal(at, n, desc); err != nil {
		return &shmerr.Error{Op: "receive into", Object: fmt.Sprintf("buffer %d", t), Cause: err}
	}
	if e.maxRecv > 0 && len(e.recvs) >= e.maxRecv || e.drawRefusal() {
		return fabric.ErrAgain
	}
	net.note(didRecv, e, nil, uint64(t), uint64(n))
	e.busy[t] = true
	e.recvs = append(e.recvs, buffer{at, n, t})
	e.match()
	e.retry()
	return nil
}

// Send implements fabric.Provider: it posts a message.
func (e *endpoint) Send(s *fabric.Send) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	return e.post(fabric.KindSend, &fabric.RMA{
		PE: s.To, Local: s.Buf, Len: uint64(s.Len), Desc: s.Desc, Token: s.Token, Inject: s.Inject, Fence: s.Fence,
	}, nil)
}

// Write implements fabric.Provider: it posts a one-sided write.
func (e *endpoint) Write(r *fabric.RMA) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	return e.post(fabric.KindWrite, r, nil)
}

// Read implements fabric.Provider: it posts a one-sided read.
func (e *endpoint) Read(r *fabric.RMA) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	return e.post(fabric.KindRead, r, nil)
}

// Atomic implements fabric.Provider: it posts an atomic operation.
func (e *endpoint) Atomic(a *fabric.AMO) error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	n := 0
	if a.Op.Fetches() {
		n = a.Width
	}
	return e.post(fabric.KindAtomic, &fabric.RMA{
		PE: a.PE, Local: a.Result, Len: uint64(n), Desc: a.Desc, Remote: a.Remote, Key: a.Key, Token: a.Token, Fence: a.Fence,
	}, a)
}

// verbs has the words for an operation of each kind, for errors.
var verbs = map[fabric.Kind]string{
	fabric.KindSend: "send to", fabric.KindWrite: "write to", fabric.KindRead: "read from", fabric.KindAtomic: "atomic operation on",
}

// checkPost returns an error if the provider does not promise to do an operation, by its Caps and
// limits: the library must not post it.
func (e *endpoint) checkPost(kind fabric.Kind, r *fabric.RMA, a *fabric.AMO) error {
	switch {
	case e.closed:
		return shmerr.Causef(shmerr.ErrArgument, "the endpoint is closed")
	case !r.PE.In(len(e.peers)):
		return shmerr.Causef(shmerr.ErrPE, "%d PEs are connected", len(e.peers))
	case !e.peers[r.PE].hasAddress:
		return shmerr.Causef(shmerr.ErrPE, "it has no address")
	case r.Len > e.caps.MaxMessage:
		return shmerr.Causef(shmerr.ErrArgument, "%d bytes in one operation, more than %d", r.Len, e.caps.MaxMessage)
	case kind == fabric.KindSend && e.net.model.Longest > 0 && r.Len > uint64(e.net.model.Longest):
		return shmerr.Causef(shmerr.ErrArgument, "a message of %d bytes, more than %d", r.Len, e.net.model.Longest)
	case r.Inject && kind == fabric.KindWrite && e.caps.MaxInjectWrite == 0:
		return shmerr.Causef(shmerr.ErrUnsupported, "function not implemented: no write is injected here")
	case r.Inject && (r.Len > uint64(e.maxInject(kind)) || kind == fabric.KindRead || r.Fence):
		return shmerr.Causef(shmerr.ErrArgument, "%d bytes cannot be injected (fence %v)", r.Len, r.Fence)
	case r.Fence && !e.caps.Fence:
		return shmerr.Causef(shmerr.ErrArgument, "a fence was not granted")
	case r.Notify && (e.caps.Data < 4 || kind != fabric.KindWrite):
		return shmerr.Causef(shmerr.ErrUnsupported, "immediate data was not granted")
	case a != nil && !e.caps.Atomics.Has(a.Op, a.Width):
		return shmerr.Causef(shmerr.ErrUnsupported, "operation %d on %d bytes", a.Op, a.Width)
	case a != nil && a.Remote%uint64(a.Width) != 0:
		return shmerr.Causef(shmerr.ErrArgument, "atomic operation on %d bytes at %#x, which is not aligned", a.Width, a.Remote)
	case r.Inject:
		return nil
	}
	if err := e.checkToken(r.Token, e.tokens); err != nil {
		return err
	}
	return e.checkLocal(r.Local, int(r.Len), r.Desc)
}

// maxInject returns the most bytes of an injected operation of a kind.
func (e *endpoint) maxInject(kind fabric.Kind) int {
	if kind == fabric.KindWrite {
		return e.caps.MaxInjectWrite
	}
	return e.caps.MaxInject
}

// post starts an operation, or returns an error: ErrAgain if a queue is full. a is nil except for
// atomic operations. An injected operation has no token, and its bytes are copied now.
func (e *endpoint) post(kind fabric.Kind, r *fabric.RMA, a *fabric.AMO) error {
	n := e.net
	if err := e.checkPost(kind, r, a); err != nil {
		return &shmerr.Error{Op: verbs[kind], Object: fmt.Sprintf("PE %d", r.PE), Cause: err}
	}
	if e.flying >= n.model.Depth || e.drawRefusal() {
		return fabric.ErrAgain
	}
	p := &e.peers[r.PE]
	if p.pair == nil {
		p.pair = &pair{from: e, peer: p}
	}
	if refuse := p.pair.requestHandshake(kind, r.Inject); refuse {
		n.note(didRefuse, e, nil, e.calls, 1)
		return fabric.ErrAgain
	}
	m := n.newMessage()
	m.kind, m.from, m.number, m.token = kind, e, e.calls, r.Token
	m.inject, m.notify, m.fence, m.data = r.Inject, r.Notify, r.Fence, r.Data
	m.local, m.n, m.remote, m.key = r.Local, int(r.Len), r.Remote, r.Key
	if m.inject {
		m.token = fabric.NoToken
		m.payload = load(m.payload, m.local, m.n)
	} else {
		e.busy[m.token] = true
	}
	if a != nil {
		m.op, m.width, m.operand, m.compare = a.Op, a.Width, a.Operand, a.Compare
	}
	e.flying++
	m.slot = len(e.live)
	e.live = append(e.live, m)
	n.note(didPost, e, nil, uint64(kind)<<32|uint64(m.token), uint64(r.PE)<<32|uint64(m.n))
	p.pair.post(m)
	return nil
}

// Poll handles the handshakes and the packets in the socket of this endpoint and, unless Manual is
// set, the next event of the whole network. Then it returns the completions of this endpoint.
func (e *endpoint) Poll(c []fabric.Completion) (int, error) {
	n := e.net
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(c) == 0 {
		return 0, nil
	}
	e.readHandshakes()
	e.readSocket()
	if !n.manual && !n.step() {
		n.now += idleStep
	}
	if e.fatal != nil {
		return 0, &shmerr.Error{Op: "poll", Object: e.caps.Provider, Cause: e.fatal}
	}
	k := copy(c, e.queue[e.head:])
	for i := range c[:k] {
		if t := c[i].Token; t != fabric.NoToken {
			e.busy[t] = false
		}
	}
	if e.head += k; e.head == len(e.queue) {
		e.queue, e.head = e.queue[:0], 0
	}
	if k > 0 && len(e.inbox) > e.inHead {
		e.match()
	}
	return k, nil
}

// pending returns the number of completions in the queue.
func (e *endpoint) pending() int { return len(e.queue) - e.head }

// complete puts a completion into the queue. If the queue is full, the completion is lost, and Poll
// fails from then on.
func (e *endpoint) complete(c fabric.Completion) {
	if e.closed {
		return
	}
	e.net.note(didComplete, e, nil, uint64(c.Token), uint64(c.Kind)<<56|uint64(uint32(c.Err)))
	if e.pending() >= e.capacity {
		e.overran++
		if e.net.model.Broken != Silent {
			e.fatal = fmt.Errorf("%w: it holds %d (sim says: %d, %s)", fabric.ErrOverrun, e.capacity, errOverrun, errorText[errOverrun])
		}
		return
	}
	e.queue = append(e.queue, c)
	e.peakQueued = max(e.peakQueued, e.pending())
	e.endWait()
}

// endWait ends a Wait of this endpoint, because the endpoint has work for a Poll. With the defect
// LosesWake the Wait goes on.
func (e *endpoint) endWait() {
	if e.net.model.Broken != LosesWake {
		e.came = true
		e.signal()
	}
	if e.net.arrived != nil {
		e.net.arrived(e.id)
	}
}

// signal wakes the thread in Wait, which finds out why. A second signal before that does nothing.
func (e *endpoint) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Ready implements fabric.Provider: it reports whether a poll would find a completion or read a
// packet.
func (e *endpoint) Ready() bool {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	return e.completes() || e.unread()
}

// completes reports whether a Poll would return a completion or an error.
func (e *endpoint) completes() bool { return e.pending() > 0 || e.fatal != nil }

// Arm implements fabric.Provider: it returns true if a Poll has neither a completion nor a packet
// to read. It discards the record of earlier arrivals, even where it returns false: only something
// new ends a Wait. With the defect ArmsUnread it ignores packets.
func (e *endpoint) Arm() bool {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	e.came = false
	return !e.completes() && (!e.unread() || e.net.model.Broken == ArmsUnread)
}

// Wait implements fabric.Provider. It moves the simulated clock, event by event, until something
// arrives at this endpoint or nothing is under way anywhere; then it sleeps for up to d, while
// other endpoints may post.
func (e *endpoint) Wait(d time.Duration) (bool, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	n := e.net
	for over := false; ; {
		n.mu.Lock()
		n.waiting = slices.DeleteFunc(n.waiting, func(other *endpoint) bool { return other == e })
		for !e.came && !e.awake && n.step() {
		}
		came, awake := e.came, e.awake
		e.came, e.awake = false, false
		if !came && !awake && !over {
			n.waiting = append(n.waiting, e)
		}
		n.mu.Unlock()
		if came || awake || over {
			return came, nil
		}
		select {
		case <-e.wake:
		case <-timer.C:
			over = true
		}
	}
}

// Wake implements fabric.Provider: it ends a Wait.
func (e *endpoint) Wake() {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	e.awake = true
	e.signal()
}

// Strangers returns 0: only the job uses the simulated network.
func (e *endpoint) Strangers() uint64 { return 0 }

// ErrorText implements fabric.Provider: it describes a failed completion.
func (e *endpoint) ErrorText(c *fabric.Completion) string {
	if c.Err == 0 {
		return "no error"
	}
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	return fmt.Sprintf("%s (sim says: %s), token %d", errorText[c.Err], e.reasons[c.Token], c.Token)
}

// Close implements fabric.Provider: peers then find no endpoint.
func (e *endpoint) Close() error {
	e.net.mu.Lock()
	defer e.net.mu.Unlock()
	e.die()
	return nil
}

package pair

import (
	"maps"
	"slices"
	"time"

	"libshmem"
	"libshmem/fabric/ofi/handshake"
)

// Conn is the number of a connection of this endpoint. No number is used twice; 0: no connection.
type Conn uint32

// Handle is a request that the network has delivered, until it is accepted or rejected.
type Handle uintptr

// Network has the calls by which a Machine, the state machine of this package, makes, uses and ends
// connections. The caller reports the events of the connections to the Machine by its methods.
type Network interface {
	// Connect begins to connect with a PE. Machine.HandleReply or HandleFailure gets the outcome.
	Connect(c Conn, pe libshmem.PE, request []byte) error
	// Accept makes connection c of a request, and sends the reply. After an error c does not exist.
	Accept(c Conn, h Handle, reply []byte) error
	// Reject refuses a request, with a reply, or with nil for none.
	Reject(h Handle, reply []byte)
	// Drop closes a connection. No event of it follows.
	Drop(c Conn)
	// Shutdown ends a connection that is in use, and with it the operations that use it.
	// Machine.HandleDisconnect follows when it has ended.
	Shutdown(c Conn)
	// Use makes operations on a PE use a connection. With 0 they have none, and the next operation
	// makes the network call Machine.Want.
	Use(pe libshmem.PE, c Conn)
	// Send sends a word on a connection that may not be used yet. It returns false if the
	// provider's queue is full.
	Send(c Conn, w handshake.Word, proof uint32) bool
	// Lose reports that a PE cannot be reached any more. It is called once for a PE.
	Lose(pe libshmem.PE, why string)
}

// Config describes the job to a Machine.
type Config struct {
	Key handshake.Key
	Me  handshake.Side // its PE may be NoPE: then the first verified request has this PE's number
	// ID returns the ID of a PE's endpoint. false: the PE has given no address.
	ID func(libshmem.PE) (handshake.ID, bool)
	// Late is not 0 if peers join one after another (fabric.Config.Late).
	Late time.Duration
}

// Timing of the handshake. All but replyTimeout matters only for peers that refuse or that cannot
// be reached.
const (
	// replyTimeout is the time without a reply after which another request takes the place of the
	// first. The peer may be stopped for any time, but a request can also be lost within libfabric.
	// The time doubles with each request in a row that has no reply, up to maxDoublings times:
	// where processors have too much to do, each further request is more work for both sides.
	replyTimeout = 10 * time.Second
	maxDoublings = 3
	// yield is how long a side that was refused waits for the peer's request, and a side that has
	// accepted for the peer's confirmation.
	yield = time.Second
	// attempts is the number of requests that may fail in a row before the peer is lost. The pause
	// before the next one doubles.
	attempts   = 6
	firstPause = 10 * time.Millisecond
	// maxEarly is the most words of a peer that wait for its reply: reminders and a farewell.
	maxEarly = 4
)

// earlyWord is a word that has come before the reply with which its proof can be checked: words and
// replies reach this endpoint by different queues of the provider.
type earlyWord struct {
	word  handshake.Word
	proof uint32
}

// state is how far this endpoint is with the connection to one peer.
type state uint8

const (
	unconnected state = iota // no operation waits
	requesting               // this side's request has no reply yet
	pausing                  // the next request begins at until
	accepted                 // this side has accepted the peer's request, and waits for its confirmation
	open                     // the connection is in use
	departed                 // the peer has ended, or has said that it closes its endpoint
	lost                     // the peer is given up for good
)

// pair is the state of the connection to one peer.
type pair struct {
	pe          libshmem.PE
	state       state
	wanted      bool              // operations wait for the connection
	left        bool              // the peer has said that it leaves
	broken      bool              // a connection in use has broken; the request under way finds out whether the peer lives
	unconfirmed bool              // the peer has accepted, and this side could not send its confirmation yet
	number      uint64            // number of this side's last request
	seen        uint64            // the highest number of the peer's requests
	missed      uint64            // bit i: the peer's request of number seen-1-i has not come, and may come late
	failures    int               // requests of this side that have failed in a row
	unanswered  int               // requests of this side that had no reply in time, in a row
	dropped     bool              // this side has dropped a connection: words may still come by it
	early       []earlyWord       // in requesting
	known       bool              // the peer has accepted a request of this side, or made one
	first       time.Duration     // when the first of the failures began
	until       time.Duration     // when the next request is due (requesting, pausing), or a reminder (accepted)
	request     handshake.Request // the request under way
	conn        Conn              // in requesting, accepted and open
	ours        bool              // conn was made by this side's request
	mirror      Conn              // the accepting side of conn, if the peer is this endpoint itself

	requestNonce, replyNonce handshake.Nonce // in accepted and open
}

// Machine makes and ends the connections of one endpoint, by events that its caller reports and
// calls of Network.
type Machine struct {
	Config
	// Strangers counts refused requests, replies and words of processes outside the job.
	Strangers uint64
	// Belated counts those of PEs of the job that came after another request had taken their place.
	Belated uint64

	net    Network
	closed bool
	now    time.Duration
	pairs  map[libshmem.PE]*pair
	conns  map[Conn]*pair
	ending map[Conn]bool // connections that are ending
	moving []*pair       // pairs for which Tick has work: requesting, pausing, accepted and wanted, or unconfirmed
	last   Conn
}

// New returns a Machine without connections.
func New(c Config, n Network) *Machine {
	return &Machine{Config: c, net: n, pairs: map[libshmem.PE]*pair{}, conns: map[Conn]*pair{}, ending: map[Conn]bool{}}
}

// Moving reports whether Tick has to be called again: some pair waits for a time to pass.
func (m *Machine) Moving() bool { return len(m.moving) > 0 }

// pair returns the state of a peer, and makes it at its first use.
func (m *Machine) pair(pe libshmem.PE) *pair {
	p := m.pairs[pe]
	if p == nil {
		p = &pair{pe: pe}
		m.pairs[pe] = p
	}
	return p
}

// become sets the state of a pair. A pair in a state that a deadline ends is in the list that Tick
// searches (moving); become adds or removes it.
func (m *Machine) become(p *pair, s state) {
	p.state = s
	moves := s == requesting || s == pausing || s == accepted && p.wanted || p.unconfirmed
	switch at := slices.Index(m.moving, p); {
	case moves && at < 0:
		m.moving = append(m.moving, p)
	case !moves && at >= 0:
		m.moving = slices.Delete(m.moving, at, at+1)
	}
}

// newConn assigns a number to a new connection of a pair. No number is used twice, so late events
// of an old connection are not taken for those of a new one.
func (m *Machine) newConn(p *pair) Conn {
	m.last++
	m.conns[m.last] = p
	return m.last
}

// drop closes the connections of a pair at once, if it has any. mirror is the accepting side of a
// connection of this endpoint to itself.
func (m *Machine) drop(p *pair) {
	for _, c := range []*Conn{&p.conn, &p.mirror} {
		if *c != 0 {
			delete(m.conns, *c)
			m.net.Drop(*c)
			*c = 0
			p.dropped = true
		}
	}
	m.Belated += uint64(len(p.early))
	p.early, p.unconfirmed = nil, false
}

// Want is called for an operation on a PE that has no connection.
func (m *Machine) Want(pe libshmem.PE) {
	p := m.pair(pe)
	p.wanted = true
	switch p.state {
	case unconnected:
		m.connect(p)
	case accepted:
		m.become(p, accepted) // the pair now waits for the confirmation, so Tick has work
	case departed:
		m.lose(p, "it has closed its endpoint, or ended")
	}
}

// connect sends a request for a connection to the peer. The request has a number and a nonce, which
// the reply must repeat. Without an address of the peer, the peer is lost.
func (m *Machine) connect(p *pair) {
	id, ok := m.ID(p.pe)
	if !ok || m.Me.PE == libshmem.NoPE {
		m.lose(p, "it has no address")
		return
	}
	p.number++
	p.request = handshake.Request{From: m.Me.PE, To: p.pe, Number: p.number, Seen: p.seen, Nonce: handshake.Random[handshake.Nonce]()}
	p.conn, p.ours, p.until = m.newConn(p), true, m.now+replyTimeout<<min(p.unanswered, maxDoublings)
	m.become(p, requesting)
	if err := m.net.Connect(p.conn, p.pe, m.Key.Request(&p.request, m.Me.ID, id)); err != nil {
		m.retry(p, err.Error())
	}
}

// retry handles the end of a connection that was never in use: it plans another request if one is
// needed, or loses the peer after too many. As long as Config.Late has not passed since the first
// failure, a peer that is not known is not lost: it may not have joined yet. A peer that no
// operation waits for is only departed, unless peers join late.
func (m *Machine) retry(p *pair, why string) {
	m.drop(p)
	if !p.wanted && !p.broken {
		m.become(p, unconnected)
		return
	}
	if p.failures++; p.failures == 1 {
		p.first = m.now
	}
	if p.failures >= attempts && (p.known || m.now-p.first >= m.Late) {
		if !p.wanted && m.Late == 0 {
			m.become(p, departed) // lost once an operation needs it (Want)
			return
		}
		m.lose(p, why)
		return
	}
	p.until = m.now + firstPause<<min(p.failures-1, attempts-1)
	m.become(p, pausing)
}

// shutDown has the network end the connection of a pair, which may have operations under way, and
// closes it only when it has ended. If a connection were closed after a part of a read's data has
// arrived, libfabric 1.17 would report the read twice, and free it twice.
func (m *Machine) shutDown(p *pair) {
	for _, c := range []*Conn{&p.conn, &p.mirror} {
		if *c != 0 {
			delete(m.conns, *c)
			m.ending[*c] = true
			m.net.Shutdown(*c)
			*c = 0
		}
	}
}

// lose gives up the connection with a peer for good, and reports the lost peer to the network. A
// connection in use is shut down first, so that the peer sees its end soon.
func (m *Machine) lose(p *pair, why string) {
	m.giveUp(p)
	m.net.Lose(p.pe, why)
}

// giveUp ends the connection with a peer, and refuses another.
func (m *Machine) giveUp(p *pair) {
	if p.state == open && !p.unconfirmed {
		m.shutDown(p)
	}
	m.drop(p)
	m.become(p, lost)
}

// Remove gives up the connection with a peer for good, because this endpoint wants no more of it.
// The network gets no report.
func (m *Machine) Remove(pe libshmem.PE) { m.giveUp(m.pair(pe)) }

// Tick sends the requests, confirmations and reminders that are due at the time now, which counts
// from any fixed moment.
func (m *Machine) Tick(now time.Duration) {
	m.now = now
	for _, p := range slices.Clone(m.moving) {
		switch {
		case p.unconfirmed:
			m.confirm(p)
		case now < p.until:
		case p.state == requesting:
			p.unanswered++
			m.drop(p)
			m.connect(p)
		case p.state == pausing:
			m.connect(p)
		case p.state == accepted:
			// The peer may be stopped. Or the confirmation was damaged in transit: request another.
			p.until = m.now + replyTimeout
			_ = m.net.Send(p.conn, handshake.Missing, m.Key.Proof(handshake.Missing, m.Me.PE, p.requestNonce, p.replyNonce))
		}
	}
}

// HandleReply handles the reply of a process that has accepted this side's request. Until the reply
// is verified, any process may have sent it.
func (m *Machine) HandleReply(c Conn, data []byte) {
	p := m.conns[c]
	if p == nil || p.state != requesting || c != p.conn {
		return
	}
	id, _ := m.ID(p.pe)
	a, err := m.Key.Check(data, &p.request, id, m.Me.ID)
	if err != nil || a.Verdict != handshake.Accepted {
		m.Strangers++
		m.retry(p, "another process answers at its address")
		return
	}
	if p.broken { // the peer lives: it accepts, because it did not use the broken connection yet
		m.lose(p, "the connection broke")
		return
	}
	p.requestNonce, p.replyNonce = p.request.Nonce, a.Nonce
	p.unconfirmed = true
	early := p.early
	p.early = nil
	m.become(p, open)
	m.confirm(p)
	for _, w := range early {
		m.HandleWord(p.pe, w.word, w.proof)
	}
}

// confirm sends the confirmation on a connection that the peer has accepted, and then uses the
// connection. If the provider's queue is full, Tick tries again.
func (m *Machine) confirm(p *pair) {
	if m.net.Send(p.conn, handshake.Confirmed, m.Key.Proof(handshake.Confirmed, m.Me.PE, p.requestNonce, p.replyNonce)) {
		p.unconfirmed = false
		m.use(p)
	}
}

// use makes operations use the pair's connection, which both sides have confirmed.
func (m *Machine) use(p *pair) {
	p.failures, p.unanswered, p.wanted, p.known = 0, 0, false, true
	m.become(p, open)
	m.net.Use(p.pe, p.conn)
}

// HandleFailure handles the failure of the request that this side sent as connection c; data is the
// peer's reply, if there was one. If both sides have sent a request at the same time (Crossing),
// this one yields to the peer's. A genuine reply that says "lost" ends the pair, and anything else
// is tried again.
func (m *Machine) HandleFailure(c Conn, data []byte, why string) {
	p := m.conns[c]
	if p == nil || p.state != requesting || c != p.conn {
		m.HandleDisconnect(c)
		return
	}
	id, _ := m.ID(p.pe)
	a, err := m.Key.Check(data, &p.request, id, m.Me.ID)
	switch {
	case err == nil && a.Verdict == handshake.Crossing:
		m.drop(p)
		p.until = m.now + yield
		m.become(p, pausing)
	case err == nil && a.Verdict == handshake.Lost && p.broken:
		m.lose(p, "the connection broke")
	case err == nil && a.Verdict == handshake.Lost:
		m.lose(p, "it has given this PE up")
	default:
		m.retry(p, why)
	}
}

// HandleDisconnect handles the end of a connection. The caller must have called HandleWord for all
// words that arrived on it. If the connection was in use, and the peer has not said that it leaves,
// this side makes a request to find out whether the peer lives (broken). If it was not in use yet,
// retry decides. A peer that has left is departed, and lost if an operation waits.
func (m *Machine) HandleDisconnect(c Conn) {
	p := m.conns[c]
	switch {
	case m.ending[c]:
		delete(m.ending, c)
		m.net.Drop(c)
	case p == nil:
	case p.pe == m.Me.PE && p.state != requesting: // a connection of this endpoint to itself: both sides close
		m.net.Use(p.pe, 0)
		m.lose(p, "the connection broke")
		m.HandleDisconnect(c) // c has ended already, so it is closed at once
	case p.state == open && !p.unconfirmed:
		m.net.Use(p.pe, 0)
		m.drop(p)
		if p.left {
			m.become(p, departed)
			return
		}
		p.broken = true
		m.connect(p)
	case p.left:
		m.drop(p)
		m.become(p, departed)
		if p.wanted {
			m.Want(p.pe)
		}
	default:
		m.retry(p, "the connection broke while it was made")
	}
}

// HandleWord handles a word that claims to be from a PE. The network does not say on which
// connection the word arrived, so only its proof counts. A word may have come before the reply that
// proves it, or by a connection that this side has dropped.
func (m *Machine) HandleWord(pe libshmem.PE, w handshake.Word, proof uint32) {
	p := m.pairs[pe]
	if p != nil && pe == m.Me.PE {
		return // this endpoint has sent it to itself
	}
	proven := p != nil && (p.state == accepted || p.state == open) && proof == m.Key.Proof(w, pe, p.requestNonce, p.replyNonce)
	switch {
	case !proven && p != nil && p.state == requesting && len(p.early) < maxEarly:
		p.early = append(p.early, earlyWord{w, proof})
	case !proven && p != nil && p.dropped && p.state != lost && p.state != departed:
		m.Belated++
	case !proven:
		m.Strangers++
	case w == handshake.Leaving:
		p.left = true
	case w == handshake.Missing && p.state == open && p.ours:
		// If the provider's queue is full now, the peer sends its reminder again.
		_ = m.net.Send(p.conn, handshake.Confirmed, m.Key.Proof(handshake.Confirmed, m.Me.PE, p.requestNonce, p.replyNonce))
	case w == handshake.Confirmed && p.state == accepted:
		m.use(p)
	}
}

// Close sends every peer the word that this endpoint leaves, and closes the connections.
func (m *Machine) Close() {
	m.closed = true
	for _, pe := range slices.Sorted(maps.Keys(m.pairs)) {
		p := m.pairs[pe]
		if p.state == accepted || p.state == open {
			// A peer that does not receive the word regards this PE as lost, not as departed.
			_ = m.net.Send(p.conn, handshake.Leaving, m.Key.Proof(handshake.Leaving, m.Me.PE, p.requestNonce, p.replyNonce))
		}
		m.drop(p)
		m.become(p, lost)
	}
	for c := range m.ending { // after the others, which end in good order
		m.net.Drop(c)
	}
	clear(m.ending)
}

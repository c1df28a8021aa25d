// Package rendezvous carries out the numbered collective steps of a job's PEs. A launcher, or the
// root of a unique id, tells a Meeting which frames the PEs have sent and which PEs have ended, and
// the Meeting sends the replies. The package knows frames and how PEs end; it does not know sockets
// and processes.
package rendezvous

import (
	"fmt"
	"sync"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/bootstrap/wire"
	"libshmem/runtime/guard"
	"libshmem/runtime/shmerr"
)

// Meeting is the state of the collective steps of one job. Its methods may be called from any
// goroutine, and do not wait.
type Meeting struct {
	send func(pe libshmem.PE, frame []byte) // see New
	// Lost is called when a step fails because pe cannot join it; wait are the PEs in the step. It
	// may be nil, and must be set before the first Hello. It is called with mu held, so it must not
	// call the Meeting, nor wait.
	Lost func(pe libshmem.PE, outcome wire.Outcome, step string, wait []libshmem.PE)
	// ReportAll: PEs that fail are reported to every PE, because no launcher ends the job.
	ReportAll bool

	secret secret.Secret // of the job

	mu      sync.Mutex
	members []member
	steps   map[stepKey]*step
}

// member is what a Meeting keeps about one PE.
type member struct {
	life     uint32 // number of times that it has left the job; it may join again
	failed   bool   // it left last because its initialisation had failed
	seq      uint32 // last step that it joined in this life
	inside   bool   // between Hello and Done or Fail
	survives bool   // it learns of others that fail, and does not end with them
	timeout  time.Duration
	waits    bool         // for the reply to step seq
	ended    bool         // its process has ended
	outcome  wire.Outcome // how, if it has ended
}

// stepKey names a step. A PE that finalizes may join again, as another program of the same shell
// script; its steps then count from 1 again.
type stepKey struct{ life, seq uint32 }

// step is a collective step in which some PEs wait for the others.
type step struct {
	kind    wire.Kind
	first   libshmem.PE // the PE that joined first
	parts   [][]byte
	joined  []bool
	count   int
	timeout time.Duration // of the PE that joined first
	timer   *time.Timer
	failure *wire.Frame // if the step has failed: the reply for PEs that join later
}

// New makes the Meeting of a job of n PEs with this secret. The Meeting calls send to send a PE a
// whole frame, with its lock held: send must not wait, nor call the Meeting. For PEs that get the
// same reply it passes the same memory, which send may refer to later and must not change.
func New(n int, secret secret.Secret, send func(pe libshmem.PE, frame []byte)) *Meeting {
	return &Meeting{send: send, secret: secret, members: make([]member, n), steps: map[stepKey]*step{}}
}

// Hello handles the first frame of a PE, which joins the job, and sends it the secret. An error is
// a breach of the protocol.
func (r *Meeting) Hello(pe libshmem.PE, g wire.Greeting) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.members[pe]
	switch {
	case g.PE != pe || g.Size != len(r.members):
		return fmt.Errorf("it says that it is PE %d of %d, not PE %d of %d", g.PE, g.Size, pe, len(r.members))
	case m.inside:
		return fmt.Errorf("it joined the job twice without leaving it")
	}
	m.inside, m.seq, m.timeout, m.survives = true, 0, g.Timeout, g.Survives
	r.send(pe, encode(wire.Frame{Kind: wire.Welcome, Payload: wire.Admission{Secret: r.secret}.Append(nil)}))
	return nil
}

// Leave handles the frame by which a PE leaves the job, in good order or because its initialisation
// has failed (failed). Steps that wait for this PE fail.
func (r *Meeting) Leave(pe libshmem.PE, failed bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.members[pe]
	if !m.inside || m.waits {
		return fmt.Errorf("it left the job in the middle of a step, or without having joined")
	}
	m.inside, m.failed = false, failed
	m.life++
	r.failAbandonedLocked()
	return nil
}

// End handles the end of a PE's process. If the PE had not left the job, End reports that to the
// PEs that continue without lost PEs or, with ReportAll, to all PEs.
func (r *Meeting) End(pe libshmem.PE, outcome wire.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.members[pe]
	m.ended, m.outcome = true, outcome
	if m.inside {
		loss := encode(wire.Frame{Kind: wire.Lost, Payload: wire.Loss{PE: pe, Outcome: outcome}.Append(nil)})
		for to := range libshmem.PE(len(r.members)) {
			if o := &r.members[to]; o.inside && (o.survives || r.ReportAll) && !o.ended && to != pe {
				r.send(to, loss)
			}
		}
	}
	r.failAbandonedLocked()
}

// Inquire replies to the inquiry of a PE: which of the PEs that it lists have left the job or have
// ended. An error is a breach of the protocol.
func (r *Meeting) Inquire(pe libshmem.PE, f wire.Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	listed, err := wire.ParsePEs(f.Payload, len(r.members))
	if err != nil {
		return err
	}
	reply := wire.Frame{Kind: wire.Outcomes}
	for _, other := range listed {
		m, outcome := &r.members[other], wire.Outcome{}
		switch {
		case m.ended && (m.inside || m.life == 0 || m.failed):
			outcome = m.outcome
		case m.ended: // after it had finalized
			outcome = wire.Outcome{How: wire.Left, Code: m.outcome.Status() & 0xff}
		case !m.inside && m.life > 0 && m.failed:
			outcome.How = wire.Failed
		case !m.inside && m.life > 0:
			outcome.How = wire.Finalized
		default:
			continue
		}
		reply.Payload = wire.Loss{PE: other, Outcome: outcome}.Append(reply.Payload)
	}
	r.send(pe, encode(reply))
	return nil
}

// PeerStatus is the stage of a PE in its life.
type PeerStatus struct {
	Inside    bool // between init and finalize
	Finalized bool // it has finalized at least once, and no later initialisation has failed
	Survives  bool // inside, in a job that continues if it is lost
}

// State returns whether a PE is in the job, whether it has finalized, and whether the job continues
// without it.
func (r *Meeting) State(pe libshmem.PE) PeerStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.members[pe]
	return PeerStatus{m.inside, m.life > 0 && !m.failed, m.inside && m.survives}
}

// Join adds a PE to the collective step that its frame f names, and sends the replies if all have
// joined. An error is a breach of the protocol.
func (r *Meeting) Join(pe libshmem.PE, f wire.Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.members[pe]
	if !m.inside || m.waits || f.Seq != m.seq+1 {
		return fmt.Errorf("it reached %v %d out of order, after step %d", f.Kind, f.Seq, m.seq)
	}
	if len(f.Payload) > wire.MaxContribution {
		return fmt.Errorf("it contributed %d bytes to %v %d, at most %d", len(f.Payload), f.Kind, f.Seq, wire.MaxContribution)
	}
	m.seq = f.Seq
	key := stepKey{m.life, f.Seq}
	s := r.steps[key]
	if s == nil {
		s = &step{kind: f.Kind, first: pe, joined: make([]bool, len(r.members)), timeout: m.timeout}
		if f.Kind == wire.Gather {
			s.parts = make([][]byte, len(r.members))
		}
		r.steps[key] = s
		if s.timeout > 0 {
			s.timer = time.AfterFunc(s.timeout, guard.Func("the bootstrap", func() { r.expire(key, s) }))
		}
	}
	if s.failure != nil {
		reply := *s.failure
		if reply.Kind == wire.Missing { // this PE is one of those that were missing
			reply.Kind = wire.Refused
			reply.Payload = []byte("the other PEs have given up waiting for this one (raise SHMEM_BOOTSTRAP_TIMEOUT)")
		}
		r.send(pe, encode(reply))
		return nil
	}
	s.joined[pe] = true
	s.count++
	m.waits = true
	if f.Kind != s.kind {
		r.failLocked(key, s, wire.Refused, fmt.Appendf(nil,
			"PE %d is in %v %d while PE %d is in %v %d (every PE must make the same collective calls in the same order)",
			pe, f.Kind, f.Seq, s.first, s.kind, f.Seq))
		return nil
	}
	if s.parts != nil {
		s.parts[pe] = f.Payload
	}
	if s.count == len(r.members) {
		r.completeLocked(key, s)
		return nil
	}
	r.checkAbandonedLocked(key, s)
	return nil
}

// completeLocked ends a step that all PEs have joined, and sends them the reply: all contributions
// for an allgather, else that the barrier is complete.
func (r *Meeting) completeLocked(key stepKey, s *step) {
	var reply []byte
	if s.kind == wire.Gather {
		if n := wire.PartsLen(s.parts); n > wire.MaxPayload {
			r.failLocked(key, s, wire.Refused, fmt.Appendf(nil, "all contributions together have %d bytes, at most %d", n, wire.MaxPayload))
			return
		}
		reply = must(wire.AppendGathered(nil, key.seq, s.parts))
	} else {
		reply = encode(wire.Frame{Kind: wire.Released, Seq: key.seq})
	}
	s.stop()
	delete(r.steps, key)
	r.replyLocked(s.waiting(), reply)
}

// expire fails a step whose timeout is over: the reply names the PEs that have not joined.
func (r *Meeting) expire(key stepKey, s *step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.steps[key] != s || s.failure != nil {
		return
	}
	a := wire.Absence{Waited: s.timeout}
	for pe, in := range libshmem.ByPE(s.joined) {
		if !in {
			a.PEs = append(a.PEs, pe)
		}
	}
	r.failLocked(key, s, wire.Missing, a.Append(nil))
}

// failAbandonedLocked fails every step that waits for a PE that cannot join it.
func (r *Meeting) failAbandonedLocked() {
	for key, s := range r.steps {
		r.checkAbandonedLocked(key, s)
	}
}

// checkAbandonedLocked fails a step if it waits for a PE that has ended or left. A step of PEs that
// leave (wire.LeaveBarrier) completes without the PEs that the others can do without.
func (r *Meeting) checkAbandonedLocked(key stepKey, s *step) {
	if s.failure != nil {
		return
	}
	if s.kind == wire.LeaveBarrier && r.restJoinedLocked(s) {
		r.completeLocked(key, s)
		return
	}
	for pe := range libshmem.PE(len(r.members)) {
		m := &r.members[pe]
		// A PE can still join if it has neither ended nor left since it began this life.
		if s.joined[pe] || !m.ended && m.life <= key.life || s.kind == wire.LeaveBarrier && m.isDispensable() {
			continue
		}
		loss := wire.Loss{PE: pe, Outcome: m.outcome}
		if m.life > key.life {
			loss.Outcome = wire.Outcome{How: wire.Finalized}
			if m.failed && m.life == key.life+1 {
				loss.Outcome.How = wire.Failed
			}
		}
		if r.Lost != nil {
			r.Lost(pe, loss.Outcome, fmt.Sprintf("%v %d", s.kind, key.seq), s.waiting())
		}
		r.failLocked(key, s, wire.PeerFailed, loss.Append(nil))
		return
	}
}

// isDispensable reports whether PEs that leave need not wait for this one: it has ended while it
// was in the job, which continues without it. One that left before it ended is in no later step.
func (m *member) isDispensable() bool { return m.ended && m.inside && m.survives }

// restJoinedLocked reports whether a step is complete: every PE has joined it, or is dispensable.
func (r *Meeting) restJoinedLocked(s *step) bool {
	for pe := range libshmem.PE(len(r.members)) {
		if m := &r.members[pe]; !s.joined[pe] && !m.isDispensable() {
			return false
		}
	}
	return true
}

// failLocked ends a step with a failure, which PEs that join later also get.
func (r *Meeting) failLocked(key stepKey, s *step, kind wire.Kind, payload []byte) {
	s.stop()
	s.failure = &wire.Frame{Kind: kind, Seq: key.seq, Payload: payload}
	s.parts = nil
	r.replyLocked(s.waiting(), encode(*s.failure))
}

// replyLocked sends PEs the reply to their step, encoded once for all of them: with 10,000 PEs the
// reply to an allgather has 2.3 MB.
func (r *Meeting) replyLocked(pes []libshmem.PE, frame []byte) {
	for _, pe := range pes {
		r.members[pe].waits = false
		r.send(pe, frame)
	}
}

// encode encodes a frame that this package has made.
func encode(f wire.Frame) []byte { return must(wire.Append(nil, f)) }

// must panics if a frame cannot be encoded.
func must(frame []byte, err error) []byte {
	if err != nil {
		panic(err) // bounds were checked when the frame was made
	}
	return frame
}

// waiting lists the PEs that have joined the step.
func (s *step) waiting() []libshmem.PE {
	var pes []libshmem.PE
	for pe, in := range libshmem.ByPE(s.joined) {
		if in {
			pes = append(pes, pe)
		}
	}
	return pes
}

// stop ends the timer of the step's timeout.
func (s *step) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// WaitFor returns a text for a message about a PE that will not join a step: "PEs 0, 2 wait for it
// in barrier 3". wait are the PEs that wait.
func WaitFor(step string, wait []libshmem.PE) string {
	verb := "waits"
	if len(wait) > 1 {
		verb = "wait"
	}
	return fmt.Sprintf("%s %s for it in %s", shmerr.PEs(wait), verb, step)
}

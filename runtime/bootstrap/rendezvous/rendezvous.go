// Package rendezvous is where PEs meet in numbered steps. A launcher or root hands the frames of a
// job's PEs to a Meeting, which answers, and reports to it PEs that have ended. It knows frames and
// fates; it does not know sockets and processes.
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

// Meeting is the exchange between the PEs of one job. Its functions may be called from any
// goroutine, and do not wait.
type Meeting struct {
	send func(pe libshmem.PE, frame []byte) // never blocks
	// Lost is called when a step failed since pe cannot join; it may be nil. It is set before the
	// first Hello.
	Lost func(pe libshmem.PE, fate wire.Fate, step string, wait []libshmem.PE)
	// ReportAll: every PE learns of PEs that fail, since no launcher ends them.
	ReportAll bool

	secret secret.Secret // of the job

	mu      sync.Mutex
	members []member
	steps   map[stepKey]*step
}

// member is the rendezvous' knowledge of one PE.
type member struct {
	life    uint32 // times that it has left
	failed  bool   // in its initialisation, before it left last
	seq     uint32 // last step that it joined in this life
	inside  bool   // between Hello and Done or Fail
	goesOn  bool   // it learns of others that fail, and does not end with them
	timeout time.Duration
	waits   bool // for the answer to step seq
	ended   bool
	fate    wire.Fate
}

// stepKey names a step. A PE that finalizes may come again, as another program
// of the same shell script; its steps then count from 1 again.
type stepKey struct{ life, seq uint32 }

type step struct {
	kind    wire.Kind
	first   libshmem.PE // PE that came first
	parts   [][]byte
	joined  []bool
	count   int
	timeout time.Duration // of the PE that came first
	timer   *time.Timer
	failure *wire.Frame // the answer for PEs that come late
}

// New makes the room of a job of n PEs with this secret. send gets the room's answer to a PE, a
// whole frame, and must not wait. PEs with the same answer get the same memory, which send may keep
// and must not change.
func New(n int, secret secret.Secret, send func(pe libshmem.PE, frame []byte)) *Meeting {
	return &Meeting{send: send, secret: secret, members: make([]member, n), steps: map[stepKey]*step{}}
}

// Hello notes that a PE has begun. An error is a breach of the protocol.
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
	m.inside, m.seq, m.timeout, m.goesOn = true, 0, g.Timeout, g.GoesOn
	r.send(pe, encode(wire.Frame{Kind: wire.Welcome, Payload: wire.Admission{Secret: r.secret}.Append(nil)}))
	return nil
}

// Done notes that a PE leaves, in good order or because its initialisation has failed.
func (r *Meeting) Done(pe libshmem.PE, failed bool) error {
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

// End notes that a PE's process is gone. PEs that go on learn of it, if it had not left.
func (r *Meeting) End(pe libshmem.PE, fate wire.Fate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.members[pe]
	m.ended, m.fate = true, fate
	if m.inside {
		loss := encode(wire.Frame{Kind: wire.Lost, Payload: wire.Loss{PE: pe, Fate: fate}.Append(nil)})
		for to := range libshmem.PE(len(r.members)) {
			if o := &r.members[to]; o.inside && (o.goesOn || r.ReportAll) && !o.ended && to != pe {
				r.send(to, loss)
			}
		}
	}
	r.failAbandonedLocked()
}

// Inquire answers a PE which of the PEs that it asks about have left the job or have ended. An
// error is a breach of the protocol.
func (r *Meeting) Inquire(pe libshmem.PE, f wire.Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, err := wire.ParsePEs(f.Payload, len(r.members))
	if err != nil {
		return err
	}
	reply := wire.Frame{Kind: wire.Fates}
	for _, other := range of {
		m, fate := &r.members[other], wire.Fate{}
		switch {
		case m.ended && (m.inside || m.life == 0 || m.failed):
			fate = m.fate
		case m.ended:
			fate = wire.Fate{How: wire.Left, Code: m.fate.Status() & 0xff}
		case !m.inside && m.life > 0 && m.failed:
			fate.How = wire.Failed
		case !m.inside && m.life > 0:
			fate.How = wire.Finalized
		default:
			continue
		}
		reply.Payload = wire.Loss{PE: other, Fate: fate}.Append(reply.Payload)
	}
	r.send(pe, encode(reply))
	return nil
}

// PeerStatus is the stage of a PE in its life.
type PeerStatus struct {
	Inside    bool // between init and finalize
	Finalized bool // it has been, at least once, and has not failed in an initialisation since
	GoesOn    bool // inside, and the others can do without it
}

// State returns where a PE is in its life.
func (r *Meeting) State(pe libshmem.PE) PeerStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.members[pe]
	return PeerStatus{m.inside, m.life > 0 && !m.failed, m.inside && m.goesOn}
}

// Join adds a PE to the step of f. An error is a breach of the protocol.
func (r *Meeting) Join(pe libshmem.PE, f wire.Frame) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.members[pe]
	if !m.inside || m.waits || f.Seq != m.seq+1 {
		return fmt.Errorf("it came to %v %d out of turn, after step %d", f.Kind, f.Seq, m.seq)
	}
	if len(f.Payload) > wire.MaxContribution {
		return fmt.Errorf("it gave %d bytes to %v %d, at most %d", len(f.Payload), f.Kind, f.Seq, wire.MaxContribution)
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
		f := *s.failure
		if f.Kind == wire.Missing {
			f.Kind = wire.Refused
			f.Payload = []byte("the other PEs have given up waiting for this one (raise SHMEM_BOOTSTRAP_TIMEOUT)")
		}
		r.send(pe, encode(f))
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
	r.answerLocked(s.waiting(), reply)
}

// expire is the end of a step's time.
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

// failAbandonedLocked fails every step that waits for a PE that cannot come.
func (r *Meeting) failAbandonedLocked() {
	for key, s := range r.steps {
		r.checkAbandonedLocked(key, s)
	}
}

func (r *Meeting) checkAbandonedLocked(key stepKey, s *step) {
	if s.failure != nil {
		return
	}
	if s.kind == wire.Part && r.restCameLocked(s) {
		r.completeLocked(key, s)
		return
	}
	for pe := range libshmem.PE(len(r.members)) {
		m := &r.members[pe]
		if s.joined[pe] || !m.ended && m.life <= key.life || s.kind == wire.Part && m.ended && m.goesOn {
			continue
		}
		loss := wire.Loss{PE: pe, Fate: m.fate}
		if m.life > key.life {
			loss.Fate = wire.Fate{How: wire.Finalized}
			if m.failed && m.life == key.life+1 {
				loss.Fate.How = wire.Failed
			}
		}
		if r.Lost != nil {
			r.Lost(pe, loss.Fate, fmt.Sprintf("%v %d", s.kind, key.seq), s.waiting())
		}
		r.failLocked(key, s, wire.PeerFailed, loss.Append(nil))
		return
	}
}

// restCameLocked reports whether all PEs have come, except PEs that have ended and that the others
// can do without.
func (r *Meeting) restCameLocked(s *step) bool {
	for pe := range libshmem.PE(len(r.members)) {
		if m := &r.members[pe]; !s.joined[pe] && !(m.ended && m.inside && m.goesOn) {
			return false
		}
	}
	return true
}

func (r *Meeting) failLocked(key stepKey, s *step, kind wire.Kind, payload []byte) {
	s.stop()
	s.failure = &wire.Frame{Kind: kind, Seq: key.seq, Payload: payload}
	s.parts = nil
	r.answerLocked(s.waiting(), encode(*s.failure))
}

// answerLocked sends PEs the answer to their step, encoded once for all of them: with 10,000 PEs
// the answer to an allgather has 2.3 MB.
func (r *Meeting) answerLocked(pes []libshmem.PE, frame []byte) {
	for _, pe := range pes {
		r.members[pe].waits = false
		r.send(pe, frame)
	}
}

func encode(f wire.Frame) []byte { return must(wire.Append(nil, f)) }

func must(frame []byte, err error) []byte {
	if err != nil {
		panic(err) // bounds were checked when the frame was made
	}
	return frame
}

// waiting lists the PEs that have joined.
func (s *step) waiting() []libshmem.PE {
	var pes []libshmem.PE
	for pe, in := range libshmem.ByPE(s.joined) {
		if in {
			pes = append(pes, pe)
		}
	}
	return pes
}

func (s *step) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// WaitFor names the PEs that wait for one that will not come.
func WaitFor(step string, wait []libshmem.PE) string {
	verb := "waits"
	if len(wait) > 1 {
		verb = "wait"
	}
	return fmt.Sprintf("%s %s for it in %s", shmerr.PEs(wait), verb, step)
}

package proxy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"libshmem"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// quietRig is a context whose PEs answer when the test says so.
type quietRig struct {
	generations
	t      *testing.T
	state  layout.State
	peers  []layout.Peer
	full   bool  // no flush finds room
	broken error // why every flush fails; nil: none does
	stuck  int
	batch  bool // a batch is open that goes to PE 1
	closes [][]libshmem.PE
}

func newQuietRig(t *testing.T, n int) *quietRig {
	r := &quietRig{t: t, peers: make([]layout.Peer, n)}
	r.generations = newGenerations(r, &r.state, r.peers, make([]libshmem.PE, n))
	return r
}

func (r *quietRig) flush(pe libshmem.PE) call.Status {
	p := &r.peers[pe]
	switch {
	case p.Flushing:
		return call.Pending
	case r.broken != nil:
		return call.Failed
	case r.full:
		return call.Again
	}
	p.FlushCharged, p.FlushWrote, p.Flushing = p.Charged, p.Wrote, true
	return call.Pending
}

func (r *quietRig) Err() error { return r.broken }
func (r *quietRig) noteStuck() { r.stuck++ }

// sendBatches sends the last message of the generation, as a batch does.
func (r *quietRig) sendBatches() {
	if r.batch {
		r.batch = false
		r.post(1)
	}
}

func (r *quietRig) noteSentTo(pes []libshmem.PE) {
	r.closes = append(r.closes, append([]libshmem.PE(nil), pes...))
}

// post is a message that a PE has to apply.
func (r *quietRig) post(pe libshmem.PE) {
	r.peers[pe].Charged++
	r.MarkDirty(&r.peers[pe], pe)
}

// answer answers the flush under way, for a PE.
func (r *quietRig) answer(pe libshmem.PE) {
	p := &r.peers[pe]
	if !p.Flushing {
		r.t.Fatalf("PE %d was not asked", pe)
	}
	p.Acked, p.WroteAcked, p.Flushing = p.FlushCharged, p.FlushWrote, false
	r.HandleReply(p, pe)
}

func (r *quietRig) want(what string, ticket call.Ticket, want call.Status) {
	r.t.Helper()
	if st, err := r.Done(ticket); st != want {
		r.t.Errorf("%s: %v (%v), want %v", what, st, err, want)
	}
}

// TestCovers: quiets wait for earlier messages and for no others.
func TestCovers(t *testing.T) {
	r := newQuietRig(t, 3)
	r.want("a quiet of nothing", r.Begin(), call.Done)
	r.post(1)
	first := r.Begin()
	r.want("before the answer", first, call.Pending)
	r.post(2)
	second, third := r.Begin(), r.Begin()
	if second != third || second == first {
		t.Errorf("tickets %d, %d and %d: quiets that begin while one is under way share a generation", first, second, third)
	}
	if r.peers[2].Flushing {
		t.Error("a generation was closed before the one before it was complete")
	}
	r.answer(1)
	r.want("after the answer", first, call.Done)
	r.want("the next, without its answer", second, call.Pending)
	r.answer(2)
	r.want("the next", second, call.Done)
	if got := fmt.Sprint(r.closes); got != "[[] [1] [2]]" {
		t.Errorf("closed %v", got)
	}
}

// TestClosing: messages that leave as a generation is closed belong to it.
func TestClosing(t *testing.T) {
	r := newQuietRig(t, 2)
	r.batch = true
	ticket := r.Begin()
	r.want("the batch has left", ticket, call.Pending)
	r.answer(1)
	r.want("the batch is applied", ticket, call.Done)
}

// TestOldAnswer: an answer that covers less than the goal makes the context ask again.
func TestOldAnswer(t *testing.T) {
	r := newQuietRig(t, 2)
	r.post(1)
	r.flush(1)
	r.post(1)
	ticket := r.Begin()
	r.answer(1)
	r.want("an answer from before", ticket, call.Pending)
	r.answer(1)
	r.want("the answer", ticket, call.Done)
}

// TestLate: a flush that found no room is tried again, and reported as waiting once.
func TestLate(t *testing.T) {
	r := newQuietRig(t, 2)
	r.post(1)
	r.full = true
	ticket := r.Begin()
	if r.RetryFlushes(); r.stuck != 2 || len(r.Late) != 1 {
		t.Errorf("stuck %d times, %d late", r.stuck, len(r.Late))
	}
	r.full = false
	r.RetryFlushes()
	r.answer(1)
	r.want("after room", ticket, call.Done)
}

var errBroken = errors.New("the link is down")

// TestFailures: each failure is reported to the quiets of its generation and to no others. Tickets
// that are too old to be known get a failure.
func TestFailures(t *testing.T) {
	r := newQuietRig(t, 2)
	r.Fail(r.Parity(), errBroken)
	bad := r.Begin()
	good := r.Begin()
	r.want("the generation that failed", bad, call.Failed)
	r.want("the one behind it", good, call.Done)
	if _, err := r.Done(bad); err != errBroken || r.state.Failures != 1 {
		t.Errorf("failed because of %v; C is told: %d", err, r.state.Failures)
	}
	for range 9 {
		r.Fail(r.Parity(), errBroken)
		r.Begin()
	}
	r.want("after nine others", bad, call.Failed)
	r.want("one that did not fail, after nine others", good, call.Failed)
	r.want("the present one", r.Begin(), call.Done)
}

// TestQuietFlushFails fails the quiet whose flush the network refuses; the next one asks again.
func TestQuietFlushFails(t *testing.T) {
	r := newQuietRig(t, 2)
	r.post(1)
	r.broken = errBroken
	r.want("the network refuses", r.Begin(), call.Failed)
	r.broken = nil
	next := r.Begin()
	r.want("the next", next, call.Pending)
	r.answer(1)
	r.want("the next, answered", next, call.Done)
}

// TestLosePE: the quiets that cover messages that a lost PE has not applied fail, and no others.
func TestLosePE(t *testing.T) {
	r := newQuietRig(t, 3)
	r.post(1)
	first := r.Begin()
	r.post(2)
	r.LosePE(&r.peers[1], errBroken)
	r.want("it covers messages to the lost PE", first, call.Failed)
	second := r.Begin()
	r.answer(2)
	r.want("it does not", second, call.Done)
	r.post(2)
	r.LosePE(&r.peers[2], errBroken)
	r.want("posted and not asked for yet", r.Begin(), call.Failed)
}

// TestAccount counts a message that left late for the generation of its parity.
func TestAccount(t *testing.T) {
	r := newQuietRig(t, 2)
	parity := r.Parity()
	r.Pending[parity]++ // a write, whose signal waits for it
	ticket := r.Begin()
	r.want("the write is under way", ticket, call.Pending)
	r.peers[1].Charged++
	r.AwaitAcknowledgement(1, parity)
	r.Pending[parity]--
	r.want("the signal has left", ticket, call.Pending)
	r.answer(1)
	r.want("the signal is applied", ticket, call.Done)
}

// TestRandomQuiets takes random steps: a quiet is done only when all earlier messages are applied,
// and every quiet ends when all PEs answer.
func TestRandomQuiets(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		r := newQuietRig(t, 4)
		type asked struct {
			ticket call.Ticket
			posted [4]uint64
		}
		var quiets []asked
		for range 200 {
			pe := libshmem.PE(rng.IntN(4))
			switch rng.IntN(6) {
			case 0, 1:
				r.post(pe)
			case 2:
				q := asked{ticket: r.Begin()}
				for i := range q.posted {
					q.posted[i] = r.peers[i].Charged
				}
				quiets = append(quiets, q)
			case 3:
				r.full = rng.IntN(3) == 0
				r.RetryFlushes()
			default:
				if r.peers[pe].Flushing {
					r.answer(pe)
				}
			}
			for _, q := range quiets {
				st, err := r.Done(q.ticket)
				if err != nil {
					t.Fatal(err)
				}
				for i, n := range q.posted {
					if st == call.Done && r.peers[i].Acked < n {
						t.Fatalf("seed %d: a quiet is done, and PE %d has applied %d of %d", seed, i, r.peers[i].Acked, n)
					}
				}
			}
		}
		r.full = false
		for range 10 {
			r.RetryFlushes()
			r.Settle()
			for pe := range libshmem.PE(4) {
				if r.peers[pe].Flushing {
					r.answer(pe)
				}
			}
		}
		for _, q := range quiets {
			r.want(fmt.Sprintf("seed %d, at the end", seed), q.ticket, call.Done)
		}
	}
}

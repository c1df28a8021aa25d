package proxy

import (
	"errors"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
)

// contextOperations returns the operations of context 3, with two PEs.
func contextOperations() *operations {
	table := newTokenTable(maxBytes)
	state, peers := new(layout.State), make([]layout.Peer, 2)
	rings := make([]uint64, flight.RingsSize(len(peers))/8)
	return &operations{
		State: state, Net: new(network), Table: &table, Peers: peers, Number: 3,
		Recorder: flight.Open(new(flight.Head), unsafe.Pointer(&rings[0]), 0, state, peers),
	}
}

// TestTake notes in a record to which context and generation an operation belongs, and counts the
// operations that find no token.
func TestTake(t *testing.T) {
	o := contextOperations()
	o.Quiets.Open = 7
	p := &o.Peers[1]
	var all []fabric.Token
	for {
		token, r := o.AllocateToken(useRead, p, 1)
		if r == nil {
			break
		}
		if r.Parity != 1 || r.Context != 3 || r.PE != 1 {
			t.Fatalf("record %+v", *r)
		}
		all = append(all, token)
	}
	if p.Count[layout.NoCredit] != 1 || o.HasRoom(1, p, 0) || p.Count[layout.NoCredit] != 2 {
		t.Errorf("%d refusals are counted, want 2", p.Count[layout.NoCredit])
	}
	for _, token := range all {
		o.ReleaseToken(token)
	}
	if p.Tokens != 0 || !o.HasRoom(1, p, 0) {
		t.Errorf("%d tokens are left", p.Tokens)
	}
}

// TestRefused distinguishes a provider without room from one that has failed.
func TestRefused(t *testing.T) {
	o := contextOperations()
	p := &o.Peers[0]
	if st := o.StatusOfRefusal(0, p, fabric.ErrAgain); st != call.Again || p.Count[layout.Retries] != 1 || o.Net.Err != nil {
		t.Errorf("no room: %v, %d retries, reason %v", st, p.Count[layout.Retries], o.Net.Err)
	}
	broken := errors.New("broken")
	if st := o.StatusOfRefusal(0, p, broken); st != call.Failed || p.Count[layout.Retries] != 1 || o.Net.Err != broken {
		t.Errorf("broken: %v, %d retries, reason %v", st, p.Count[layout.Retries], o.Net.Err)
	}
	if st := o.CountNoTurn(0, p); st != call.Again || p.Count[layout.NoTurn] != 1 {
		t.Errorf("no turn: %v, counted %d times", st, p.Count[layout.NoTurn])
	}
}

// TestComplete completes a request, and counts it.
func TestComplete(t *testing.T) {
	o := contextOperations()
	var r call.Request
	o.Complete(&r, 5, 9)
	if r.Done != 1 || r.Status != 5 || r.Value != 9 || o.Finished != 1 {
		t.Errorf("request %+v, %d finished", r, o.Finished)
	}
}

// TestOutside ends an operation that another package carries out: its request first, or the quiets
// that wait for it.
func TestOutside(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name     string
		request  bool
		finished bool // before its end
		err      error
		status   int32 // of the request
		fails    bool  // the quiets
	}{
		{name: "request", request: true},
		{name: "failed request", request: true, err: broken, status: 5},
		{name: "quiet"},
		{name: "failed quiet", err: broken, fails: true},
		{name: "finished request", request: true, finished: true, err: broken, fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := contextOperations()
			_, s := o.AllocateToken(usePut, &o.Peers[1], 1)
			var r call.Request
			if c.request {
				s.Request = &r
			}
			if o.AwaitByQuiets(s); o.Quiets.Pending[s.Parity] != 1 {
				t.Error("no quiet waits")
			}
			if c.finished {
				o.CompleteSource(s)
			}
			var status int32
			if c.err != nil {
				status = 5
			}
			o.CompleteOperation(s, status, c.err)
			if (r.Done == 1) != c.request || r.Status != c.status {
				t.Errorf("request %+v", r)
			}
			if failed := o.Quiets.Lost()[s.Parity] != nil; failed != c.fails {
				t.Errorf("the quiets failed: %v", failed)
			}
			if s.Request != nil || o.Quiets.Pending != [3]int{} {
				t.Errorf("pending %v, request %v", o.Quiets.Pending, s.Request)
			}
		})
	}
}

package ops

import (
	"errors"
	"testing"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/credit"
	"libshmem/runtime/proxy/endpoint"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
)

// context returns the operations of context 3, with two PEs.
func context() *Operations {
	table := New(credit.MaxBytes)
	state, peers := new(layout.State), make([]layout.Peer, 2)
	rings := make([]uint64, flight.RingsSize(len(peers))/8)
	return &Operations{
		State: state, Net: new(endpoint.Endpoint), Table: &table, Peers: peers, Number: 3,
		Recorder: flight.Open(new(flight.Head), unsafe.Pointer(&rings[0]), 0, state, peers),
	}
}

// TestTake notes in a record to which context and generation an operation belongs, and counts the
// operations that find no token.
func TestTake(t *testing.T) {
	o := context()
	o.Quiets.Open = 7
	p := &o.Peers[1]
	var all []fabric.Token
	for {
		token, r := o.Take(UseRead, p, 1)
		if r == nil {
			break
		}
		if r.Lane != 1 || r.Stream != 3 || r.PE != 1 {
			t.Fatalf("record %+v", *r)
		}
		all = append(all, token)
	}
	if p.Count[layout.NoCredit] != 1 || o.Room(1, p, 0) || p.Count[layout.NoCredit] != 2 {
		t.Errorf("%d refusals are counted, want 2", p.Count[layout.NoCredit])
	}
	for _, token := range all {
		o.Give(token)
	}
	if p.Tokens != 0 || !o.Room(1, p, 0) {
		t.Errorf("%d tokens are left", p.Tokens)
	}
}

// TestRefused distinguishes a provider without room from one that has failed.
func TestRefused(t *testing.T) {
	o := context()
	p := &o.Peers[0]
	if st := o.Refused(0, p, fabric.ErrAgain); st != call.Again || p.Count[layout.Retries] != 1 || o.Net.Err != nil {
		t.Errorf("no room: %v, %d retries, reason %v", st, p.Count[layout.Retries], o.Net.Err)
	}
	broken := errors.New("broken")
	if st := o.Refused(0, p, broken); st != call.Failed || p.Count[layout.Retries] != 1 || o.Net.Err != broken {
		t.Errorf("broken: %v, %d retries, reason %v", st, p.Count[layout.Retries], o.Net.Err)
	}
	if st := o.NoTurn(0, p); st != call.Again || p.Count[layout.NoTurn] != 1 {
		t.Errorf("no turn: %v, counted %d times", st, p.Count[layout.NoTurn])
	}
}

// TestTell ends a request, and counts it.
func TestTell(t *testing.T) {
	o := context()
	var r call.Request
	o.Tell(&r, 5, 9)
	if r.Done != 1 || r.Status != 5 || r.Value != 9 || o.Finished != 1 {
		t.Errorf("request %+v, %d finished", r, o.Finished)
	}
}

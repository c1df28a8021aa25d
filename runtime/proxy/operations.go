package proxy

import (
	"sync/atomic"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
)

// operations has the state that all operations of a context share: records by token, peers, quiets
// and the network. It decides whether a caller may have another token (tokens.go). The sender, the
// transfers and the receiver of a context have a pointer to it; they know what an operation does,
// and when it ends. All contexts of an engine share Net and Table.
type operations struct {
	*layout.State
	Net      *network
	Table    *tokenTable
	Recorder flight.Recorder
	Peers    []layout.Peer
	Quiets   generations
	Number   uint32 // of the context; 0: the first
}

// AllocateToken returns a free token and its record, for an operation of use u on a PE that belongs
// to the open generation. It returns nil if all tokens are in flight, which is counted for the PE.
func (o *operations) AllocateToken(u use, p *layout.Peer, pe libshmem.PE) (fabric.Token, *record) {
	t, r := o.Table.Allocate(u, p, pe)
	if r == nil {
		o.CountNoCredit(pe, p)
		return 0, nil
	}
	r.Parity, r.Context = o.Quiets.Parity(), uint16(o.Number)
	return t, r
}

// ReleaseToken frees a token, whose operation is complete or was not posted.
func (o *operations) ReleaseToken(t fabric.Token) {
	o.Table.Release(t, &o.Peers[o.Table.Records[t].PE])
}

// HasRoom reports whether a caller may start an operation with n one-sided bytes on a PE: a token
// is free, and the PE has credit for one more token and n bytes.
func (o *operations) HasRoom(pe libshmem.PE, p *layout.Peer, n uint64) bool {
	if !o.Table.HasRoom(p, n) {
		o.CountNoCredit(pe, p)
		return false
	}
	return true
}

// CountNoCredit counts an operation that is refused because its PE has no credit or no token is
// free.
func (o *operations) CountNoCredit(pe libshmem.PE, p *layout.Peer) {
	p.Count[layout.NoCredit]++
	o.Recorder.NoteAgain(pe, layout.EventNoCredit)
}

// CountNoTurn counts an operation that is refused because earlier messages to its PE are parked,
// and returns Again, the status of such an operation.
func (o *operations) CountNoTurn(pe libshmem.PE, p *layout.Peer) call.Status {
	p.Count[layout.NoTurn]++
	o.Recorder.NoteAgain(pe, layout.EventNoTurn)
	return call.Again
}

// StatusOfRefusal returns the status of an operation that the provider did not accept: Again if its
// queue is full, which is counted and recorded, else Failed.
func (o *operations) StatusOfRefusal(pe libshmem.PE, p *layout.Peer, err error) call.Status {
	if err == fabric.ErrAgain {
		p.Count[layout.Retries]++
		o.Recorder.NoteAgain(pe, layout.EventNoRoom)
		return call.Again
	}
	return o.Net.Fail(err)
}

// Complete completes the request of a caller with a status and a value. The status is 0 (Done) if
// the operation succeeded, otherwise Failed or an error number; the value is what an atomic
// operation fetched, otherwise 0. Done of the request is stored last and atomically,
// because the caller's thread polls it without the lock.
func (o *operations) Complete(r *call.Request, status int32, value uint64) {
	o.Finished++
	r.Status, r.Value = status, value
	atomic.StoreUint32(&r.Done, 1)
}

// AwaitByQuiets makes quiets wait for an operation that the GPU stage carries out.
func (o *operations) AwaitByQuiets(s *record) {
	s.Awaited = true
	o.Quiets.Pending[s.Parity]++
}

// CompleteSource completes the request of an operation whose source may be reused.
func (o *operations) CompleteSource(s *record) {
	if s.Request != nil {
		o.Complete(s.Request, int32(call.Done), 0)
		s.Request = nil
	}
}

// CompleteOperation completes an operation for its request, or for quiets if it has none: then a
// failure is that of its generation. Awaited says that a generation still counts the operation.
func (o *operations) CompleteOperation(s *record, status int32, err error) {
	switch {
	case s.Request != nil:
		if err != nil {
			o.Net.Err = err
		}
		o.Complete(s.Request, status, 0)
		s.Request = nil
	case err != nil:
		o.Quiets.Fail(s.Parity, err)
	}
	if s.Awaited {
		s.Awaited = false
		o.Quiets.Pending[s.Parity]--
	}
}

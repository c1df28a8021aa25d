package proxy

import (
	"sync/atomic"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/proxy/ops"
)

// take gives out a token and its record, for an operation of the open generation; nil if all are in
// flight.
func (e *Engine) take(u ops.Use, p *layout.Peer, pe fabric.PE) (fabric.Token, *ops.Record) {
	t, r := e.table.Take(u, p, pe)
	if r == nil {
		e.noCredit(pe, p)
		return 0, nil
	}
	r.Lane, r.Stream = e.quiets.Parity(), uint16(e.number)
	return t, r
}

// give takes a token back.
func (e *Engine) give(t fabric.Token) { e.table.Give(t, &e.peers[e.table.Records[t].PE]) }

// finish tells the caller of an operation that it is done.
func (e *Engine) finish(r *Request, status int32, value uint64) {
	e.Finished++
	r.Status, r.Value = status, value
	atomic.StoreUint32(&r.Done, 1)
}

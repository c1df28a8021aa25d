package proxy

import (
	"libshmem"
	"libshmem/fabric"
)

// These methods are for operations that another package carries out by itself. It names them by
// their tokens (gpustage.Engine).

// Await makes quiets wait for an operation.
func (o *operations) Await(t fabric.Token) {
	s := &o.Table.Records[t]
	s.Awaited = true
	o.Quiets.Pending[s.Lane]++
}

// Touch notes that the next quiet has to ask a PE.
func (o *operations) Touch(pe libshmem.PE) { o.Quiets.Touch(&o.Peers[pe], pe) }

// Finish ends the request of an operation whose source may be reused.
func (o *operations) Finish(t fabric.Token) {
	if s := &o.Table.Records[t]; s.Request != nil {
		o.Tell(s.Request, 0, 0)
		s.Request = nil
	}
}

// Conclude ends an operation for its request and for quiets.
func (o *operations) Conclude(t fabric.Token, status int32, err error) {
	s := &o.Table.Records[t]
	switch {
	case s.Request != nil:
		if err != nil {
			o.Net.Err = err
		}
		o.Tell(s.Request, status, 0)
		s.Request = nil
	case err != nil:
		o.Quiets.Fail(s.Lane, err)
	}
	if s.Awaited {
		s.Awaited = false
		o.Quiets.Pending[s.Lane]--
	}
}

// Spoil fails the quiet that waits for an operation.
func (o *operations) Spoil(t fabric.Token, err error) { o.Quiets.Fail(o.Table.Records[t].Lane, err) }

// Question returns the number that an answer has to name.
func (o *operations) Question(t fabric.Token) uint32 { return o.Table.Question(t) }

// Pend makes quiets wait for work without a token.
func (o *operations) Pend() uint8 {
	l := o.Quiets.Parity()
	o.Quiets.Pending[l]++
	return uint8(l)
}

// Unpend ends that wait.
func (o *operations) Unpend(l uint8) { o.Quiets.Pending[l]-- }

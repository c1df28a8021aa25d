package proxy

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// A PE is lost when it has ended or the network cannot reach it any more. It stays lost: a process
// that is started in its place is another PE of another job. Operations under way with it end with
// an error, later operations on it fail at once, and its messages that were not applied are
// dropped. The other PEs notice nothing.
//
// The provider uses the memory of an operation, such as a write, until it completes the operation,
// so a token may be in use for longer than its operation.

// OnLost sets the function to call when the network cannot reach a PE any more. The function is
// called with the lock held, after this engine has marked the PE as lost. Without the function such
// a loss ends the job. OnLost must be called before Connect. On a network that does not say which
// injected message has failed, no message is injected from then on.
func (e *Engine) OnLost(f func(pe libshmem.PE, err error)) {
	e.ops.Net.OnLost = f
	if e.ops.Net.Caps.InjectBlind {
		e.ops.Net.Caps.MaxInject, e.MaxInject = 0, 0
	}
}

// Lose marks a PE as lost, in all contexts: operations on it fail from now on, and threads that
// sleep are woken to see that. A second call changes nothing.
func (e *Engine) Lose(pe libshmem.PE, reason string) {
	if e.ops.Net.IsLost(pe) {
		return
	}
	err := e.ops.Net.MarkLost(pe, len(e.ops.Peers), reason)
	e.ops.Recorder.Note(pe, layout.EventLost, 0, 0)
	e.forEachContext(func(s *Engine) { s.loseOwn(pe, err) })
	e.WakeSleepers()
}

// loseOwn handles, in one context, the loss of a PE: it drops the messages that wait for the PE,
// fails the operations on it, and makes quiets stop waiting for it.
func (e *Engine) loseOwn(pe libshmem.PE, err error) {
	p := &e.ops.Peers[pe]
	p.Lose()
	e.out.Drop(pe, p)
	e.in.Early.Drop(uint32(pe))
	e.endOperations(pe, err)
	e.ops.Quiets.LosePE(p, err)
	if e.gpu != nil && e.ops.Number == 0 {
		e.gpu.Lose(pe)
	}
	e.ops.Quiets.Settle()
}

// handleUnreachable handles a PE that the network cannot reach any more, with the provider's error.
// The PE is lost, or the job ends if no function handles losses (OnLost).
func (e *Engine) handleUnreachable(pe libshmem.PE, err error) {
	switch {
	case e.ops.Net.IsLost(pe):
	case e.ops.Net.OnLost == nil:
		e.ops.Net.Fatal(err)
	default:
		e.Lose(pe, "cannot be reached any more: "+err.Error())
		e.ops.Net.OnLost(pe, err)
	}
}

// disconnected reports whether an operation failed because its connection is gone, and not because
// of the operation itself. Over tcp libfabric passes on the error of the socket: a PE that ends in
// the middle of a reply resets it, or leaves it not connected. Networks without connections have
// other error numbers, and there a failed message shows that a PE is gone.
func disconnected(code int32) bool {
	switch unix.Errno(code) {
	case unix.ECANCELED, unix.ECONNABORTED, unix.EPIPE, unix.ESHUTDOWN, unix.ECONNRESET, unix.ENOTCONN:
		return true
	}
	return false
}

// endOperations fails the operations of this context on a lost PE, for the callers and quiets that
// wait for them. A token that the provider still uses is freed later, by freeEnded.
func (e *Engine) endOperations(pe libshmem.PE, err error) {
	for t := fabric.Token(layout.Receives); t < layout.Tokens; t++ {
		s := &e.ops.Table.Records[t]
		if s.Use == 0 || s.PE != pe || s.Ended || uint32(s.Context) != e.ops.Number {
			continue
		}
		switch s.Use {
		case useWrite:
			e.rma.Uncount(s)
		case useWaits, useDeparts, useQueued:
			e.ops.Quiets.Pending[s.Parity]--
		case useRead, useReply:
			if s.Request == nil {
				e.ops.Quiets.Pending[s.Parity]--
			}
		default:
			continue // no caller waits for a message, and the GPU stage ends the other kinds
		}
		if s.Request != nil {
			e.ops.Net.Err = err
			e.ops.Complete(s.Request, int32(Failed), 0)
			s.Request = nil
		} else {
			e.ops.Quiets.Fail(s.Parity, err)
		}
		if s.Use == useReply || s.Use == useWaits || s.Use == useDeparts || s.Use == useQueued {
			e.ops.ReleaseToken(t)
		} else {
			s.Ended = true
		}
	}
}

// freeEnded frees the token of an operation that endOperations failed, when the provider completes
// the operation. It returns false, and does nothing, for any other operation.
func (e *Engine) freeEnded(t fabric.Token) bool {
	s := &e.ops.Table.Records[t]
	if !s.Ended {
		return false
	}
	if s.Registered {
		e.rma.Deregister(s, false) // false: the operation has failed for the caller, who gets no bytes
	}
	s.Ended = false
	e.ops.ReleaseToken(t)
	return true
}

// handleProviderError handles an error of the provider that belongs to no operation. If the error
// names a PE, the provider has given that PE up, and so does the engine. If the program of that PE
// has announced its end, its loss is ignored.
func (e *Engine) handleProviderError(c *fabric.Completion) {
	text := e.ops.Net.Provider.ErrorText(c)
	switch pe := c.From(); {
	case !pe.In(len(e.ops.Peers)):
		e.suspect(text)
	case !e.ops.Peers[pe].Left:
		e.handleUnreachable(pe, errors.New(text))
	}
}

// suspect handles an error for which the network names no operation. A provider may find that a PE
// is gone while it connects to it, and then forget the messages that wait for the connection. So
// each PE with operations under way gets a message, and its completion shows whether the PE is
// gone.
func (e *Engine) suspect(text string) {
	e.Report.ReportError(fmt.Errorf("poll %s: %s, for an unknown operation: each PE with operations under way gets a test message", e.ops.Net.Caps.Provider, text))
	e.forEachContext(func(s *Engine) {
		for i := range s.ops.Peers {
			if s.ops.Peers[i].Tokens > 0 {
				e.ops.Net.Suspect(libshmem.PE(i))
			}
		}
	})
}

// findLost sends a message without content to each suspect, a PE that may be gone: the network
// reports an error if it is.
func (e *Engine) findLost() {
	e.ops.Net.FindLost(func(pe libshmem.PE) Status { return e.ping(pe, &e.ops.Peers[pe]) })
}

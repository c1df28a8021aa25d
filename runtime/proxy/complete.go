package proxy

import (
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/clock"
	"libshmem/runtime/proxy/layout"
)

// Poll makes progress and handles completions. It returns their number, plus one (the value of the
// bit BusyStreams) while a GPU stream has work, because a copy ends without a completion.
func (e *Engine) Poll() (int, error) {
	e.first.Polls++
	n, err := e.ops.Net.Provider.Poll(e.comps[:])
	if err != nil {
		return n, err
	}
	e.Complete(e.comps[:n])
	return n + int(e.Busy&layout.BusyStreams), nil
}

// Complete handles completions that a caller in C has read from the provider's completion queue, in
// their order. Several of them share one reading of the clock (Tick). Afterwards it retries what
// could not be posted before, because completions have freed entries of the provider's queues.
func (e *Engine) Complete(comps []fabric.Completion) {
	if len(comps) > 1 {
		e.Tick = clock.Now()
	}
	for i := range comps {
		e.complete(&comps[i])
	}
	e.Tick = 0
	e.retry()
	e.ops.Quiets.Settle()
	e.retryOthers()
	if len(comps) > 0 {
		e.WakeSleepers()
	}
}

// retry retries receive buffers, GPU work, messages and operations that could not be posted before,
// and checks on PEs that may be gone.
func (e *Engine) retry() {
	if e.NUnposted > 0 {
		e.ops.Net.PostReceives()
	}
	if e.gpu != nil && e.gpu.Advance() {
		e.out.Jam() // retryOwn then drives the queues, after the GPU stage
	}
	if e.ops.Net.Suspects() {
		e.findLost()
	}
	e.retryOwn()
}

// retryOwn retries the messages, flushes and queued operations of this context that could not be
// posted before. C sets Stuck, too, when something has to be retried.
func (e *Engine) retryOwn() {
	if e.Stuck == 0 {
		return
	}
	if !e.out.Retry() {
		e.Stuck = 0
	}
}

// NoRoom reports whether some operation, message or receive buffer still waits, because it could
// not be posted.
func (e *Engine) NoRoom() bool {
	return int(e.NUnposted)+len(e.stuckContexts) > 0 || e.out.NoRoom() || e.gpu != nil && e.gpu.NoRoom()
}

// complete handles one completion: an arrived write of another PE, an error of the provider, a
// received message, or an operation of this PE.
func (e *Engine) complete(c *fabric.Completion) {
	if c.Kind == fabric.KindData && c.Err == 0 {
		e.in.HandleArrival(c)
		return
	}
	if c.Kind == fabric.KindTrouble {
		e.handleProviderError(c)
		return
	}
	receiving := e.ops.Net.Receiving(c.Token)
	if c.Token >= layout.Tokens && !receiving {
		e.failUnknownToken(c.Token)
		return
	}
	if c.Err != 0 {
		e.completeError(c)
		return
	}
	if receiving {
		e.receive(e.ops.Net.Buffer(c.Token), int(c.Len))
		e.ops.Net.Repost(c.Token)
		return
	}
	s := &e.ops.Table.Records[c.Token]
	e.Context(uint32(s.Context)).completeOperation(c, s)
}

// completeOperation completes an operation of this context, according to the use in its record s.
// If its PE was lost before and the caller has its status (s.Ended), only the token is freed.
func (e *Engine) completeOperation(c *fabric.Completion, s *record) {
	if s.Ended && e.freeEnded(c.Token) {
		return
	}
	e.ops.Recorder.Note(s.PE, layout.EventDone, uint32(c.Token), 0)
	switch s.Use {
	case useSend:
	case useWrite:
		e.rma.CompleteWrite(c.Token, s)
		return
	case useRead:
		e.rma.CompleteRead(s)
	case usePull:
		e.gpu.HandleRead(c.Token, 0) // 0: the read has succeeded
	default:
		e.failUnknownToken(c.Token)
		return
	}
	e.ops.ReleaseToken(c.Token)
}

// completeError fails the operation of a completion with an error. Its caller gets the status; if
// no caller waits, the next quiet fails. If a message does not arrive, the PE is lost: the reply
// never arrives, and on an unordered network later messages would wait for ever. A receive that
// failed has its buffer posted again.
func (e *Engine) completeError(c *fabric.Completion) {
	text := e.ops.Net.Provider.ErrorText(c)
	if e.ops.Net.Receiving(c.Token) && c.Err == truncated {
		e.Report.Refuse("message of more than %d bytes", layout.MessageSize)
		e.ops.Net.Repost(c.Token)
		return
	}
	if e.ops.Net.Receiving(c.Token) {
		e.ops.Net.HandleFailedReceive(c.Token, len(e.ops.Peers), text)
		return
	}
	s := &e.ops.Table.Records[c.Token]
	e.Context(uint32(s.Context)).failOperation(c, s, text)
}

// failOperation fails an operation of this context after a completion with an error: it completes
// the request with the error, or fails the quiets, and frees the token.
func (e *Engine) failOperation(c *fabric.Completion, s *record, text string) {
	if s.Ended && e.freeEnded(c.Token) {
		return
	}
	err := fmt.Errorf("PE %d: %s: %s", s.PE, s.Use, text)
	e.ops.Recorder.Note(s.PE, layout.EventBroke, uint32(c.Token), uint32(c.Err))
	if (s.Use == useWrite || s.Use == useRead) && (disconnected(c.Err) || e.ops.Net.Caps.InjectSilent) {
		// This error may come before that of a message, which would report the same loss. It may
		// also be the only report of messages that were lost with the queue pair. If the PE is
		// lost, endOperations has ended this operation, too (s.Ended).
		if e.handleUnreachable(s.PE, err); s.Ended && e.freeEnded(c.Token) {
			return
		}
	}
	switch s.Use {
	case usePull:
		e.gpu.HandleRead(c.Token, c.Err) // it reports to the PE that sent the request, or ends the get
		e.ops.ReleaseToken(c.Token)
		return
	case useSend:
		e.handleUnreachable(s.PE, err)
	case useWrite, useRead:
		e.rma.HandleFailure(s)
	default:
		e.failUnknownToken(c.Token)
		return
	}
	switch {
	case s.Use == useSend: // no caller waits for a message
	case s.Request != nil:
		e.ops.Net.Err = err
		e.ops.Complete(s.Request, c.Err, 0)
	default:
		e.ops.Quiets.Fail(s.Parity, err)
	}
	e.ops.ReleaseToken(c.Token)
	e.out.Drive(s.PE)
}

// failUnknownToken ends the job after a completion that belongs to no operation: the provider, or
// this engine, is in error.
func (e *Engine) failUnknownToken(t fabric.Token) {
	e.ops.Net.Fatal(fmt.Errorf("completion of token %d, which is not in flight", t))
}

// receive checks the job's token or the seal of a message, and passes the message to the receiver
// of its context. The upper bits of h.From are the number of the context; the context is made if
// this PE has not used it yet. Anything else is counted and dropped: it may come from outside of
// the job.
func (e *Engine) receive(m unsafe.Pointer, size int) {
	if size < layout.HeaderSize || size > layout.MessageSize {
		e.Report.Refuse("message of %d bytes", size)
		return
	}
	h := (*layout.Header)(m)
	if h.Job != e.TokenOf(h, libshmem.PE(e.me), size) {
		if e.Seal == [2]uint64{} {
			e.Report.Refuse("message with the token of another job")
		} else {
			e.Report.Refuse("message without the seal of a PE: it comes from outside of the job, or was changed on its way")
		}
		return
	}
	if n := h.From >> layout.ContextShift; n != 0 && n < layout.ContextsOpen && h.From&(1<<layout.ContextShift-1) < uint32(len(e.ops.Peers)) {
		f, err := e.newContext(n)
		if err != nil {
			e.ops.Net.Fatal(fmt.Errorf("receive: PE %d uses context %d: %w", h.From&(1<<layout.ContextShift-1), n, err))
			return
		}
		h.From &= 1<<layout.ContextShift - 1
		f.in.Receive(h, m, size)
		return
	}
	e.in.Receive(h, m, size)
}

package proxy

import (
	"fmt"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/gpustage/stream"
	"libshmem/runtime/proxy/layout"
)

// Host has the functions of the engine that its GPU stage calls (gpustage.Engine). The stage calls
// them with the engine's lock held.
type Host struct{ e *Engine }

// Host returns an adapter through which the engine's GPU stage, the package for bytes of GPU
// memory, calls the engine.
func (e *Engine) Host() *Host { return &Host{e} }

// Shared returns the state and the functions of the engine that its GPU stage uses without a call
// of the engine.
func (h *Host) Shared() gpustage.Shared {
	net := h.e.ops.Net
	return gpustage.Shared{
		Engine: stream.Engine{State: h.e.State, Fatal: func(err error) { net.Fatal(err) }, Wake: net.Wake},
		Peers:  h.e.ops.Peers, Provider: net.Provider, Caps: net.Caps, Checker: h.e.in.Checker, Region: net.Region,
		Remotes: net.Remotes, PutMax: h.e.PutMax(),
	}
}

// Begin allocates a token for an operation of a caller that the GPU stage carries out. Done: the
// stage may start it. Pending: it is queued after earlier operations on its PE, and the stage
// starts it when the queue reaches it. Again and Failed: the operation was not accepted.
func (h *Host) Begin(use gpustage.Use, pe libshmem.PE, r *call.Request, n uint64) (gpustage.Op, Status) {
	o := &h.e.ops
	if use == gpustage.UseStore { // it has no token: only its generation counts it
		parity := o.Quiets.Parity()
		o.Quiets.Pending[parity]++
		return gpustage.Op{Parity: uint8(parity)}, Done
	}
	st := Done
	if use != gpustage.UseCopy { // a UseCopy sends no message
		st = h.ready(pe, n)
	}
	if st == Done && use == gpustage.UsePut {
		st = h.admitMessage(pe)
	}
	if st != Done && st != Pending {
		return gpustage.Op{}, st
	}
	p, recordUse := &o.Peers[pe], usePut
	if use == gpustage.UseGet {
		recordUse = useGet
	}
	t, s := o.AllocateToken(recordUse, p, pe)
	if s == nil {
		return gpustage.Op{}, Again
	}
	s.Request, s.Epoch, s.Awaited = r, h.e.Epoch, false
	o.Table.CountBytes(s, p, n)
	switch {
	case st == Pending:
		s.Use, s.Awaited = useDeparts, true
		h.e.out.Enqueue(t, s)
	case use != gpustage.UseGet || r == nil: // quiets do not wait for a get with a request
		o.AwaitByQuiets(s)
	}
	if st == Done && use == gpustage.UsePut {
		o.Quiets.MarkDirty(p, pe)
	}
	return gpustage.Op{Token: t, RequestID: o.Table.RequestID(t)}, st
}

// End completes an operation of the GPU stage, or ends one of its phases, as e.Phase says
// (gpustage.Phase). SourceFree completes the request. Waits ends only the registration of the
// source, because the operation is tried again. All others complete the operation, CallerDone
// without its memory and its token, which the provider still uses.
func (h *Host) End(op gpustage.Op, e gpustage.Ending) {
	o := &h.e.ops
	if op.Token == 0 { // a UseStore
		o.Quiets.Pending[op.Parity]--
		return
	}
	s := &o.Table.Records[op.Token]
	if e.Phase == gpustage.SourceFree {
		o.CompleteSource(s)
		return
	}
	if s.Registered && e.Phase != gpustage.CallerDone {
		st := h.e.rma.Deregister(s, e.Phase == gpustage.Over && e.Status == 0)
		if e.Status == 0 {
			e.Status = st
		}
	}
	switch e.Phase {
	case gpustage.Waits:
		return
	case gpustage.NotBegun:
		s.Request = nil // its caller learns from the status that it was not accepted
	}
	o.CompleteOperation(s, e.Status, e.Err)
	if e.Phase != gpustage.CallerDone {
		o.ReleaseToken(op.Token)
	}
}

// ready returns Done if an operation of n bytes that needs a message may start, Failed if the PE is
// unreachable, and Again if messages to the PE are parked, no token is free or the PE has no
// credit.
func (h *Host) ready(pe libshmem.PE, n uint64) Status {
	p := &h.e.ops.Peers[pe]
	switch {
	case !h.e.out.Reaches(p, pe):
		return h.e.ops.Net.Fail(errUnreachable)
	case !h.e.out.TryUnpark(p), !h.e.ops.HasRoom(pe, p, n):
		return Again
	}
	return Done
}

// admitMessage returns Done if a message may be sent to a PE now, and Again or Failed as Admit
// does. Pending: it has to wait in the queue after earlier operations.
func (h *Host) admitMessage(pe libshmem.PE) Status {
	p := &h.e.ops.Peers[pe]
	if p.Queued > 0 {
		h.e.out.SendBatch(pe, p)
	}
	if p.Queued > 0 || h.e.out.Overtakes(pe, p, h.e.Epoch) {
		return Pending
	}
	return h.TryBegin(gpustage.UseSignal, pe, 0)
}

// TryBegin returns Done if an operation of the GPU stage with n bytes may start. If the operation
// needs a token, the stage allocates it later. TryBegin returns Again if the PE has no credit,
// earlier operations wait in the PE's queue, or the PE has to apply earlier messages first, because
// of a fence or for a UseSet (a store that follows all earlier messages); in the last case TryBegin
// has sent a flush. Nothing orders a UseCopyBack, a get, so it needs only credit.
func (h *Host) TryBegin(use gpustage.Use, pe libshmem.PE, n uint64) Status {
	o, p := &h.e.ops, &h.e.ops.Peers[pe]
	switch use {
	case gpustage.UseSignal:
		return h.e.out.Admit(pe, p, layout.HeaderSize)
	case gpustage.UseCopyBack:
		if !o.HasRoom(pe, p, n) {
			return Again
		}
		return Done
	case gpustage.UseSet:
		if p.Charged > p.Acked {
			return h.follow(pe)
		}
	}
	switch {
	case p.Queued > 0, !h.e.out.TryUnpark(p), !o.HasRoom(pe, p, n):
		return Again
	case p.MustFollow(h.e.Epoch):
		return h.follow(pe)
	}
	return Done
}

// follow sends a flush to a PE, for an operation that has to follow messages that the PE may not
// have applied. It returns Again, because the reply has to arrive first, or Failed.
func (h *Host) follow(pe libshmem.PE) Status {
	if h.e.out.Flush(pe) == Failed {
		return Failed
	}
	return Again
}

// Send sends a message of the GPU stage. m.NoRoom says what happens if it cannot be posted now. If
// the message belongs to an operation (m.Token), it has that operation's epoch, and the quiets that
// wait for the operation wait for the message too.
func (h *Host) Send(m gpustage.Message) Status {
	epoch, parity := uint64(0), noParity
	switch {
	case m.Token != 0:
		s := &h.e.ops.Table.Records[m.Token]
		epoch, parity = s.Epoch, s.Parity
	case m.NoRoom == gpustage.SendLater:
		epoch = h.e.Epoch
	}
	if m.NoRoom == gpustage.SendLater {
		h.e.out.sendOwn(m.PE, epoch, parity, m.Header)
		return Done
	}
	st := h.e.out.SendBytes(m.PE, epoch, parity, &m.Header, m.Payload, m.N)
	if st == Failed && m.NoRoom == gpustage.TryAgain {
		h.e.handleUnreachable(m.PE, fmt.Errorf("PE %d: send: %w", m.PE, h.e.ops.Net.Err))
	}
	return st
}

// Apply performs a message on main memory for the GPU stage, after the work that had to come first.
// It returns false if the message is refused.
func (h *Host) Apply(m *layout.Header, payload unsafe.Pointer, n int) bool {
	switch m.Kind {
	case layout.KindAMO, layout.KindStore, layout.KindPut, layout.KindPutSignal:
		return h.e.in.Change(m, payload, n)
	}
	h.e.in.Apply(m, payload, n)
	return true
}

// RegisterLocal registers n bytes of a caller's memory for an operation. It returns the address for
// the operation: that of the memory, or of a copy if the memory cannot be registered. into: the
// operation writes the bytes.
func (h *Host) RegisterLocal(t fabric.Token, at unsafe.Pointer, n uint64, into bool) (unsafe.Pointer, fabric.Region, error) {
	s := &h.e.ops.Table.Records[t]
	at, err := h.e.rma.RegisterLocal(s, at, n, into)
	if err != nil {
		return nil, fabric.Region{}, err
	}
	return at, s.Memory.Region.Region, nil
}

// Read posts a one-sided read of n bytes into registered memory at to. Stage.HandleRead gets the
// completion.
func (h *Host) Read(pe libshmem.PE, remote, key uint64, to unsafe.Pointer, n uint64, desc uintptr) (fabric.Token, Status) {
	return h.e.rma.Pull(pe, remote, key, to, n, desc)
}

// Lost returns why a PE was lost; nil: it was not.
func (h *Host) Lost(pe libshmem.PE) error { return h.e.ops.Net.Lost(pe) }

// Fail stores the reason of a Failed for Engine.Err, and returns that status.
func (h *Host) Fail(err error) Status { return h.e.ops.Net.Fail(err) }

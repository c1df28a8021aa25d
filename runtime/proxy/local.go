package proxy

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/mrcache"
	"libshmem/runtime/proxy/local"
	"libshmem/runtime/proxy/ops"
)

// KeepRegistered has the engine keep memory of callers registered from one operation to the next,
// where the provider wants it registered. The watch may be nil: then none is kept. The engine
// closes it.
func (e *Engine) KeepRegistered(watch mrcache.Watch, limits mrcache.Limits) {
	e.locals = local.New(e.prov, watch, limits)
}

// Registered returns what has been registered of callers' memory.
func (e *Engine) Registered() mrcache.Counts { return e.locals.Counts() }

// localRegion registers the local buffer of op, which is not in the heap, where the provider wants
// that, or finds it in a heap of GPU memory.
func (e *Engine) localRegion(s *ops.Record, op *fabric.RMA) Status {
	if e.gpu != nil {
		if r, flush := e.gpu.Region(op.Local, op.Len); r != nil {
			op.Desc, s.Flush = r.Desc, s.Use == ops.UseRead && flush
			return Done
		}
	}
	if !e.caps.LocalMR {
		return Done
	}
	at, err := e.registerLocal(s, op.Local, op.Len, s.Use != ops.UseWrite)
	if err != nil {
		return e.fail(err)
	}
	op.Local, op.Desc = at, s.Memory.Region.Desc
	return Done
}

// registerLocal registers n bytes for the operation of s, or a copy of them. It returns where the
// operation finds its bytes.
func (e *Engine) registerLocal(s *ops.Record, at unsafe.Pointer, n uint64, into bool) (unsafe.Pointer, error) {
	at, err := e.locals.Get(&s.Memory, at, n, into)
	s.Registered = err == nil
	return at, err
}

// dropRegion ends the registration, when the operation has ended; came says that the bytes of a get
// are there. It returns what the operation's request is to get, if it has one.
func (e *Engine) dropRegion(s *ops.Record, came bool) (status int32) {
	err := e.locals.Put(&s.Memory, came)
	s.Registered = false
	switch {
	case err != nil && s.Request != nil:
		e.err = fmt.Errorf("PE %d: %s: %w", s.PE, s.Use, err)
		return int32(unix.EFAULT)
	case err != nil:
		e.quiets.Fail(s.Lane, err)
	}
	return 0
}

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

// KeepRegistered makes the engine keep callers' memory registered from one operation to the next,
// if the provider needs registered memory. With a nil watch it keeps none. The engine closes the
// watch.
func (e *Engine) KeepRegistered(watch mrcache.Watch, limits mrcache.Limits) {
	e.locals = local.New(e.Net.Provider, watch, limits)
}

// Registered returns the counts of registrations of callers' memory.
func (e *Engine) Registered() mrcache.Counts { return e.locals.Counts() }

// localRegion provides the registration of op's local buffer, which is not in the symmetric
// segment. The buffer may lie in a heap of GPU memory, which is registered; otherwise it is
// registered if the provider needs that.
func (e *Engine) localRegion(s *ops.Record, op *fabric.RMA) Status {
	if e.gpu != nil {
		if r, flush := e.gpu.Region(op.Local, op.Len); r != nil {
			op.Desc, s.Flush = r.Desc, s.Use == ops.UseRead && flush
			return Done
		}
	}
	if !e.Net.Caps.LocalMR {
		return Done
	}
	at, err := e.registerLocal(s, op.Local, op.Len, s.Use != ops.UseWrite)
	if err != nil {
		return e.Net.Fail(err)
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

// dropRegion ends the registration when the operation has ended; came says that the bytes of a get
// have arrived. It returns the status for the operation's request, if it has one.
func (e *Engine) dropRegion(s *ops.Record, came bool) (status int32) {
	err := e.locals.Put(&s.Memory, came)
	s.Registered = false
	switch {
	case err != nil && s.Request != nil:
		e.Net.Err = fmt.Errorf("PE %d: %s: %w", s.PE, s.Use, err)
		return int32(unix.EFAULT)
	case err != nil:
		e.Quiets.Fail(s.Lane, err)
	}
	return 0
}

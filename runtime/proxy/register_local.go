package proxy

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
)

// localRegion fills in op's local address and descriptor for a buffer that is not in the symmetric
// segment. A buffer in a heap of GPU memory is registered already; another one is registered here
// if the provider requires that.
func (x *transfers) localRegion(s *record, op *fabric.RMA) call.Status {
	if x.GPU != nil {
		if r, flush := x.GPU.Region(op.Local, op.Len); r != nil {
			op.Desc, s.Flush = r.Desc, s.Use == useRead && flush
			return call.Done
		}
	}
	if !x.Net.Caps.LocalMR {
		return call.Done
	}
	at, err := x.RegisterLocal(s, op.Local, op.Len, s.Use != useWrite)
	if err != nil {
		return x.Net.Fail(err)
	}
	op.Local, op.Desc = at, s.Memory.Region.Desc
	return call.Done
}

// RegisterLocal registers n bytes of a caller's memory for the operation of s. It returns the
// address for the operation: that of the memory, or of a copy if the memory cannot be registered.
// into: the operation writes the bytes.
func (x *transfers) RegisterLocal(s *record, at unsafe.Pointer, n uint64, into bool) (unsafe.Pointer, error) {
	at, err := x.Net.Locals.Get(&s.Memory, at, n, into)
	s.Registered = err == nil
	return at, err
}

// Deregister ends the registration that RegisterLocal made, after the operation. arrived: the bytes
// of a get are complete. It returns the status for the operation's request: not 0 if the bytes
// could not be copied to the caller. Without a request quiets fail then.
func (x *transfers) Deregister(s *record, arrived bool) (status int32) {
	err := x.Net.Locals.Put(&s.Memory, arrived)
	s.Registered = false
	switch {
	case err != nil && s.Request != nil:
		x.Net.Err = fmt.Errorf("PE %d: %s: %w", s.PE, s.Use, err)
		return int32(unix.EFAULT)
	case err != nil:
		x.Quiets.Fail(s.Parity, err)
	}
	return 0
}

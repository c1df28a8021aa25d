package proxy

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/regcache"
)

// KeepRegistered has the engine keep memory of callers registered from one operation
// to the next, where the provider wants it registered. The watch may be nil: then
// none is kept. It is the engine's to close.
func (e *Engine) KeepRegistered(watch regcache.Watch, limits regcache.Limits) {
	e.locals = regcache.New(e.prov, watch, limits)
}

// Registered tells what has been registered of callers' memory.
func (e *Engine) Registered() regcache.Counts { return e.locals.Counts() }

// localRegion registers the local buffer of op, which is not in the heap, where
// the provider wants that, or finds it in a heap of GPU memory.
func (e *Engine) localRegion(s *slot, op *fabric.RMA) Status {
	if e.stage != nil {
		if r := e.stage.region(op.Local, op.Len); r != nil {
			op.Desc, s.flush = r.Desc, s.use == useRead && e.stage.flush != nil
			return Done
		}
	}
	if !e.caps.LocalMR {
		return Done
	}
	at, err := e.registerLocal(s, op.Local, op.Len, s.use != useWrite)
	if err != nil {
		return e.fail(err)
	}
	op.Local, op.Desc = at, s.region.Desc
	return Done
}

// registerLocal registers n bytes for the operation of s, or a copy of them where
// the provider does not take that memory: because it may not be written, or is a
// file's. It returns where the operation finds its bytes.
func (e *Engine) registerLocal(s *slot, at unsafe.Pointer, n uint64, into bool) (unsafe.Pointer, error) {
	region, err := e.locals.Get(at, n)
	if err == nil {
		s.region, s.registered = region, true
		return at, nil
	}
	copied, err2 := unix.MmapPtr(-1, 0, nil, uintptr(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err2 != nil {
		return nil, errors.Join(err, err2)
	}
	if !into {
		err2 = transfer(unix.SYS_PROCESS_VM_READV, copied, at, n)
	}
	if err2 == nil {
		region, err2 = e.locals.Get(copied, n)
	}
	if err2 != nil {
		return nil, errors.Join(err, err2, unix.MunmapPtr(copied, uintptr(n)))
	}
	s.region, s.registered = region, true
	s.copied, s.copySize = copied, n
	if s.home = nil; into {
		s.home = at
	}
	return copied, nil
}

// dropRegion ends the registration, when the operation has ended; came says that the
// bytes of a get are there. It returns what the operation's request is to get, if it
// has one.
func (e *Engine) dropRegion(s *slot, came bool) (status int32) {
	err := e.locals.Put(s.region)
	if s.copied != nil {
		if came && s.home != nil {
			err = errors.Join(err, transfer(unix.SYS_PROCESS_VM_WRITEV, s.copied, s.home, s.copySize))
		}
		err = errors.Join(err, unix.MunmapPtr(s.copied, uintptr(s.copySize)))
		s.copied, s.home = nil, nil
	}
	s.region, s.registered = nil, false
	switch {
	case err != nil && s.request != nil:
		e.err = fmt.Errorf("PE %d: %s: %w", s.pe, s.use, err)
		return int32(unix.EFAULT)
	case err != nil:
		e.lose(s.lane, err)
	}
	return 0
}

// transfer copies between a copy and the program's memory, by the kernel: where the
// program has given an address that it may not use, that is an error and no signal.
func transfer(number uintptr, copied, at unsafe.Pointer, n uint64) error {
	local := []unix.Iovec{{Base: (*byte)(copied), Len: n}}
	far := []unix.RemoteIovec{{Base: uintptr(at), Len: int(n)}}
	var got int
	var err error
	if number == unix.SYS_PROCESS_VM_READV {
		got, err = unix.ProcessVMReadv(os.Getpid(), local, far, 0)
	} else {
		got, err = unix.ProcessVMWritev(os.Getpid(), local, far, 0)
	}
	if err == nil && uint64(got) != n {
		err = unix.EFAULT
	}
	if err != nil {
		return fmt.Errorf("copy %d bytes at %p: %w", n, at, err)
	}
	return nil
}

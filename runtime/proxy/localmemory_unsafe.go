package proxy

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/mrcache"
)

// localMemory registers callers' memory for as long as an operation needs it, if a provider wants
// that (Caps.LocalMR). A cache keeps registrations (package mrcache). If a provider does not take
// memory, because it is read-only or a file's, a copy takes its place.
type localMemory struct{ cache *mrcache.Cache }

// newLocalMemory returns a localMemory whose registrations the registrar makes and ends. It keeps
// them from one operation to the next if watch reports memory that is unmapped; with a nil watch it
// keeps none. The localMemory closes watch.
func newLocalMemory(registrar mrcache.Registrar, watch mrcache.Watch, limits mrcache.Limits) localMemory {
	return localMemory{mrcache.New(registrar, watch, limits)}
}

// Counts returns the counts of registrations so far.
func (m *localMemory) Counts() mrcache.Counts { return m.cache.Counts() }

// Close ends the registrations that the cache keeps.
func (m *localMemory) Close() error { return m.cache.Close() }

// registration is the registration of one operation, from Get to Put.
type registration struct {
	Region *mrcache.Region
	copied unsafe.Pointer // the copy of memory that cannot be registered; nil: there is none
	size   uint64
	home   unsafe.Pointer // the destination of the copy at the end; nil: there is none
}

// Get registers n bytes at an address for an operation, and returns where the operation finds its
// bytes: there, or in a copy if that memory cannot be registered. into: the operation writes the
// bytes. After an error u is as it was.
func (m *localMemory) Get(u *registration, at unsafe.Pointer, n uint64, into bool) (unsafe.Pointer, error) {
	region, err := m.cache.Get(at, n)
	if err == nil {
		u.Region = region
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
		region, err2 = m.cache.Get(copied, n)
	}
	if err2 != nil {
		return nil, errors.Join(err, err2, unix.MunmapPtr(copied, uintptr(n)))
	}
	u.Region, u.copied, u.size = region, copied, n
	if u.home = nil; into {
		u.home = at
	}
	return copied, nil
}

// Put ends the registration after the operation. came: the bytes of a get have arrived, and Put
// moves them from the copy, if there is one, to the caller's memory.
func (m *localMemory) Put(u *registration, came bool) error {
	err := m.cache.Put(u.Region)
	if u.copied != nil {
		if came && u.home != nil {
			err = errors.Join(err, transfer(unix.SYS_PROCESS_VM_WRITEV, u.copied, u.home, u.size))
		}
		err = errors.Join(err, unix.MunmapPtr(u.copied, uintptr(u.size)))
		u.copied, u.home = nil, nil
	}
	u.Region = nil
	return err
}

// transfer copies between a copy and the program's memory, by a call of the kernel: an invalid
// address of the program gives an error and no signal.
func transfer(number uintptr, copied, at unsafe.Pointer, n uint64) error {
	local := []unix.Iovec{{Base: (*byte)(copied), Len: n}}
	program := []unix.RemoteIovec{{Base: uintptr(at), Len: int(n)}}
	var got int
	var err error
	if number == unix.SYS_PROCESS_VM_READV {
		got, err = unix.ProcessVMReadv(os.Getpid(), local, program, 0)
	} else {
		got, err = unix.ProcessVMWritev(os.Getpid(), local, program, 0)
	}
	if err == nil && uint64(got) != n {
		err = unix.EFAULT
	}
	if err != nil {
		return fmt.Errorf("copy %d bytes at %p: %w", n, at, err)
	}
	return nil
}

package proxy

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/runtime/mrcache"
)

// localMemory registers callers' memory for the time of an operation, if the provider requires that
// (Caps.LocalMR). A cache keeps registrations for later operations (package mrcache). If a provider
// cannot register memory, because it is read-only or of a file, the operation uses a copy.
type localMemory struct{ cache *mrcache.Cache }

// newLocalMemory returns a localMemory that registers memory through the registrar. With a watch,
// which reports memory that is unmapped, registrations stay for later operations; with a nil watch
// each ends with its operation. The localMemory closes watch.
func newLocalMemory(registrar mrcache.Registrar, watch mrcache.Watch, limits mrcache.Limits) localMemory {
	return localMemory{mrcache.New(registrar, watch, limits)}
}

// Counts returns the counts of registrations so far.
func (m *localMemory) Counts() mrcache.Counts { return m.cache.Counts() }

// Close ends the registrations that the cache still has.
func (m *localMemory) Close() error { return m.cache.Close() }

// registration is the registered memory of one operation, from Get to Put.
type registration struct {
	Region *mrcache.Region
	copied unsafe.Pointer // the copy of memory that cannot be registered, or nil
	size   uint64
	home   unsafe.Pointer // where Put copies the copied bytes after a get, or nil
}

// Get registers n bytes at an address for an operation, and returns the address for the operation:
// the same one, or the address of a copy if the memory cannot be registered. into: the operation
// writes the bytes. After an error u is unchanged.
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

// Put ends the registration after the operation. arrived: the bytes of a get are complete, and Put
// copies them from the copy, if the operation used one, to the caller's memory.
func (m *localMemory) Put(u *registration, arrived bool) error {
	err := m.cache.Put(u.Region)
	if u.copied != nil {
		if arrived && u.home != nil {
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

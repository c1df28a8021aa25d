package pinned

import (
	"errors"
	"fmt"
	"structs"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
)

// NIC is a fake NIC: it registers memory, and moves bytes to and from registered memory.
type NIC struct {
	ring    int                       // the descriptor of io_uring
	file    int                       // a memory file in place of the network: Load writes to it, Store reads from it
	vec     unix.Iovec                // the argument of set
	sq, cq  []byte                    // the mapped submission queue and completion queue
	entries []byte                    // the mapped entries of the submission queue
	tail    *uint32                   // of the submission queue
	mask    uint32                    // number of slots of the completion queue, less one
	slots   *[1]uint32                // of the submission queue: indices into entries
	head    *uint32                   // of the completion queue
	cqTail  *uint32                   // tail of the completion queue
	done    *[2]completion            // the completion queue: the kernel makes it twice as long as the other
	free    []int                     // indices of buffers without a registration
	live    map[uintptr]fabric.Region // by descriptor
}

// Regions is the most registrations at a time.
const Regions = 64

// Numbers of system calls, offsets and operations, from linux/io_uring.h.
const (
	sysSetup, sysEnter, sysRegister = 425, 426, 427

	offsetSQ, offsetCQ, offsetEntries = 0, 0x8000000, 0x10000000

	enterWait      = 1 // the call returns when as many operations have completed as it names
	readFixed      = 4
	writeFixed     = 5
	buffers2       = 15
	buffersUpdate  = 16
	registerSparse = 1
)

// params is struct io_uring_params: the call that makes a ring stores the sizes and offsets of its
// parts there.
type params struct {
	_                                                structs.HostLayout
	entries, completions, flags, cpu, idle, features uint32
	queue                                            uint32
	reserved                                         [3]uint32
	sqHead, sqTail, sqMask, sqSize, sqFlags, dropped uint32
	sqArray, reserved1                               uint32
	userAddr                                         uint64
	cqHead, cqTail, cqMask, cqSize, overflow, cqes   uint32
	cqFlags, reserved2                               uint32
	cqUserAddr                                       uint64
}

// entry is struct io_uring_sqe: one operation for the kernel.
type entry struct {
	_               structs.HostLayout
	code, flags     uint8
	priority        uint16
	fd              int32
	offset, address uint64
	length, rw      uint32
	user            uint64
	buffer          uint16
	_               [22]byte
}

// completion is struct io_uring_cqe: the result of one operation.
type completion struct {
	_      structs.HostLayout
	user   uint64
	result int32
	flags  uint32
}

var (
	_ [120]byte = [unsafe.Sizeof(params{})]byte{}
	_ [64]byte  = [unsafe.Sizeof(entry{})]byte{}
)

// Open makes a NIC for tests: the kernel's io_uring pins registered pages as a NIC does. It fails
// if the system does not let this process use io_uring.
func Open() (*NIC, error) {
	var p params
	ring, _, errno := unix.Syscall(sysSetup, 1 /* entry */, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("io_uring_setup: %w", errno)
	}
	n := &NIC{ring: int(ring), file: -1, live: map[uintptr]fabric.Region{}}
	if err := n.open(&p); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// open maps the queues of io_uring and makes a table of empty buffers.
func (n *NIC) open(p *params) error {
	var err error
	both := unix.PROT_READ | unix.PROT_WRITE
	if n.sq, err = unix.Mmap(n.ring, offsetSQ, int(p.sqArray+4*p.entries), both, unix.MAP_SHARED); err != nil {
		return err
	}
	if n.cq, err = unix.Mmap(n.ring, offsetCQ, int(p.cqes+16*p.completions), both, unix.MAP_SHARED); err != nil {
		return err
	}
	if n.entries, err = unix.Mmap(n.ring, offsetEntries, 64*int(p.entries), both, unix.MAP_SHARED); err != nil {
		return err
	}
	n.tail = (*uint32)(unsafe.Pointer(&n.sq[p.sqTail]))
	n.slots = (*[1]uint32)(unsafe.Pointer(&n.sq[p.sqArray]))
	n.head = (*uint32)(unsafe.Pointer(&n.cq[p.cqHead]))
	n.cqTail = (*uint32)(unsafe.Pointer(&n.cq[p.cqTail]))
	n.mask = *(*uint32)(unsafe.Pointer(&n.cq[p.cqMask]))
	n.done = (*[2]completion)(unsafe.Pointer(&n.cq[p.cqes]))
	if n.file, err = unix.MemfdCreate("wire", unix.MFD_CLOEXEC); err != nil {
		return err
	}
	sparse := struct {
		_        structs.HostLayout
		n, flags uint32
		_, _, _  uint64
	}{n: Regions, flags: registerSparse}
	for i := range Regions {
		n.free = append(n.free, i)
	}
	return n.register(buffers2, unsafe.Pointer(&sparse), unsafe.Sizeof(sparse))
}

// register calls io_uring_register with the operation `what` and its argument.
func (n *NIC) register(what uintptr, arg unsafe.Pointer, size uintptr) error {
	got, _, errno := unix.Syscall6(sysRegister, uintptr(n.ring), what, uintptr(arg), size, 0, 0)
	if errno != 0 {
		return fmt.Errorf("io_uring_register: %w", errno)
	}
	if what == buffersUpdate && got != 1 {
		return fmt.Errorf("io_uring_register: %d buffers", got)
	}
	return nil
}

// set registers memory as the buffer of a slot, or, with size 0, empties the slot.
func (n *NIC) set(slot int, base unsafe.Pointer, size uint64) error {
	n.vec = unix.Iovec{Base: (*byte)(base), Len: size} // a member of n: the kernel gets its address as a number
	update := struct {
		_                 structs.HostLayout
		offset, reserved  uint32
		data, tags        uint64
		number, reserved2 uint32
	}{offset: uint32(slot), data: uint64(uintptr(unsafe.Pointer(&n.vec))), number: 1}
	return n.register(buffersUpdate, unsafe.Pointer(&update), unsafe.Sizeof(update))
}

// Register registers memory: the NIC holds its present pages until Unregister.
func (n *NIC) Register(base unsafe.Pointer, size uint64) (fabric.Region, error) {
	if len(n.free) == 0 {
		return fabric.Region{}, unix.ENOMEM
	}
	slot := n.free[len(n.free)-1]
	if err := n.set(slot, base, size); err != nil {
		return fabric.Region{}, err
	}
	n.free = n.free[:len(n.free)-1]
	r := fabric.Region{Base: base, Len: size, Desc: uintptr(slot + 1), ID: slot}
	n.live[r.Desc] = r
	return r, nil
}

// Unregister ends a registration and releases its pages.
func (n *NIC) Unregister(r fabric.Region) error {
	if _, ok := n.live[r.Desc]; !ok {
		return fmt.Errorf("there is no region %d", r.Desc)
	}
	delete(n.live, r.Desc)
	n.free = append(n.free, r.ID)
	return n.set(r.ID, nil, 0)
}

// Live returns how many registrations there are.
func (n *NIC) Live() int { return len(n.live) }

// Load fills b with the bytes that a NIC would send from an address in a registration: those of the
// pages that were registered, even if other pages are mapped there now.
func (n *NIC) Load(desc uintptr, at unsafe.Pointer, b []byte) error {
	if err := n.move(writeFixed, desc, at, len(b)); err != nil {
		return err
	}
	_, err := unix.Pread(n.file, b, 0)
	return err
}

// Store writes b to an address in a registration, as a NIC does with bytes that it has received.
func (n *NIC) Store(desc uintptr, at unsafe.Pointer, b []byte) error {
	if _, err := unix.Pwrite(n.file, b, 0); err != nil {
		return err
	}
	return n.move(readFixed, desc, at, len(b))
}

// move moves bytes between the pages of a registration and the file, by one operation of io_uring:
// readFixed to the pages, writeFixed from them.
func (n *NIC) move(code uint8, desc uintptr, at unsafe.Pointer, size int) error {
	if size == 0 {
		return nil
	}
	*(*entry)(unsafe.Pointer(&n.entries[0])) = entry{
		code: code, fd: int32(n.file), address: uint64(uintptr(at)), length: uint32(size), buffer: uint16(desc - 1),
	}
	n.slots[0] = 0
	atomic.AddUint32(n.tail, 1)
	// A signal, such as Go's scheduler sends, ends the wait early. The kernel then still has the
	// entry, and the completion in the queue would belong to an earlier one.
	head := atomic.LoadUint32(n.head)
	for submit := uintptr(1); atomic.LoadUint32(n.cqTail) == head; {
		// It submits one entry, unless that was done before a signal, and waits for 1 completion.
		done, _, errno := unix.Syscall6(sysEnter, uintptr(n.ring), submit, 1, enterWait, 0, 0)
		switch errno {
		case 0:
			submit -= done
		case unix.EINTR:
		default:
			return fmt.Errorf("io_uring_enter: %w", errno)
		}
	}
	result := n.done[head&n.mask].result
	atomic.StoreUint32(n.head, head+1)
	switch {
	case result == -int32(unix.ECANCELED):
		// The kernel has not begun the operation: signals kept it from starting a thread. Try
		// again.
		return n.move(code, desc, at, size)
	case result < 0:
		return fmt.Errorf("region %d: %w", desc, unix.Errno(-result))
	case int(result) != size:
		return fmt.Errorf("region %d: %d of %d bytes", desc, result, size)
	}
	return nil
}

// Close unmaps the rings and closes the descriptors, by which the kernel ends all registrations.
func (n *NIC) Close() error {
	var errs []error
	for _, m := range [][]byte{n.sq, n.cq, n.entries} {
		if m != nil {
			errs = append(errs, unix.Munmap(m))
		}
	}
	if n.file >= 0 {
		errs = append(errs, unix.Close(n.file))
	}
	return errors.Join(append(errs, unix.Close(n.ring))...)
}

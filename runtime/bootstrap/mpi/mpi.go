// Package mpi brings together the PEs of an MPI communicator. It gets this PE's rank from the MPI
// library that the program has loaded, and broadcasts a unique id by it; the rest is
// runtime/bootstrap/uid. So it calls MPI only in the thread that initialises the library, which any
// MPI thread level allows, and leaves nothing in MPI for which MPI_Finalize could wait.
//
// It distinguishes Open MPI and MPICH, and the libraries that share their interfaces, by their
// symbols when the program runs. No MPI is needed to build the package, and it loads none.
package mpi

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "load.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/bootstrap/uid"
)

// Comm is an MPI communicator.
type Comm struct{ handle C.uint64_t }

var errDown = errors.New("join job: MPI is not up (call MPI_Init before, and MPI_Finalize after shmem_finalize)")

// World returns MPI_COMM_WORLD, or false if MPI is not initialized in this process.
func World() (Comm, bool) {
	if C.shmemi_mpi_up() == 0 {
		return Comm{}, false
	}
	return Comm{C.shmemi_mpi_comm(nil)}, true
}

// At returns the communicator at a pointer to an MPI_Comm.
func At(pointer unsafe.Pointer) (Comm, error) {
	if C.shmemi_mpi_up() == 0 {
		return Comm{}, errDown
	}
	return Comm{C.shmemi_mpi_comm(pointer)}, nil
}

// Rank returns this process's rank in the communicator, and the size of that.
func (c Comm) Rank() (rank libshmem.PE, size int, err error) {
	var r, n C.int
	if code := C.shmemi_mpi_rank(c.handle, &r, &n); code != 0 {
		return 0, 0, fmt.Errorf("join job: MPI does not know the communicator: error %d (pass the address of an MPI_Comm)", code)
	}
	return libshmem.PE(r), int(n), nil
}

// Options describe this PE's job for Join.
type Options struct {
	Comm     Comm
	Filter   uid.Filter
	Timeout  time.Duration // how long to wait for the other PEs
	Survives bool          // the PE continues when others fail (SHMEM_ON_FAILURE=return)
}

// Join brings this PE together with the others of the communicator. It is collective,
// and calls MPI in the calling thread.
func Join(o Options) (*uid.Member, error) {
	rank, size, err := o.Comm.Rank()
	if err != nil {
		return nil, err
	}
	// C's memory: MPI may still use it after the timeout.
	id := (*uid.ID)(C.calloc(1, uid.Len))
	var root *uid.Root
	var failed error
	if rank == 0 {
		if root, *id, failed = uid.NewRoot(o.Filter); failed != nil {
			*id = uid.ID{} // the broadcast of an empty id ends the wait of the other PEs
		}
	}
	code := C.shmemi_mpi_broadcast(o.Comm.handle, unsafe.Pointer(id), uid.Len, C.int64_t(o.Timeout.Milliseconds()))
	switch {
	case failed != nil:
		return nil, failed
	case code == C.SHMEMI_MPI_LATE && rank != 0:
		return nil, &bootstrap.MissingError{Step: "broadcast of MPI", Missing: []libshmem.PE{0}, Waited: o.Timeout}
	case code != 0 && code != C.SHMEMI_MPI_LATE:
		if root != nil {
			root.Close()
		}
		return nil, fmt.Errorf("join job: MPI_Ibcast: error %d", code)
	case *id == uid.ID{}:
		return nil, errors.New("join job: PE 0 could not make a unique id, and says why")
	}
	// A broadcast that is late at rank 0 has not reached some PEs: uid.Join waits for them, and names
	// them as missing.
	m, err := uid.Join(uid.Options{ID: *id, PE: rank, Size: size, Timeout: o.Timeout, Survives: o.Survives, Name: "mpi"})
	if code == 0 { // otherwise MPI may still use the memory, which is left to it
		C.free(unsafe.Pointer(id))
	}
	return m, err
}

package pmix

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -ldl -pthread
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
	"libshmem/runtime/guard"
)

// library is the name of the client library. If MPI has loaded it already, it is MPI's.
var library = "libpmix.so.2"

// status is an error code of PMIx.
type status C.int

// Error returns the text of PMIx for a status.
func (s status) Error() string {
	return fmt.Sprintf("PMIx says %s (%d)", C.GoString(C.shmemi_pmix_text(C.int(s))), int(s))
}

const (
	errLate     = status(C.SHMEMI_PMIX_TIMEOUT)
	errNotFound = status(C.SHMEMI_PMIX_NOT_FOUND)
)

// check returns the error of a status; nil for success.
func check(s C.int) error {
	if s == 0 {
		return nil
	}
	return status(s)
}

// load loads libpmix, the client library of the launcher.
func load() error {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	var why [512]C.char
	if C.shmemi_pmix_load(name, &why[0], C.size_t(len(why))) != 0 {
		return fmt.Errorf("load %s: %s (install Debian's libpmix2, or put the launcher's copy into LD_LIBRARY_PATH)", library, C.GoString(&why[0]))
	}
	return nil
}

var errSilent = errors.New("its PMIx server does not answer")

// initialise connects to the server by PMIx_Init. That waits for ever if the server is stopped: if
// it does not return in time, initialise returns errSilent and leaves the call to its goroutine.
func initialise(timeout time.Duration) (rank libshmem.PE, size int, err error) {
	type result struct {
		rank, size C.uint32_t
		code       C.int
	}
	results := make(chan result, 1)
	guard.Go("the bootstrap", func() {
		var a result
		a.code = C.shmemi_pmix_init(&a.rank, &a.size)
		results <- a
	})
	var late <-chan time.Time
	if timeout > 0 {
		late = time.After(timeout)
	}
	var a result
	select {
	case a = <-results:
	case <-late:
		return 0, 0, fmt.Errorf("connect to the launcher: %w within %v (check whether mpirun, or srun's process on this host, is stopped, or raise SHMEM_BOOTSTRAP_TIMEOUT)", errSilent, timeout)
	}
	r, n := a.rank, a.size
	if err := check(a.code); err != nil {
		return 0, 0, fmt.Errorf("connect to the launcher: %w (a program that a PE starts inherits PMIX_ variables, but has no place in the job: unset them)", err)
	}
	// No job has more than 1<<24 PEs: a larger number is not a size.
	if n == 0 || r >= n || n > 1<<24 {
		return 0, 0, fmt.Errorf("the launcher says that this is PE %d of %d (start the program again)", r, n)
	}
	return libshmem.PE(r), int(n), nil
}

// finalise calls PMIx_Finalize. It reports no error, because the process ends.
func finalise() { C.shmemi_pmix_finalize() }

// abort requests the end of the job (PMIx_Abort).
func abort(status int) { C.shmemi_pmix_abort(C.int(status)) }

// serverLost reports whether PMIx has lost its server, which means that the job ends.
func serverLost() bool { return C.shmemi_pmix_server_lost() != 0 }

// serverLostFD returns a descriptor that becomes readable when serverLost becomes true, or -1.
func serverLostFD() int { return int(C.shmemi_pmix_server_lost_fd()) }

// put puts bytes under a key into the job's key-value space, and commits them.
func put(key string, bytes []byte) error {
	name := C.CString(key)
	defer C.free(unsafe.Pointer(name))
	return check(C.shmemi_pmix_put(name, unsafe.Pointer(unsafe.SliceData(bytes)), C.size_t(len(bytes))))
}

// call is an asynchronous PMIx call that has been started. The caller frees it.
type call struct{ c *C.struct_shmemi_pmix_call }

var errMemory = errors.New("no memory")

// fence starts a fence of all PEs (PMIx_Fence_nb). It makes what each PE has put available to all
// others.
func fence() (call, error) { return newCall(C.shmemi_pmix_fence()) }

// get starts to get what a PE has put under a key (PMIx_Get_nb). The caller waits for the call, and
// frees it.
func get(pe libshmem.PE, key string) (call, error) {
	name := C.CString(key)
	defer C.free(unsafe.Pointer(name))
	return newCall(C.shmemi_pmix_get(C.uint32_t(pe), name))
}

// newCall returns a call that C has started, or an error if c is nil because there was no memory.
func newCall(c *C.struct_shmemi_pmix_call) (call, error) {
	if c == nil {
		return call{}, errMemory
	}
	return call{c}, nil
}

// wait waits for the call's completion and returns its bytes, or errLate after the time end. With a
// zero end it waits for ever.
func (c call) wait(end time.Time) ([]byte, error) {
	ms := C.int64_t(-1)
	if !end.IsZero() {
		ms = C.int64_t(max(0, time.Until(end).Milliseconds()+1))
	}
	var bytes unsafe.Pointer
	var n C.size_t
	if err := check(C.shmemi_pmix_wait(c.c, ms, &bytes, &n)); err != nil {
		return nil, err
	}
	return C.GoBytes(bytes, C.int(n)), nil
}

// free frees a call that is complete or was given up.
func (c call) free() { C.shmemi_pmix_free(c.c) }

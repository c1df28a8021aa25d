// Package core is the Go half of the library, as a table of C functions. It turns C's arguments
// into Go's and Go's results into C's, and fills the state that the front reads; it makes no
// decisions. capi/core/library links it as libshmem_core.so.
//
// The version script exports no Go name, only shmemi_core_table. No panic reaches the C program:
// each function that C calls begins with a deferred guard.Catch, which takes some 4 ns of the 50 of
// a call from C to Go, and ends the job by the front's abort function. Those that run while the
// process ends anyway defer guard.Drop.
package core

/*
#cgo CFLAGS: -I${SRCDIR}/../../abi -I${SRCDIR}/../../device -I${SRCDIR}/../../runtime/proxy/fastpath -I${SRCDIR}/../../runtime/gpu/cuda -fno-strict-aliasing
#include <stdlib.h>
#include "core.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/bootstrap/uid"
	"libshmem/runtime/config"
	"libshmem/runtime/guard"
	"libshmem/runtime/job"
	"libshmem/runtime/job/device"
	"libshmem/runtime/job/place"
	"libshmem/runtime/job/watch"
	"libshmem/runtime/nvtx"
	"libshmem/runtime/proxy"
	"libshmem/runtime/shmerr"
)

// init makes endForPanic the function that handles a panic of one of the core's goroutines.
func init() { guard.End(endForPanic) }

// shmemgoDepart reports to the launcher that this process ends normally, by exit(). C calls it when
// the process ends, after the destructors of the program.
//
//export shmemgoDepart
func shmemgoDepart() {
	defer guard.Drop() // nothing can handle an error any more
	place.Depart()
}

var (
	current *job.Job // the job of this process, between init and finalize; otherwise nil
	state   *State   // the front's, from the first init on
)

// shmemgoVersion returns the version of the library, which the front compares with its own.
//
//export shmemgoVersion
func shmemgoVersion() *C.char {
	defer guard.Catch("version")
	return copyText(C.shmemi_core_version[:], libshmem.Version)
}

// copyText copies s, without NUL bytes and as much of it as fits, into memory that C reads, ends it
// with a NUL byte, and returns its address.
func copyText(to []C.char, s string) *C.char {
	b := unsafe.Slice((*byte)(unsafe.Pointer(&to[0])), len(to))
	n := copy(b[:len(b)-1], strings.ReplaceAll(s, "\x00", ""))
	b[n] = 0
	return &to[0]
}

// quietCollector turns the garbage collector off, unless Go's memory reaches 64 MiB. The library
// allocates only at init, at finalize and for each allocation of the program, so it needs far less.
var quietCollector = sync.OnceFunc(func() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(64 << 20)
})

// shmemgoInit joins the job that args describe, and fills the front's state. It returns 0, or -1
// with the reason in args.error.
//
//export shmemgoInit
func shmemgoInit(front *C.struct_shmemi_state, args *C.struct_shmemi_init_args) C.int {
	defer guard.Catch("init")
	quietCollector()
	if state != nil {
		runtime.GC() // frees the memory of the last job, some 100 kB
	}
	s := (*State)(unsafe.Pointer(front))
	C.shmemi_core_set_front(args)
	C.shmemi_core_set_departs(0) // exit() within a job must not call Go: see depart in core.c
	j, err := job.Start(job.Options{
		Environ: environ(args.environ_), Lock: &s.netLock, Pollers: &s.pollers, Napping: &s.napping,
		Wanted: &s.netWanted, Kernels: args.kernels != 0, Nvshmem: args.nvshmem != 0,
		Statics: staticsOf(args), Given: fromInitAttr(args), Ranges: ranges,
		Activity: activity, Finalized: func() { C.shmemi_core_finalized() },
		Fatal: fatal, Stderr: os.Stderr,
	})
	if err != nil {
		C.shmemi_core_set_departs(1)
		report(args, shmerr.OneLine(err)) // the error has a line for each wrong setting
		return -1
	}
	current, state = j, s
	fill(s, j)
	showHeap()
	s.reportRequestFD = int32(j.Begin(reportLost, func() uint32 { return atomic.LoadUint32(&s.reportRequests) }))
	return 0
}

// ranges shows ranges to a profiler, through the front.
var ranges = job.Ranges{
	Open:  func(groups config.Ranges) int { return int(C.shmemi_core_open_ranges(C.uint32_t(groups))) },
	Proxy: func(name nvtx.Name) { C.shmemi_core_range(C.uint(name)) },
}

// fromInitAttr returns the unique ID or the MPI communicator that the program has passed to
// shmemx_init_attr, if it has.
func fromInitAttr(args *C.struct_shmemi_init_args) (g place.Given) {
	g.MPIComm = unsafe.Pointer(args.mpi_comm)
	if args.uid != nil {
		id := *(*uid.ID)(args.uid)
		g = place.Given{UID: &id, PE: libshmem.PE(args.uid_pe), NPEs: int(args.uid_n_pes)}
	}
	return g
}

// shmemgoUniqueID makes a unique ID and stores it at id, 128 bytes. It returns 0, or -1 with the
// reason in `to`, which has size bytes.
//
//export shmemgoUniqueID
func shmemgoUniqueID(environment **C.char, id unsafe.Pointer, to *C.char, size C.size_t) C.int {
	defer guard.Catch("uniqueid")
	fail := func(err error) C.int {
		copyText(unsafe.Slice(to, int(size)), err.Error())
		return -1
	}
	quietCollector()
	made, err := place.UniqueID(environ(environment))
	if err != nil {
		return fail(err)
	}
	*(*uid.ID)(id) = made
	return 0
}

// environ returns the present environment of C. Go's own copy is made when the library is loaded
// and misses variables that the program or Python set later. After clearenv environment is nil.
func environ(environment **C.char) []string {
	if environment == nil {
		return nil
	}
	var all []string
	for p := environment; *p != nil; p = (**C.char)(unsafe.Add(unsafe.Pointer(p), unsafe.Sizeof(*p))) {
		all = append(all, C.GoString(*p))
	}
	return all
}

// report writes the reason of a failed init to args.error; the front prints it or raises it in
// Python.
func report(args *C.struct_shmemi_init_args, why string) {
	copyText(unsafe.Slice(args.error, int(args.error_size)), why)
}

// leaving is set when a process without finalize is about to exit with status 0 (Job.Leave), and
// broken when the network or the GPU has failed after that.
var leaving, broken atomic.Bool

// shmemgoLeave returns Done if everything that this PE has sent has arrived, or cannot arrive
// because the network has failed; else Pending. The caller has locked the network lock, if there is
// a network.
//
//export shmemgoLeave
func shmemgoLeave() C.int {
	defer guard.Catch("leave")
	leaving.Store(true)
	if broken.Load() || current.Leave() {
		return C.int(proxy.Done)
	}
	return C.int(proxy.Pending)
}

// fatal ends the job, or this process if the job has ended, for a failure that no call of the
// program can return, with the message and remedy for its kind. While the process exits with status
// 0, it only records that messages may not arrive any more.
func fatal(err error) {
	if leaving.Load() {
		broken.Store(true)
		return
	}
	var fault *device.KernelFault
	if errors.As(err, &fault) {
		C.shmemi_core_kernel_fatal(copyText(C.shmemi_core_text[:], fault.Cause), copyText(C.shmemi_core_remedy[:], fault.Remedy))
	}
	var exit *device.KernelExit
	if errors.As(err, &exit) {
		// Exit ends the job. After that the kernel and the threads that wait for it would continue,
		// so the process ends at once, without the program's handlers and destructors.
		C.shmemi_core_flush()
		current.Exit(exit.Status)
		os.Exit(exit.Status)
	}
	var ended *watch.EndedError
	if errors.As(err, &ended) {
		C.shmemi_core_end(copyText(C.shmemi_core_text[:], err.Error()), C.int(ended.Status))
	}
	var orphan *watch.OrphanError
	if errors.As(err, &orphan) {
		C.shmemi_core_orphan_fatal(copyText(C.shmemi_core_text[:], err.Error()))
	}
	var lost *proxy.LostError
	if errors.As(err, &lost) {
		C.shmemi_core_lost_fatal(copyText(C.shmemi_core_text[:], err.Error()))
	}
	C.shmemi_core_fatal(copyText(C.shmemi_core_text[:], err.Error()))
}

// abortLimit limits the time of the abort after a panic: its goroutine may have left a mutex locked
// that the abort needs, and nobody may read stderr.
const abortLimit = 10 * time.Second

// endForPanic ends the process for a panic, which is a bug of the library: prints the stack, then
// calls the front's abort, with a limit on the time that this may take.
func endForPanic(p *guard.Panic) {
	time.AfterFunc(abortLimit, guard.Func("abort", func() { C.shmemi_core_exit() }))
	_, _ = fmt.Fprintf(os.Stderr, "shmem: the stack of the internal error below:\n%s", p.Stack)
	C.shmemi_core_internal_error(copied(p.Where), copied(fmt.Sprintf("internal error: %v", p.Value)))
}

// copied returns s as a C string in new memory. A shared buffer would not do: several goroutines
// may panic at the same time. The process ends next, so nothing frees it.
func copied(s string) *C.char {
	size := len(s) + 1
	return copyText(unsafe.Slice((*C.char)(C.calloc(C.size_t(size), 1)), size), s)
}

// shmemgoFinalize closes the job, and frees what init has allocated for the front's state.
//
//export shmemgoFinalize
func shmemgoFinalize() {
	defer guard.Catch("finalize")
	C.shmemi_core_set_fastpath(state.c(), nil, nil)
	C.shmemi_core_set_driver(nil)
	if err := current.Close(); err != nil {
		fmt.Fprintf(os.Stderr, "shmem: PE %d: finalize: %v\n", current.Me, err)
	}
	freeWakers() // after Close, which ends the rings whose producers use them
	empty(state)
	current = nil
	C.shmemi_core_set_departs(1)
}

// shmemgoGlobalExit requests the launcher to end the job with a status, for shmem_global_exit; the
// front then ends this process.
//
//export shmemgoGlobalExit
func shmemgoGlobalExit(status C.int) {
	defer guard.Catch("global_exit")
	current.Exit(int(status))
}

// shmemgoAbort asks the launcher to end the job; the front then ends this process.
//
//export shmemgoAbort
func shmemgoAbort(status C.int, reason *C.char) {
	defer guard.Drop() // the front has reported a reason, and ends the process
	// The front also calls this when init has failed, without a job.
	if current != nil {
		current.Abort(int(status), C.GoString(reason))
	}
}

// shmemgoPoll polls a network that C cannot poll, and returns the number of completions; if that
// fails, it ends the job. The caller has locked the network lock.
//
//export shmemgoPoll
func shmemgoPoll() C.int {
	defer guard.Catch("poll")
	n, err := current.Engine.Poll()
	if err != nil {
		fatal(err)
	}
	return C.int(n)
}

// shmemgoComplete handles n completions that C has read and does not handle itself, and retries
// what could not be posted before: for that alone n may be 0. A negative n is a libfabric error,
// which ends the job. The caller has locked the network lock.
//
//export shmemgoComplete
func shmemgoComplete(c *C.struct_shmemi_completion, n C.int) {
	defer guard.Catch("poll")
	if n < 0 {
		fatal(fmt.Errorf("the completion queue cannot be read: libfabric error %d", -n))
		return
	}
	current.Engine.Complete(unsafe.Slice((*fabric.Completion)(unsafe.Pointer(c)), int(n)))
}

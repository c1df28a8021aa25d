// Package memmonitor reports which memory of the process now has other pages, or none, after
// munmap, mremap, brk, madvise, or a new mapping at the same address. It owns the userfaultfd
// descriptor through which the kernel reports changes, the thread that reads the descriptor, and
// the list of watched memory. It does not know what the memory is used for.
//
// Only private anonymous memory can be watched: other memory can lose its pages without a report of
// the kernel, for example when a file is truncated. Two kinds of changes of watched memory are not
// reported either (docs/decisions/0019).
//
// # Threads
//
// The thread runs C code (watch.c) and starts with the first Watch. One goroutine at a time may use
// a Watch; different Watches are independent.
//
// # Order
//
// Changes reports every change made before the call, in the order in which the kernel executes the
// system calls of all threads; or it returns false, because a change is under way.
package memmonitor

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter
#cgo LDFLAGS: -pthread
#cgo noescape shmemi_watch_changes
#cgo nocallback shmemi_watch_changes
#cgo nocallback shmemi_watch_add
#cgo nocallback shmemi_watch_remove
#include "watch.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"libshmem/runtime/procmaps"
	"libshmem/runtime/shmerr"
)

// Span is the memory from address Begin up to End.
type Span struct{ Begin, End uint64 }

// Watch collects the changes of watched memory for one reader.
type Watch struct {
	id      C.int          // the number of its listener in watch.c
	maps    *procmaps.List // the mappings of this process
	changes [C.SHMEMI_CHANGES]C.struct_shmemi_change
}

// watched is the memory that any Watch watches.
var watched struct {
	mu    sync.Mutex
	users int    // number of open Watches
	spans []Span // ascending, with gaps between them
}

// Open makes a Watch, which watches no memory yet (Add). All Watches of the process share one
// thread. It fails if the system lacks userfaultfd or another feature.
func Open() (*Watch, error) {
	unsupported := func(call string, errno unix.Errno) error {
		return &shmerr.Error{
			Op: "watch", Object: "memory",
			Cause: shmerr.Causef(shmerr.ErrUnsupported, "%s: %v", call, errno),
		}
	}
	var call *C.char
	if rc := C.shmemi_watch_open(&call); rc != 0 {
		return nil, unsupported(C.GoString(call), unix.Errno(-rc))
	}
	m, err := procmaps.Open()
	if err != nil {
		C.shmemi_watch_close()
		return nil, err
	}
	w := &Watch{id: C.shmemi_watch_listen(), maps: m}
	if w.id < 0 {
		_ = m.Close() // it was only read
		C.shmemi_watch_close()
		return nil, unsupported("listen", unix.EMFILE)
	}
	watched.mu.Lock()
	watched.users++
	watched.mu.Unlock()
	return w, nil
}

// Add watches memory from now on, together with the rest of its mapping: if only a part were
// watched, the kernel would split the mapping, and the program's mremap of the whole would fail. It
// returns an error for memory that cannot be watched.
func (w *Watch) Add(s Span) error {
	all, err := whole(w.maps, s)
	if err != nil {
		return err
	}
	watched.mu.Lock()
	watched.spans = join(watched.spans, all)
	watched.mu.Unlock()
	if rc := C.shmemi_watch_add(C.uint64_t(all.Begin), C.uint64_t(all.End-all.Begin)); rc != 0 {
		return fmt.Errorf("UFFDIO_REGISTER: %w", unix.Errno(-rc))
	}
	// Check the mapping again: it may have changed before the kernel watched it.
	_, err = whole(w.maps, s)
	return err
}

// Changes calls f for each change since the last call. It returns false, and calls nothing, while a
// change is under way whose range is not known yet.
func (w *Watch) Changes(f func(Span)) bool {
	n := C.shmemi_watch_changes(w.id, &w.changes[0], C.SHMEMI_CHANGES)
	for i := range max(n, 0) {
		f(Span{uint64(w.changes[i].begin), uint64(w.changes[i].end)})
	}
	return n >= 0
}

// Close ends a Watch. The last Close ends the watching of all memory.
func (w *Watch) Close() error {
	C.shmemi_watch_deafen(w.id)
	watched.mu.Lock()
	if watched.users--; watched.users == 0 {
		// To close the descriptor is not enough: a child may have it open, and then a thread that
		// unmaps watched memory would wait for the reading thread, which has ended.
		for _, s := range anonymous(w.maps, watched.spans) {
			C.shmemi_watch_remove(C.uint64_t(s.Begin), C.uint64_t(s.End-s.Begin))
		}
		watched.spans = nil
	}
	watched.mu.Unlock()
	C.shmemi_watch_close()
	return w.maps.Close()
}

// join adds a span to ascending spans, and merges it with those that it touches.
func join(spans []Span, s Span) []Span {
	from, _ := slices.BinarySearchFunc(spans, s.Begin, func(t Span, at uint64) int {
		if t.End < at {
			return -1
		}
		return 1
	})
	to := from
	for ; to < len(spans) && spans[to].Begin <= s.End; to++ {
		s.Begin, s.End = min(s.Begin, spans[to].Begin), max(s.End, spans[to].End)
	}
	return slices.Replace(spans, from, to, s)
}

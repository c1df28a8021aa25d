// Package memmonitor reports which memory of the process has got other pages, or none: by munmap,
// mremap, brk, madvise, or a mapping over it. It owns the descriptor of userfaultfd behind that,
// the thread that reads it and the list of watched memory. It does not know the memory's use.
//
// Only private anonymous memory can be watched: pages of other memory may be taken away, by a
// truncated file for example, and the kernel does not report it. Of watched memory two ways are not
// reported either, see docs/decisions/0019.
//
// # Threads
//
// The thread is C's and starts with the first Watch, see watch.c. A Watch belongs to one goroutine
// at a time; different ones are independent.
//
// # Order
//
// Changes reports everything that happened before it was called, in the order that the kernel gives
// to system calls of all threads; or it reports that something is happening now.
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

// Span is memory from Begin up to End.
type Span struct{ Begin, End uint64 }

// Watch is one listener.
type Watch struct {
	id      C.int
	maps    *procmaps.List
	changes [C.SHMEMI_CHANGES]C.struct_shmemi_change
}

// watched is the memory that any Watch watches.
var watched struct {
	mu    sync.Mutex
	users int
	spans []Span // ascending, apart from each other
}

// Open starts to listen. It fails where the system lacks a feature.
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
		C.shmemi_watch_close()
		return nil, unsupported("listen", unix.EMFILE)
	}
	watched.mu.Lock()
	watched.users++
	watched.mu.Unlock()
	return w, nil
}

// Add watches memory from now on, and all that is mapped with it: watching a part would make two
// mappings of one, and then mremap of the whole fails. It fails for memory that cannot be watched.
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
	// Once more, for only now it cannot become something else unnoticed.
	_, err = whole(w.maps, s)
	return err
}

// Changes calls f for each change so far. It returns false while a change is under way whose range
// is not known yet.
func (w *Watch) Changes(f func(Span)) bool {
	n := C.shmemi_watch_changes(w.id, &w.changes[0], C.SHMEMI_CHANGES)
	for i := range max(n, 0) {
		f(Span{uint64(w.changes[i].begin), uint64(w.changes[i].end)})
	}
	return n >= 0
}

// Close ends it. With the last one nothing is watched any more.
func (w *Watch) Close() error {
	C.shmemi_watch_deafen(w.id)
	watched.mu.Lock()
	if watched.users--; watched.users == 0 {
		// This is not left to the descriptor: a child may hold it, and then a thread that unmaps
		// would wait for a thread that has gone.
		for _, s := range anonymous(w.maps, watched.spans) {
			C.shmemi_watch_remove(C.uint64_t(s.Begin), C.uint64_t(s.End-s.Begin))
		}
		watched.spans = nil
	}
	watched.mu.Unlock()
	C.shmemi_watch_close()
	return w.maps.Close()
}

// join adds a span to ascending ones.
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

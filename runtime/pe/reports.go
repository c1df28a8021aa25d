package pe

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// reports prints what goes wrong in rings, where one mistake in a kernel can come
// back a million times a second: the first few in full, then how many there were.
type reports struct {
	mu     sync.Mutex
	to     io.Writer
	prefix string
	now    func() time.Time
	since  time.Time
	told   int
	kept   int // not told since
}

// Of each period of reportEvery, reportMost are told.
const (
	reportEvery = 10 * time.Second
	reportMost  = 8
)

func (r *reports) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); now.Sub(r.since) >= reportEvery {
		r.flush()
		r.since, r.told = now, 0
	}
	if r.told == reportMost {
		r.kept++
		return
	}
	r.told++
	fmt.Fprintf(r.to, "shmem: %s: %v\n", r.prefix, err)
	if r.told == reportMost {
		fmt.Fprintf(r.to, "shmem: %s: more of these within %v are counted only\n", r.prefix, reportEvery)
	}
}

// flush tells how many were only counted.
func (r *reports) flush() {
	if r.kept > 0 {
		fmt.Fprintf(r.to, "shmem: %s: %d more operations of rings failed\n", r.prefix, r.kept)
		r.kept = 0
	}
}

// close tells what is left to tell.
func (r *reports) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
}

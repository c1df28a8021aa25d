package meet

// This file decides, alike on all PEs of a job, whether the globals and statics of their program
// are symmetric. The front finds and moves them, and the job reserves an area for them. It keeps no
// state.

import (
	"fmt"

	"libshmem"
	"libshmem/runtime/config"
)

// Statics are the program's globals and statics, as the front finds them. The front also moves
// them; this file makes the PEs agree on them.
type Statics struct {
	Size   uint64 // bytes, whole pages; 0: there are none to be symmetric
	Like   string // a fingerprint: equal on PEs that run the same program
	Cause  string // why there are none
	Remedy string
}

// StaticsPlace is the place of the statics: an area of the memory file, which every PE has at the
// same offset from its user heap.
type StaticsPlace struct {
	File   int
	At     uint64          // of the area in the file
	Offset libshmem.Offset // of the area from the user heap: below 0
}

// passHeap is the remedy where a program's static variables cannot be used as symmetric memory.
const passHeap = "pass memory from shmem_malloc"

// Allowed returns s. If SHMEM_STATICS is off, it returns no statics, with that cause.
func (s Statics) Allowed(want config.Statics) Statics {
	if want == config.StaticsOff {
		return Statics{Cause: "SHMEM_STATICS is off", Remedy: "unset SHMEM_STATICS, or " + passHeap}
	}
	return s
}

// agreeStatics returns the statics of this PE if those of all PEs can be symmetric, otherwise no
// statics, with the cause. Two programs in one job are no mistake as long as they use only the
// heap, so different statics are an error only with SHMEM_STATICS=on. statics is by PE.
func agreeStatics(statics []Statics, me int, want config.Statics) (Statics, error) {
	all := statics[me]
	for pe, s := range statics {
		switch {
		case all.Size == 0: // the first cause stays
		case s.Size == 0:
			all = Statics{Cause: fmt.Sprintf("PE %d has none: %s", pe, s.Cause), Remedy: s.Remedy}
		case s != statics[0]:
			all = Statics{Cause: fmt.Sprintf("PE %d runs another program than PE 0", pe), Remedy: "start the same file on every PE, or " + passHeap}
		}
	}
	if all.Size == 0 && want == config.StaticsOn {
		return all, fmt.Errorf("SHMEM_STATICS=on: the program's globals and statics cannot be symmetric: %s (%s)", all.Cause, all.Remedy)
	}
	return all, nil
}

package proxy

import (
	"fmt"
	"slices"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/call"
	"libshmem/runtime/proxy/layout"
)

// LostError is the error of an operation on a lost PE.
type LostError struct {
	PE     libshmem.PE
	Reason string // continues a sentence whose subject is the PE
}

// Error says which PE was lost, and why.
func (e *LostError) Error() string { return fmt.Sprintf("PE %d %s", e.PE, e.Reason) }

// MarkLost notes that one of npes PEs is lost, and why, and returns the error of operations on it.
func (e *network) MarkLost(pe libshmem.PE, npes int, reason string) *LostError {
	if e.losses == nil {
		e.losses = make([]*LostError, npes)
	}
	e.losses[pe] = &LostError{pe, reason}
	return e.losses[pe]
}

// IsLost reports whether a PE is lost.
func (e *network) IsLost(pe libshmem.PE) bool { return e.losses != nil && e.losses[pe] != nil }

// Lost returns why a PE is lost; nil: it is not.
func (e *network) Lost(pe libshmem.PE) error {
	if e.IsLost(pe) {
		return e.losses[pe]
	}
	return nil
}

// Unreachable returns why no message can be sent to a PE.
func (e *network) Unreachable(pe libshmem.PE) error {
	if e.IsLost(pe) {
		return e.losses[pe]
	}
	return errUnreachable
}

// truncated is libfabric's error (FI_ETRUNC) of a receive whose message was larger than its buffer.
const truncated = 265

// HandleFailedReceive posts a receive buffer again after a message that broke off, as happens when
// its sender ends. The provider does not name the sender of that message, but other errors name it.
// Each of the npes-1 senders ends once, so few messages can break off: more than
// layout.Receives*npes failures have another cause, and end the job. So does the first failure if
// no function handles losses (OnLost).
func (e *network) HandleFailedReceive(t fabric.Token, npes int, text string) {
	e.badReceives++
	if e.OnLost == nil || e.badReceives > layout.Receives*npes {
		e.Fatal(fmt.Errorf("receive: %s", text))
		return
	}
	e.Repost(t)
}

// Repost posts a receive buffer again. If that fails, the job has failed.
func (e *network) Repost(t fabric.Token) {
	if err := e.PostReceive(t); err != nil {
		e.Fatal(err)
	}
}

// Suspect notes that a PE may be gone, for FindLost. It does nothing for a PE that is lost already.
func (e *network) Suspect(pe libshmem.PE) {
	if !e.IsLost(pe) && !slices.Contains(e.suspects, pe) {
		e.suspects = append(e.suspects, pe)
	}
}

// Suspects reports whether some PE may be gone.
func (e *network) Suspects() bool { return len(e.suspects) > 0 }

// FindLost calls ping for each PE that may be gone. PEs for which ping returns Again stay listed:
// their message could not be posted, and the next call tries again.
func (e *network) FindLost(ping func(libshmem.PE) call.Status) {
	kept := e.suspects[:0]
	for _, pe := range e.suspects {
		if !e.IsLost(pe) && ping(pe) == call.Again {
			kept = append(kept, pe)
		}
	}
	e.suspects = kept
}

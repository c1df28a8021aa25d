package mesh

import (
	"fmt"
	"sync/atomic"
	"time"

	"libshmem"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/wait"
	"libshmem/runtime/shmerr"
)

// Request is a call that may take time. The engine's lock guards its fields, except done.
type Request struct {
	m           *Mesh
	member      *member         // nil: it concerns several
	parts       []proxy.Request // one for each operation of the engine
	begun       int             // how many parts, from the first on, were submitted to the engine
	ended       int             // how many parts, from the first on, are complete
	unposted    int             // operations that wait in the member's queue
	replies     int             // replies of members for which the request waits
	regions     []uint32        // numbers of the member's regions that it uses
	copiesEnded func() bool     // reports whether the GPU's copies have ended that may use the memory; may be nil
	settle      func()          // called once, when nothing is left to wait for; may be nil
	then        func(error)     // called once, with the lock held and err, when the request has ended; may be nil
	op, on      string          // for errors: the operation, and its object
	err         error
	done        atomic.Bool // err is final
}

// fail sets the reason of a request that ends with an error: the first one counts.
func (r *Request) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// touches reports whether a request uses a region.
func (r *Request) touches(region uint32) bool {
	for _, n := range r.regions {
		if n == region {
			return true
		}
	}
	return false
}

// tryEnd ends a request if nothing is left to wait for: no part, operation or reply. It reports
// whether the request has ended. The caller holds the engine's lock.
func (r *Request) tryEnd() bool {
	if r.done.Load() {
		return true
	}
	for r.ended < r.begun && atomic.LoadUint32(&r.parts[r.ended].Done) != 0 {
		if st := r.parts[r.ended].Status; st != 0 {
			r.fail(r.m.reasonOf(r.member, st))
		}
		r.ended++
	}
	if r.ended < r.begun || r.unposted > 0 || r.replies > 0 {
		return false
	}
	if r.member != nil && r.member.state == absent && r.m.networkUses(r.member) {
		return false
	}
	if r.copiesEnded != nil && !r.copiesEnded() {
		return false
	}
	if r.settle != nil {
		r.settle()
	}
	r.end()
	return true
}

// end marks a request as done, with the operation and its object in the error, if there is one.
func (r *Request) end() {
	if r.err != nil {
		r.err = &shmerr.Error{Op: r.op, Object: r.on, Cause: r.err}
	}
	r.done.Store(true)
	if r.then != nil {
		r.then(r.err)
	}
}

// networkUses reports whether the network may still access buffers of operations on a member that
// is gone. If the network never reports that it has finished with the buffers, they count as unused
// when the timeout of the mesh has passed since the loss.
func (m *Mesh) networkUses(p *member) bool {
	return m.e.Uses(libshmem.PE(p.number)) && time.Since(p.ended) < m.timeout
}

// reasonOf returns the error of an operation on a member that has ended with a status: why the
// member is gone, or why advance is about to give it up (m.losses), if one of these is so.
func (m *Mesh) reasonOf(p *member, status int32) error {
	if p.why != nil {
		return p.why
	}
	for _, g := range m.losses {
		if g.member == p.number {
			return lossOf(p.number, g.reason)
		}
	}
	return shmerr.Causef(shmerr.ErrPeerLost, "member %d: the network reports error %d of the operation", p.number, status)
}

// Test polls the network and does the mesh's other work, unless another thread does, and reports
// whether the request has ended, and with which error.
func (r *Request) Test() (ended bool, err error) {
	if !r.done.Load() {
		m := r.m
		if err := m.usable(); err != nil {
			m.e.WithLock(func() {
				if !r.done.Load() {
					r.fail(err)
					r.end()
				}
			})
		} else if m.e.TryLock() {
			if !m.closed.Load() && !r.tryEnd() {
				m.poll()
				r.tryEnd()
			}
			m.e.Unlock()
		}
	}
	if r.done.Load() {
		return true, r.err
	}
	return false, nil
}

// spins is how often Wait tests a request before it sleeps between tests.
const spins = 2000

// Wait waits until a request has ended, for at most d. After that time it returns an error, and the
// request goes on.
func (r *Request) Wait(d time.Duration) error {
	end := time.Now().Add(d)
	for i := 0; ; i++ {
		if ended, err := r.Test(); ended {
			return err
		}
		if time.Now().After(end) {
			return &shmerr.Error{Op: "wait", Object: "for a request", Cause: shmerr.Causef(shmerr.ErrTimeout, "it has not ended within %v", d), Remedy: "wait again, or close the mesh"}
		}
		pause(i)
	}
}

// pause gives way after test i of a wait has found nothing: it yields the processor after the first
// `spins` tests, and sleeps after later ones.
func pause(i int) {
	if i < spins {
		wait.Yield()
	} else {
		wait.Sleep(50 * time.Microsecond)
	}
}

// String describes the progress of a request, for failures of tests.
func (r *Request) String() string {
	return fmt.Sprintf("%d of %d parts, %d not posted, %d replies", r.ended, r.begun, r.unposted, r.replies)
}

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

// Request is a call that may take time. Its members are under the engine's lock, but for done.
type Request struct {
	m        *Mesh
	member   *member         // nil: it concerns several
	parts    []proxy.Request // of the engine's operations
	begun    int             // parts that were given to the engine
	ended    int             // the first parts that are complete
	unposted int             // operations that wait in a queue
	answers  int             // of members, that it waits for
	regions  []uint32        // of the member, that it uses
	copied   func() bool     // whether the GPU's copies have ended that may use the memory; may be nil
	settle   func()          // called once when all has ended; may be nil
	op, on   string          // for errors: the operation, and its object
	err      error
	done     atomic.Bool // err is final
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

// settled reports whether a request has ended, and notes so. The lock is held.
func (r *Request) settled() bool {
	if r.done.Load() {
		return true
	}
	for r.ended < r.begun && atomic.LoadUint32(&r.parts[r.ended].Done) != 0 {
		if st := r.parts[r.ended].Status; st != 0 {
			r.fail(r.m.reasonOf(r.member, st))
		}
		r.ended++
	}
	if r.ended < r.begun || r.unposted > 0 || r.answers > 0 {
		return false
	}
	if r.member != nil && r.member.state == away && r.m.ends(r.member) {
		return false
	}
	if r.copied != nil && !r.copied() {
		return false
	}
	if r.settle != nil {
		r.settle()
	}
	r.end()
	return true
}

// end makes the error of a request final.
func (r *Request) end() {
	if r.err != nil {
		r.err = &shmerr.Error{Op: r.op, Object: r.on, Cause: r.err}
	}
	r.done.Store(true)
}

// ends reports whether the network may still use memory of operations on a member that is gone. A
// network that never says so has the timeout of the mesh for it.
func (m *Mesh) ends(p *member) bool {
	return m.e.Uses(libshmem.PE(p.number)) && time.Since(p.ended) < m.timeout
}

// reasonOf returns why an operation on a member has ended with a status.
func (m *Mesh) reasonOf(p *member, status int32) error {
	if p.why != nil {
		return p.why
	}
	for _, g := range m.gone {
		if g.member == p.number {
			return lossOf(p.number, g.reason)
		}
	}
	return shmerr.Causef(shmerr.ErrPeerLost, "member %d: the network reports error %d of the operation", p.number, status)
}

// Test reports whether a request has ended, and its error if it has. It lets the mesh go on.
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
			if !m.closed.Load() && !r.settled() {
				m.poll()
				r.settled()
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

// pause is what a caller does after test i that has found nothing.
func pause(i int) {
	if i < spins {
		wait.Yield()
	} else {
		wait.Sleep(50 * time.Microsecond)
	}
}

// String describes a request for tests.
func (r *Request) String() string {
	return fmt.Sprintf("%d of %d parts, %d not posted, %d answers", r.ended, r.begun, r.unposted, r.answers)
}

package mesh

import "time"

// Source has operations that another thread has submitted for a mesh, and that the mesh's proxy
// begins. That thread neither locks the engine nor polls: a submission costs it a store, and the
// proxy posts together what was submitted together.
type Source interface {
	// Begin begins all submitted operations by calls of m.Begin, and returns their number. It is
	// called with the engine's lock.
	Begin(m *Mesh) int
	// Sleep says that the proxy is about to sleep. It returns false if operations were submitted
	// meanwhile. After true, a thread that submits an operation calls Mesh.Wake.
	Sleep() bool
	// Fail is called when no operation ends any more, not even one that is under way.
	Fail(err error)
	// Lost is called when a member is lost, with the engine's lock. Operations on that member
	// fail. But a program that only waits for data from the member has no operation that fails.
	Lost(err error)
}

// sourceSpin is how long the proxy of a mesh with a source polls for more work before it sleeps:
// kernels submit, which would have to wait some 30 us for a thread to wake.
const sourceSpin = 10 * time.Millisecond

// Wake wakes the mesh's proxy, which sleeps or is about to.
func (m *Mesh) Wake() { m.e.Rouse() }

// Transfer is a put, a get or a signal.
type Transfer struct {
	Get     bool // else a put
	Context int
	At      *Remote
	Blocks  []Block
	Signal  *Signal // follows the blocks of a put; nil: none
	Ordered bool    // as for Put
}

// Begin begins a transfer that another thread has submitted to the mesh's Source, and calls ended
// when it has ended, which may be before Begin returns. Source.Begin calls it, with the engine's
// lock held.
func (m *Mesh) Begin(t *Transfer, ended func(error)) {
	name, kind := "put to", doPut
	switch {
	case t.Get:
		name, kind = "get from", doGet
	case len(t.Blocks) == 0:
		name = "notify"
	}
	req, err := m.start(name, kind, t.Context, t.At, t.Blocks, t.Signal, t.Ordered)
	if err != nil {
		ended(transferError(name, t.At, err))
		return
	}
	req.then = ended
}

// gather makes small operations on one member share messages until gathered is called. Both are
// called only for a mesh with a source, which submits several operations at once.
func (m *Mesh) gather() {
	for _, e := range m.contexts {
		e.BurstBegins()
	}
}

// gathered sends the messages that operations have shared since gather.
func (m *Mesh) gathered() {
	for _, e := range m.contexts {
		e.BurstEnds()
	}
}

// keepsAwake reports whether the proxy polls again after a poll that found no event (n is 0),
// because the source had work less than sourceSpin ago and may soon have more. After a poll with
// events Engine.Next decides.
func (m *Mesh) keepsAwake(n int) bool {
	if m.source == nil {
		return false
	}
	now := time.Now()
	if n > 0 {
		m.worked = now
	}
	return n == 0 && now.Sub(m.worked) < sourceSpin
}

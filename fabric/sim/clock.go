package sim

import (
	"cmp"
	"slices"

	"libshmem/fabric"
)

// action is the effect of an event.
type action uint8

const (
	actLeave        action = iota // the next packet of m goes to the wire
	actArrive                     // p is at its target's NIC
	actLand                       // the target's NIC has taken p from the wire
	actSecond                     // the second piece of p becomes visible
	actAcknowledged               // the target's acknowledgement of m is at the sender
	actComplete                   // a late completion
	actFail                       // m fails
	actFault                      // a planned fault
	actReady                      // p, which was held back for order, may land
	actHandshake                  // handshakePacket is at its target
	actRetry                      // m tries again to find a receive buffer
)

// event is something that will happen at a time. gen is m.gen as it was when the event was planned:
// if m.gen has changed since, m is over and the event void.
type event struct {
	at              Time
	seq             uint64 // number in the order of planning
	do              action
	gen             uint32
	m               *message          // nil: the event is of no message, and never void
	p               *packet           // of actArrive, actLand, actSecond and actReady
	e               *endpoint         // of actComplete: whose queue gets comp
	handshakePacket handshakePacket   // of actHandshake
	comp            fabric.Completion // of actComplete; of actFault its Token is an index in Network.faults
}

// agenda is a heap of events, the first at its root. Events of one instant are
// in the order in which they were planned.
type agenda struct {
	list []event
	seq  uint64
}

// before reports whether event i of the heap happens before event k: earlier, or planned first at
// the same time.
func (a *agenda) before(i, k int) bool {
	x, y := &a.list[i], &a.list[k]
	return x.at < y.at || x.at == y.at && x.seq < y.seq
}

// add plans an event. It gets the next number, which orders the events of one instant. list is a
// binary heap.
func (a *agenda) add(e event) {
	a.seq++
	e.seq = a.seq
	a.list = append(a.list, e)
	for i := len(a.list) - 1; i > 0; {
		up := (i - 1) / 2
		if !a.before(i, up) {
			break
		}
		a.list[i], a.list[up] = a.list[up], a.list[i]
		i = up
	}
}

// next removes the earliest event from the heap, which must not be empty, and returns it.
func (a *agenda) next() event {
	first, last := a.list[0], len(a.list)-1
	a.list[0] = a.list[last]
	a.list[last] = event{}
	a.list = a.list[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < last && a.before(down+1, down) {
			down++
		}
		if down >= last || !a.before(down, i) {
			return first
		}
		a.list[i], a.list[down] = a.list[down], a.list[i]
		i = down
	}
}

// idleStep is how far a Poll moves the clock when nothing is under way, so that a storm, in which
// all calls are refused, ends.
const idleStep = 200 // nanoseconds

// add schedules an event, and wakes an endpoint that waits: if all endpoints sleep, none moves the
// clock.
func (n *Network) add(e event) {
	n.agenda.add(e)
	if last := len(n.waiting) - 1; last >= 0 {
		n.waiting[last].signal()
	}
}

// step handles the next event, if there is one, and reports whether there was.
func (n *Network) step() bool {
	if len(n.agenda.list) == 0 {
		return false
	}
	n.handle(n.agenda.next())
	return true
}

// Step handles the next event as a Poll does, but reads no socket. It reports whether there was an
// event. A caller of Step lets time pass while no endpoint polls. With Manual it does nothing.
func (n *Network) Step() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.manual {
		return false
	}
	if n.step() {
		return true
	}
	n.now += idleStep
	return false
}

// Woken reports whether a Wait of some endpoint of a host would return: something has arrived since
// its last Arm, or Wake was called. Like Wait, it reports this once.
func (n *Network) Woken(hostNumber int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	woken := false
	for _, e := range n.host(hostNumber).ports {
		if e != nil {
			woken = woken || e.came || e.awake
			e.came, e.awake = false, false
		}
	}
	return woken
}

// handle moves the clock to an event and carries it out. An event of a message that is over is
// void: the message's record has another generation (gen) now.
func (n *Network) handle(ev event) {
	n.now = max(n.now, ev.at)
	if ev.m != nil && ev.m.gen != ev.gen {
		n.freePacket(ev.p)
		return
	}
	switch ev.do {
	case actLeave:
		n.sendPacket(ev.m)
	case actArrive:
		n.arrive(ev.p)
	case actLand, actReady:
		n.land(ev.p)
	case actSecond:
		n.storeSecond(ev.p)
	case actAcknowledged:
		n.handleAcknowledgement(ev.m)
	case actComplete:
		ev.e.complete(ev.comp)
	case actFail:
		n.fail(ev.m, ev.m.errno, ev.m.reason)
	case actHandshake:
		n.storeHandshake(ev.handshakePacket)
	case actRetry:
		n.tryAgain(ev.m)
	case actFault:
		n.applyFault(ev.comp.Token)
	}
}

// plan schedules an event of a message or one of its packets. The event is void if the message's
// generation changes before: then the message is over, and its record may be that of another one.
func (n *Network) plan(do action, at Time, m *message, p *packet) {
	e := event{at: at, do: do, m: m, p: p}
	if m != nil {
		e.gen = m.gen
	}
	n.add(e)
}

// Manual stops Poll from handling events, for a test that tries every order: Poll only returns
// completions that are in the queue, and the test picks which of the Pending events is next,
// whatever their times.
func (n *Network) Manual(on bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.manual = on
}

// Pending drops void events and returns the number of the others, of which any may be next.
func (n *Network) Pending() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	live := n.agenda.list[:0]
	for _, ev := range n.agenda.list {
		if ev.m != nil && ev.m.gen != ev.gen {
			n.freePacket(ev.p)
			continue
		}
		live = append(live, ev)
	}
	clear(n.agenda.list[len(live):])
	n.agenda.list = live
	// In the order of planning: after a test has picked all events by Manual, the list is no heap
	// any more.
	slices.SortFunc(live, func(a, b event) int { return cmp.Compare(a.seq, b.seq) })
	return len(live)
}

// Pick handles event i of those that Pending has counted, whatever the times of the events. The
// events are those of the last Pending, which must follow every other call. A search through all
// orders calls it.
func (n *Network) Pick(i int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	ev := n.agenda.list[i]
	n.agenda.list = slices.Delete(n.agenda.list, i, i+1)
	n.handle(ev)
}

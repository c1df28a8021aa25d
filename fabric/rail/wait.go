package rail

import (
	"slices"
	"time"
)

// oneNICSleep is the longest sleep of a Wait where NICs have no descriptors. Such a Wait waits for
// one NIC, and arrivals at the other NICs cannot end it.
const oneNICSleep = 500 * time.Microsecond

// longestSleep bounds every sleep. With net of libfabric 1.17, on a busy machine, the first message
// on a connection that a NIC accepted while its owner slept ended no Wait in 4 of 50 runs of the
// suite; a second NIC meets that more often than the first.
const longestSleep = 100 * time.Millisecond

// idle reports whether a Poll has nothing to do but to poll the NICs. A message that has arrived is
// work only once the caller has posted a buffer for it.
func (p *Provider) idle() bool {
	return len(p.done)+len(p.waiting)+len(p.rescued)+len(p.inbox.owed) == 0 && !p.state.Owes() && (p.inbox.arrived.n == 0 || p.state.Posted() == 0) && p.failed == nil
}

// mark sets the words of p.state by which the C functions of package peek know whether Go has work,
// and whether it has messages for the caller.
func (p *Provider) mark() {
	p.state.Work, p.state.Arrived = 0, 0
	if !p.idle() {
		p.state.Work = 1
	}
	if p.inbox.arrived.n > 0 {
		p.state.Arrived = 1
	}
}

// Ready implements fabric.Provider: it reports whether a Poll is known to have work now.
func (p *Provider) Ready() bool {
	return !p.idle() || slices.ContainsFunc(p.nics, func(n *nic) bool { return n.Ready() })
}

// Arm implements fabric.Provider: it prepares all NICs for a Wait, and returns false if there is
// work for a Poll.
func (p *Provider) Arm() bool {
	if !p.idle() {
		return false
	}
	if p.peek != nil {
		return p.peek.Arm()
	}
	for _, n := range p.nics {
		if !n.Arm() {
			return false
		}
	}
	return true
}

// Wait implements fabric.Provider. With C code it waits for all NICs together. Otherwise the NICs
// have no descriptors, and it waits for one of them, for oneNICSleep at most, each time for the
// next one.
func (p *Provider) Wait(d time.Duration) (bool, error) {
	if p.peek != nil {
		return p.peek.Wait(min(d, longestSleep))
	}
	if p.awake.Swap(false) {
		return true, nil
	}
	n := p.nics[int(p.sleeps.Add(1))%len(p.nics)]
	return n.Wait(min(d, oneNICSleep))
}

// Wake implements fabric.Provider: it ends a Wait, whichever NIC the Wait waits for.
func (p *Provider) Wake() {
	if p.peek != nil {
		p.peek.Wake()
		return
	}
	p.awake.Store(true)
	for _, n := range p.nics {
		n.Wake()
	}
}

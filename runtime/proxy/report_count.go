package proxy

import (
	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// Count returns the counters of all PEs and contexts together: sums, and for a maximum the largest.
func (e *Report) Count() (all [layout.Counted]uint64) {
	e.engine.forEachPeerTable(func(peers []layout.Peer) {
		for i := range peers {
			c := peers[i].Counts()
			layout.AddCounts(&all, &c)
		}
	})
	return all
}

// CountOf returns the counters of one PE, those of all contexts together.
func (e *Report) CountOf(pe libshmem.PE) (all [layout.Counted]uint64) {
	e.engine.forEachPeerTable(func(peers []layout.Peer) {
		c := peers[pe].Counts()
		layout.AddCounts(&all, &c)
	})
	return all
}

// Messages returns the number of messages that were sent. Operations that shared a message (Merged)
// are subtracted from the counts of the kinds.
func (e *Report) Messages() (n uint64) {
	c := e.Count()
	for i := layout.Atomics; i <= layout.Control; i++ {
		n += c[i]
	}
	return n - c[layout.Merged]
}

// NICs returns the traffic of each NIC. A provider with one NIC counts nothing itself: its traffic
// is the sum of the PEs' counters.
func (e *Report) NICs() []fabric.RailCount {
	if p, ok := e.prov.(fabric.Rails); ok {
		return p.Rails()
	}
	c := e.Count()
	return []fabric.RailCount{nicOf(e.caps.Domain, &c)}
}

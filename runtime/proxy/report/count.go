package report

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// Count adds up what is counted for all PEs; of what is a maximum it is the
// largest.
func (e *Endpoint) Count() (all [layout.Counted]uint64) {
	e.engine.EachStream(func(peers []layout.Peer) {
		for i := range peers {
			c := peers[i].Counts()
			layout.AddCounts(&all, &c)
		}
	})
	return all
}

// CountOf is what is counted for one PE.
func (e *Endpoint) CountOf(pe int) (all [layout.Counted]uint64) {
	e.engine.EachStream(func(peers []layout.Peer) {
		c := peers[pe].Counts()
		layout.AddCounts(&all, &c)
	})
	return all
}

// Messages is how many messages were sent.
func (e *Endpoint) Messages() (n uint64) {
	c := e.Count()
	for i := layout.Atomics; i <= layout.Control; i++ {
		n += c[i]
	}
	return n - c[layout.Merged]
}

// NICs tells what each NIC has carried. A provider with one does not count: there it
// is what the PEs' counters say.
func (e *Endpoint) NICs() []fabric.RailCount {
	if p, ok := e.prov.(fabric.Rails); ok {
		return p.Rails()
	}
	c := e.Count()
	return []fabric.RailCount{nicOf(e.caps.Domain, &c)}
}

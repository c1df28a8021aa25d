package proxy

import (
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// Count adds up what is counted for all PEs; of what is a maximum it is the
// largest.
func (r *reports) Count() (all [layout.Counted]uint64) {
	r.engine.EachStream(func(peers []layout.Peer) {
		for i := range peers {
			c := peers[i].Counts()
			layout.AddCounts(&all, &c)
		}
	})
	return all
}

// CountOf is what is counted for one PE.
func (r *reports) CountOf(pe int) (all [layout.Counted]uint64) {
	r.engine.EachStream(func(peers []layout.Peer) {
		c := peers[pe].Counts()
		layout.AddCounts(&all, &c)
	})
	return all
}

// Messages is how many messages were sent.
func (r *reports) Messages() (n uint64) {
	c := r.Count()
	for i := layout.Atomics; i <= layout.Control; i++ {
		n += c[i]
	}
	return n - c[layout.Merged]
}

// NICs tells what each NIC has carried. A provider with one does not count: there it
// is what the PEs' counters say.
func (r *reports) NICs() []fabric.RailCount {
	if p, ok := r.prov.(fabric.Rails); ok {
		return p.Rails()
	}
	c := r.Count()
	return []fabric.RailCount{nicOf(r.caps.Domain, &c)}
}

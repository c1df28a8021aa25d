package proxy

import "libshmem/runtime/proxy/layout"

// Count adds up what is counted for all PEs; of what is a maximum it is the
// largest.
func (e *Engine) Count() (all [layout.Counted]uint64) {
	e.all(func(s *Engine) {
		for i := range s.peers {
			c := s.peers[i].Counts()
			layout.AddCounts(&all, &c)
		}
	})
	return all
}

// CountOf is what is counted for one PE.
func (e *Engine) CountOf(pe int) (all [layout.Counted]uint64) {
	e.all(func(s *Engine) {
		c := s.peers[pe].Counts()
		layout.AddCounts(&all, &c)
	})
	return all
}

// Messages is how many messages were sent.
func (e *Engine) Messages() (n uint64) {
	c := e.Count()
	for i := layout.Atomics; i <= layout.Control; i++ {
		n += c[i]
	}
	return n - c[layout.Merged]
}

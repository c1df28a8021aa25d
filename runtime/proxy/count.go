package proxy

// lastMessage is the last kind with a counter of its own number: those from here on count
// as this.
const lastMessage = Counter(kindFlush)

var _ = [1]struct{}{}[Control-lastMessage]

// Count adds up what is counted for all PEs; of what is a maximum it is the
// largest.
func (e *Engine) Count() (all [Counted]uint64) {
	e.all(func(s *Engine) {
		for i := range s.peers {
			c := s.peers[i].counts()
			addCounts(&all, &c)
		}
	})
	return all
}

// CountOf is what is counted for one PE.
func (e *Engine) CountOf(pe int) (all [Counted]uint64) {
	e.all(func(s *Engine) {
		c := s.peers[pe].counts()
		addCounts(&all, &c)
	})
	return all
}

// counts has the maxima as they are now: they are looked at when they go down.
func (p *peer) counts() [Counted]uint64 {
	c := p.count
	c[MostUnderWay] = max(c[MostUnderWay], uint64(p.tokens))
	c[MostUnanswered] = max(c[MostUnanswered], p.asked-p.acked)
	return c
}

func addCounts(all, of *[Counted]uint64) {
	for i, n := range of {
		if Counter(i) >= MostUnderWay {
			all[i] = max(all[i], n)
		} else {
			all[i] += n
		}
	}
}

// AddCounts adds what another engine has counted.
func AddCounts(all *[Counted]uint64, of [Counted]uint64) { addCounts(all, &of) }

// Messages is how many messages were sent.
func (e *Engine) Messages() (n uint64) {
	c := e.Count()
	for i := Atomics; i <= Control; i++ {
		n += c[i]
	}
	return n - c[Merged]
}

// countMessage counts one that the provider has taken.
func (p *peer) countMessage(k kind, n int) {
	p.count[min(Counter(k), lastMessage)]++
	p.count[MessageBytes] += uint64(n)
}

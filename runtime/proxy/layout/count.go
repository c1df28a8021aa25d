package layout

// lastMessage is the last kind with a counter of its own number: those from here on count
// as this.
const lastMessage = Counter(KindFlush)

var _ = [1]struct{}{}[Control-lastMessage]

// Counts has the maxima as they are now: they are looked at when they go down.
func (p *Peer) Counts() [Counted]uint64 {
	c := p.Count
	c[MostUnderWay] = max(c[MostUnderWay], uint64(p.Tokens))
	c[MostUnanswered] = max(c[MostUnanswered], p.Asked-p.Acked)
	return c
}

// AddCounts adds what was counted elsewhere; of what is a maximum it takes the larger.
func AddCounts(all, of *[Counted]uint64) {
	for i, n := range of {
		if Counter(i) >= MostUnderWay {
			all[i] = max(all[i], n)
		} else {
			all[i] += n
		}
	}
}

// CountMessage counts one that the provider has taken.
func (p *Peer) CountMessage(k Kind, n int) {
	p.Count[min(Counter(k), lastMessage)]++
	p.Count[MessageBytes] += uint64(n)
}

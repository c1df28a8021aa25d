package layout

// lastMessage is the last kind of message with a counter of its own; later kinds count as this one.
const lastMessage = Counter(KindFlush)

// Control, the counter of the library's own messages, is the one of lastMessage.
var _ = [1]struct{}{}[Control-lastMessage]

// Counts returns the counters, with maxima that include the present values: the stored maxima are
// updated only when a value falls.
func (p *Peer) Counts() [Counted]uint64 {
	c := p.Count
	c[MostUnderWay] = max(c[MostUnderWay], uint64(p.Tokens))
	c[MostUnacknowledged] = max(c[MostUnacknowledged], p.Charged-p.Acked)
	return c
}

// AddCounts adds the counts of one PE's record to all. Counters from MostUnderWay on are maxima, of
// which all gets the larger.
func AddCounts(all, of *[Counted]uint64) {
	for i, n := range of {
		if Counter(i) >= MostUnderWay {
			all[i] = max(all[i], n)
		} else {
			all[i] += n
		}
	}
}

// CountMessage counts a message of n bytes that the provider has accepted. The counter of a kind has
// the number of the kind.
func (p *Peer) CountMessage(k Kind, n int) {
	p.Count[min(Counter(k), lastMessage)]++
	p.Count[MessageBytes] += uint64(n)
}

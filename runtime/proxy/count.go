package proxy

// Counter is something that is counted for each PE of the job. Counts only grow,
// but for the last two, which are the most that there ever was.
type Counter int

// The counters. The numbers of the messages that ask for something are those of
// their kinds, so that one index serves to count them; C counts those too
// (express/express.h).
const (
	MessageBytes   Counter              = iota // sent in messages, headers included
	Atomics                                    // kindAMO
	Elements                                   // kindStore
	Puts                                       // kindPut
	PutSignals                                 // kindPutSignal
	Control                                    // the library's own messages, and those that others share
	Received                                   // messages that came in their turn, or waited for it
	ReceivedBytes                              // in them
	Writes                                     // one-sided
	WriteBytes                                 //
	Reads                                      // one-sided
	ReadBytes                                  //
	Retries                                    // times the provider had no room; for this PE itself: none for a receive buffer
	NoCredit                                   // times an operation was sent back because the PE had no credit, or no token was left
	NoTurn                                     // times one was sent back because it had to follow what was on its way
	Parked                                     // messages of the library's own that had to wait for room
	Early                                      // messages that came before their turn
	Numbered                                   // one-sided writes that brought a number along, see number.go
	Held                                       // messages that waited here for such writes
	Waited                                     // operations that waited in a queue, see queue.go
	Merged                                     // operations that shared a message with others, see merge.go
	MostUnderWay                               // operations at a time that held a token
	MostUnanswered                             // units of messages at a time that the PE had not said it applied
	Counted        = iota                      // how many there are
	lastMessage    = Counter(kindFlush)        // kinds from here on count as this
)

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

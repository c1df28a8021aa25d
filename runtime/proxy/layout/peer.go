package layout

// Charge adds the units of credit of a message that was sent to the PE in an epoch. A signal that
// had to wait for its bytes may be sent after its epoch has ended, but no message of a later epoch
// was sent before it.
func (p *Peer) Charge(units, epoch uint64) {
	if epoch > p.Epoch {
		p.Epoch, p.ChargedThen = epoch, p.Charged
	}
	p.Charged += units
}

// FlushID returns the number that the reply to the flush under way has to carry.
func (p *Peer) FlushID() uint32 { return p.FlushTurn<<16 | FlushToken }

// HasAcknowledgedGoal reports whether the PE has applied all messages and writes of the closed
// generation.
func (p *Peer) HasAcknowledgedGoal() bool { return p.Acked >= p.Goal && p.WroteAcked >= p.GoalWrote }

// Written returns how many writes to the PE are complete.
func (p *Peer) Written() uint64 { return p.Count[Writes] - uint64(p.Writes) }

// Cost returns the units of credit that a message of n bytes costs: one for each 2^Unit bytes that
// are begun. Bytes beyond CreditedMost cost nothing.
func (s *State) Cost(n int) uint64 { return 1 + uint64(min(n, CreditedMost)-1)>>(s.Unit&63) }

// MustFollow reports whether the PE may not have applied some messages from before an epoch, so
// that a write would overtake them: a provider stores written bytes when they arrive, and a message
// is applied only when the target polls.
func (p *Peer) MustFollow(epoch uint64) bool {
	before := p.Charged
	if p.Epoch == epoch {
		before = p.ChargedThen
	}
	return before > p.Acked
}

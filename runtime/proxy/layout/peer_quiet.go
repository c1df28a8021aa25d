package layout

// Quiets: Dirty says that the open generation has sent to the PE. Unmet says that the PE has not
// acknowledged the closed generation: Acked is below Goal, or WroteAcked below GoalWrote. Late says
// that the flush that requests the acknowledgement could not be posted.

// Touch notes that the open generation, the operations of the next quiet, has sent to the PE. It
// returns false if that was noted before.
func (p *Peer) Touch() bool {
	if p.Dirty {
		return false
	}
	p.Dirty = true
	return true
}

// CloseGeneration makes everything that was sent to the PE so far the goal of the generation that
// is closed now: the PE has to acknowledge it before the generation is complete. It reports whether
// the PE has not done so yet.
func (p *Peer) CloseGeneration() bool {
	p.Dirty = false
	p.Goal, p.GoalWrote = p.Charged, p.Wrote
	p.Unmet = !p.HasAcknowledgedGoal()
	return p.Unmet
}

// RaiseGoal raises the goal of the closed generation to everything that was sent to the PE up to
// now. It returns false if the generation was waiting for an acknowledgement of the PE already.
func (p *Peer) RaiseGoal() bool {
	p.Goal, p.GoalWrote = p.Charged, p.Wrote
	before := p.Unmet
	p.Unmet = true
	return !before
}

// Settle notes that the closed generation, the operations for which quiets wait now, need not wait
// for the PE any more. It returns false if the generation was not waiting for the PE.
func (p *Peer) Settle() bool {
	before := p.Unmet
	p.Unmet = false
	return before
}

// MarkLate notes that a flush to the PE could not be posted, because the provider's queue was full.
// It returns false if that was noted before.
func (p *Peer) MarkLate() bool {
	before := p.Late
	p.Late = true
	return !before
}

// ClearLate clears Late before the flush that could not be posted is tried again, so that MarkLate
// returns true again if the provider's queue is still full.
func (p *Peer) ClearLate() { p.Late = false }

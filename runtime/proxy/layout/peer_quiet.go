package layout

// Quiets: Dirty says that the open generation has sent to the PE. Unmet says that the PE has not
// acknowledged the closed generation: Acked is below Goal, or WroteAcked below GoalWrote. Late says
// that the provider had no room for the flush that requests the acknowledgement.

// Touch notes that the open generation, the operations of the next quiet, has sent to the PE.
// False: that was noted before.
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
	p.Unmet = !p.Met()
	return p.Unmet
}

// RaiseGoal raises the goal of the closed generation to everything that was sent to the PE up to
// now. It reports whether the PE owed no acknowledgement before, and owes one now.
func (p *Peer) RaiseGoal() bool {
	p.Goal, p.GoalWrote = p.Charged, p.Wrote
	before := p.Unmet
	p.Unmet = true
	return !before
}

// Settle ends the wait of the closed generation, and so of its quiets, for the PE. False: it did
// not wait.
func (p *Peer) Settle() bool {
	before := p.Unmet
	p.Unmet = false
	return before
}

// MarkLate notes that the provider had no room for a flush of the PE. False: that was noted before.
func (p *Peer) MarkLate() bool {
	before := p.Late
	p.Late = true
	return !before
}

// ClearLate takes the PE off the late list, before its flush is tried again.
func (p *Peer) ClearLate() { p.Late = false }

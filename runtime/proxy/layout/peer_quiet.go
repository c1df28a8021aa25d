package layout

// Quiets: Dirty says that the open generation has sent to the PE. Unmet says that the PE has not
// acknowledged the closed generation: Acked is below Goal, or WroteAcked below GoalWrote. Late says
// that the provider had no room for the flush that requests the acknowledgement.

// Touch notes that the open generation has to ask the PE; false: it was noted before.
func (p *Peer) Touch() bool {
	if p.Dirty {
		return false
	}
	p.Dirty = true
	return true
}

// CloseGeneration makes everything that was asked of the PE the goal of the generation that is closed
// now. It reports whether the PE owes an answer.
func (p *Peer) CloseGeneration() bool {
	p.Dirty = false
	p.Goal, p.GoalWrote = p.Charged, p.Wrote
	p.Unmet = !p.Met()
	return p.Unmet
}

// RaiseGoal adds what was asked of the PE since then to the goal. It reports whether the PE owes an
// answer and did not before.
func (p *Peer) RaiseGoal() bool {
	p.Goal, p.GoalWrote = p.Charged, p.Wrote
	before := p.Unmet
	p.Unmet = true
	return !before
}

// Settle ends the wait of the closed generation for the PE; false: it did not wait.
func (p *Peer) Settle() bool {
	before := p.Unmet
	p.Unmet = false
	return before
}

// MarkLate notes that a flush found no room; false: it was noted before.
func (p *Peer) MarkLate() bool {
	before := p.Late
	p.Late = true
	return !before
}

// ClearLate takes the PE off the late list, before its flush is tried again.
func (p *Peer) ClearLate() { p.Late = false }

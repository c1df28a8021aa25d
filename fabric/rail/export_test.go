package rail

// HasCompletions polls the queues from C.
func (p *Provider) HasCompletions() bool { return p.peek.HasCompletions() }

package rail

// Look looks at the queues from C.
func (p *Provider) Look() bool { return p.peek.Look() }

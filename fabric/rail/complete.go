package rail

import (
	"fmt"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

// Poll implements fabric.Provider. It returns stored completions and messages that have waited for
// a buffer, and then polls the NICs. Each Poll begins with another NIC, because those in front may
// fill c. Before and after the polls retry posts what NICs have refused.
func (p *Provider) Poll(c []fabric.Completion) (int, error) {
	k := copy(c, p.done)
	p.done = p.done[:copy(p.done, p.done[k:])]
	k += p.deliverWaiting(c[k:])
	p.retry()
	for i := range p.nics {
		l := p.firstPolled + i
		if l >= len(p.nics) {
			l -= len(p.nics)
		}
		if k == len(c) {
			break
		}
		came, err := p.pollOne(l, p.batch[:min(len(c)-k, len(p.batch))])
		if err != nil {
			return k, fmt.Errorf("NIC %s: %w", p.nics[l].name, err)
		}
		for j := range p.batch[:came] {
			if p.handle(l, &p.batch[j]) {
				c[k] = p.batch[j]
				k++
			}
		}
	}
	if p.firstPolled++; p.firstPolled >= len(p.nics) {
		p.firstPolled = 0
	}
	p.retry()
	p.mark()
	return k, p.failed
}

// pollOne polls NIC l. It first returns the completions of that NIC that the C functions of package
// peek have read and kept for Go.
func (p *Provider) pollOne(l int, c []fabric.Completion) (int, error) {
	if p.peek != nil {
		n, errno := p.peek.Drain(l, c)
		if n > 0 {
			return n, nil
		}
		if errno != 0 {
			if _, err := p.nics[l].Poll(c[:1]); err != nil {
				return 0, err // the provider's own text for the error that C saw
			}
			return 0, fmt.Errorf("its completion queue cannot be read: error %d of libfabric", errno)
		}
	}
	return p.nics[l].Poll(c)
}

// handle processes a completion of NIC l. If it returns true, it has changed *c into a completion
// for the caller of Poll.
func (p *Provider) handle(l int, c *fabric.Completion) bool {
	switch {
	case c.Kind == fabric.KindTrouble:
		p.texts[c.Token] = fmt.Sprintf("%s, NIC %s", p.nics[l].ErrorText(c), p.nics[l].name)
		if !p.resend {
			// Messages that the NIC has completed may be lost, and no other NIC sends them again.
			c.SetFrom(p.peOfIndex(c.From()))
			return true
		}
		p.handleTrouble(l)
		c.SetFrom(libshmem.NoPE) // another NIC may reach the PE
		return true
	case c.Token == fabric.NoToken: // immediate data that took no buffer
		c.SetFrom(p.peOfIndex(c.From()))
		return true
	case int(c.Token) >= p.tokens:
		return p.handleOwn(l, c)
	}
	if n := p.nics[l]; n.staleTokens[c.Token] { // the part was posted again on another NIC
		delete(n.staleTokens, c.Token)
		return false
	}
	// Find the part by its NIC and token. The last one needs no comparison.
	op := &p.ops[c.Token]
	i := 0
	for op.n > 1 && i < op.n-1 && (p.parts[int(c.Token)*len(p.nics)+i].nic != l || p.parts[int(c.Token)*len(p.nics)+i].token != c.Token) {
		i++
	}
	return p.handlePart(c.Token, i, c)
}

// handleOwn processes a completion of NIC l whose token is one of the NIC's own, not the caller's:
// the completion of a receive buffer or of a job. If it returns true, it has changed *c into a
// completion for the caller of Poll.
func (p *Provider) handleOwn(l int, c *fabric.Completion) bool {
	if slot := int(c.Token) - p.tokens; slot < receipts {
		return p.handleMessage(arrival{nic: int32(l), slot: int32(slot)}, c)
	}
	n := p.nics[l]
	j := *n.job(c.Token)
	text := ""
	if c.Err != 0 {
		text = n.ErrorText(c)
	}
	n.freeToken(c.Token)
	switch j.what { // jobNone: the operation was detached from this NIC, and only its token is freed
	case jobRow:
		f := &p.fetches[j.slot]
		if c.Err == 0 {
			p.markProven(l, j.pe, int(j.remote))
			p.storeRow(int(j.slot))
			break
		}
		if f.state = fetchDue; p.resend && !isOperationError(c.Err) {
			p.failPair(l, j.pe, int(j.remote), text)
			p.readRow(int(j.slot))
			break
		}
		f.state, f.err, f.text = fetchFailed, c.Err, "read of a key: "+text
	case jobInjected:
		entry := &p.injected[j.slot]
		if c.Err == 0 || entry.probe {
			p.spare = append(p.spare, j.slot)
			if c.Err != 0 {
				p.failPair(l, j.pe, int(j.remote), text)
			} else if !entry.send {
				p.markProven(l, j.pe, int(j.remote))
			}
			break
		}
		if isOperationError(c.Err) || entry.tries >= maxTries {
			p.loseInjected(j.slot, text)
			break
		}
		p.failPair(l, j.pe, int(j.remote), text)
		entry.tries++
		p.waiting = append(p.waiting, ref{injected: true, slot: j.slot})
		entry.remote = -1
	case jobPart:
		c.Token = fabric.Token(j.slot)
		return p.completePart(c.Token, int(j.part), c, text)
	}
	return false
}

// loseInjected gives up an injected operation. It has no token with which the caller could be
// informed of the failure, so each later Poll fails.
func (p *Provider) loseInjected(i int32, text string) {
	p.spare = append(p.spare, i)
	if p.failed == nil {
		p.failed = &shmerr.Error{Op: "send to", Object: fmt.Sprintf("PE %d", p.injected[i].rma.PE), Cause: shmerr.Causef(shmerr.ErrPE, "it has failed over %d NICs: %s", p.injected[i].tries, text)}
	}
}

// isOperationError reports whether the operation, and not its pair of NICs, is the cause of an
// error, so that another pair would return it as well. The numbers are those of libfabric, which
// are those of Linux up to 255.
func isOperationError(err int32) bool {
	switch err {
	case 1, 7, 13, 14, 22, 90, 265: // EPERM, E2BIG, EACCES, EFAULT, EINVAL, EMSGSIZE, FI_ETRUNC
		return true
	}
	return false
}

// handlePart processes the completion of part i of operation t at its NIC. It returns true if all
// parts of the operation are complete, and has then changed *c into the operation's completion.
func (p *Provider) handlePart(t fabric.Token, i int, c *fabric.Completion) bool {
	text := ""
	if c.Err != 0 {
		text = p.nics[p.parts[int(t)*len(p.nics)+i].nic].ErrorText(c)
	}
	return p.completePart(t, i, c, text)
}

// completePart completes part i of operation t, or lists it to be posted on another pair of NICs if
// its own pair has failed. It returns true if all parts of the operation are complete, and has then
// changed *c into the completion of the operation.
func (p *Provider) completePart(t fabric.Token, i int, c *fabric.Completion, text string) bool {
	op, part := &p.ops[t], &p.parts[int(t)*len(p.nics)+i]
	n := p.nics[part.nic]
	part.underWay = false
	if part.remote >= 0 { // else there was no pair of NICs to post the part on (retryPart)
		if c.Err == 0 && op.kind != fabric.KindSend {
			p.markProven(part.nic, op.target(), part.remote)
		}
		n.load -= part.n
		p.load -= part.n
		if c.Err != 0 && p.resend && !isOperationError(c.Err) {
			p.failPair(part.nic, op.target(), part.remote, text)
			if part.tries < maxTries && len(p.peers[op.target()].pairs) > 0 {
				part.tries++
				part.remote, part.token = -1, fabric.NoToken // retryPart finds another pair
				p.waiting = append(p.waiting, ref{slot: int32(t), part: int32(i)})
				return false
			}
		}
	}
	if c.Err != 0 && op.err == 0 {
		op.err, op.text = c.Err, fmt.Sprintf("%s, NIC %s", text, n.name)
		if part.tries > 1 {
			op.text += fmt.Sprintf(", the last of %d that were tried", part.tries)
		}
	}
	if op.left--; op.left > 0 {
		return false
	}
	c.Token, c.Kind, c.Err = t, op.kind, op.err
	if op.err != 0 {
		p.texts[t] = op.text
	}
	return true
}

// target returns the PE to which an operation sends a message, or whose memory it accesses.
func (o *op) target() libshmem.PE {
	if o.kind == fabric.KindSend {
		return o.send.To
	}
	return o.rma.PE
}

// failPart records an error for part i of operation t, which could not be posted. If it is the last
// part, the next Poll returns the completion of the operation.
func (p *Provider) failPart(t fabric.Token, i int, err int32, text string) {
	c := fabric.Completion{Token: t, Err: err}
	if p.completePart(t, i, &c, text) {
		p.done = append(p.done, c)
	}
}

// completeUnposted has the next Poll return a completion with an error, for an operation that was
// never posted.
func (p *Provider) completeUnposted(t fabric.Token, kind fabric.Kind, err int32, text string) {
	p.texts[t] = fmt.Sprintf("%s, token %d", text, t)
	p.done = append(p.done, fabric.Completion{Token: t, Kind: kind, Err: err})
}

// retry posts what a NIC refused before because its queue was full: receive buffers, reads of rows
// of keys, parts and injected operations. It also posts the operations of stranded pairs of NICs on
// other pairs.
func (p *Provider) retry() {
	if len(p.inbox.owed) > 0 || p.state.Owes() {
		p.repostOwed()
	}
	for i := range p.fetches {
		if p.fetches[i].state == fetchDue {
			p.readRow(i)
		}
	}
	if len(p.stranded) > 0 {
		p.detachStranded()
	}
	if len(p.rescued) > 0 {
		p.waiting = append(p.waiting, p.rescued...)
		p.rescued = p.rescued[:0]
	}
	if len(p.waiting) == 0 {
		return
	}
	work := p.waiting
	p.waiting = p.waiting[:0]
	// p.waiting shares memory with work. Each entry appends at most itself to p.waiting, so no
	// entry is overwritten before it is read.
	for _, due := range work {
		if due.injected {
			p.retryInjected(due)
		} else {
			p.retryPart(due)
		}
	}
}

// leastLoaded returns the pair of NICs to a peer, local NIC l and remote NIC r, whose local NIC has
// the fewest bytes under way. It prefers NICs without an error (nic.hadError). r is negative if no
// pair is left.
func (p *Provider) leastLoaded(peer *peer) (l, r int) {
	l, r = 0, -1
	for i, n := range p.nics {
		s, best := p.remote(peer, i, peer.largeOps), p.nics[l]
		if s >= 0 && (r < 0 || best.hadError && !n.hadError || n.load < best.load && n.hadError == best.hadError) {
			l, r = i, s
		}
	}
	return l, r
}

// retryInjected posts an injected operation again, on another pair of NICs if its own pair has
// failed. Injected operations have no completion for the caller, so this package stores a copy of
// each until its NIC has completed it. After maxTries pairs the operation is lost.
func (p *Provider) retryInjected(due ref) {
	entry := &p.injected[due.slot]
	if entry.remote < 0 {
		if entry.nic, entry.remote = p.leastLoaded(&p.peers[entry.rma.PE]); entry.remote < 0 {
			p.loseInjected(due.slot, "no other NIC reaches it")
			return
		}
	}
	switch err := p.post(due.slot); {
	case err == nil:
	case err == fabric.ErrAgain:
		p.waiting = append(p.waiting, due)
	case isCallerError(err) || entry.tries >= maxTries:
		p.loseInjected(due.slot, err.Error())
	default:
		p.failPair(entry.nic, entry.rma.PE, entry.remote, err.Error())
		entry.remote = -1
		entry.tries++
		p.waiting = append(p.waiting, due)
	}
}

// retryPart posts a part of an operation again. A part without a NIC gets the least loaded pair to
// its peer. If the NIC's queue is full, the part stays in p.waiting; if no pair is left or the NIC
// returns another error, the part fails.
func (p *Provider) retryPart(due ref) {
	t := fabric.Token(due.slot)
	op, part := &p.ops[t], &p.parts[int(t)*len(p.nics)+int(due.part)]
	pe := op.target()
	if part.remote < 0 {
		l, r := p.leastLoaded(&p.peers[pe])
		if r < 0 {
			p.failPart(t, int(due.part), errUnreachable, "no other NIC reaches it")
			return
		}
		part.nic, part.remote = l, r
		p.nics[l].load += part.n
		p.load += part.n
	}
	n := p.nics[part.nic]
	part.token = t
	if part.tries > 1 || n.staleTokens[t] {
		// At this NIC another part of the operation may have the caller's token.
		tok, ok := n.reserveToken(job{what: jobPart, slot: due.slot, part: due.part, pe: pe, remote: int32(part.remote)})
		if !ok {
			p.waiting = append(p.waiting, due)
			return
		}
		part.token = tok
	}
	var err error
	if op.kind == fabric.KindSend {
		m := &p.sending
		*m = op.send
		m.To, m.Desc, m.Token = p.addressIndex(pe, part.remote), p.table.desc(m.Desc, part.nic), part.token
		if err = n.Send(m); err == nil {
			p.countPosted(part.nic, part.n, false)
		}
	} else {
		err = p.postOneSided(op.kind, &op.rma, part.nic, part.remote, part.at, part.n, part.token)
	}
	if err == nil {
		part.underWay = true
		return
	}
	n.freePartToken(t, part.token)
	part.token = fabric.NoToken
	if err == fabric.ErrAgain {
		if n.hadError && !p.peers[pe].isProven(part.nic, part.remote) {
			// The NIC may refuse the part for ever: an operation that was detached from the NIC
			// still occupies an entry there, among the operations that wait for the first contact.
			// So another pair is chosen, at which the part counts as tried before and gets a token
			// of the NIC's own.
			n.load -= part.n
			p.load -= part.n
			part.remote, part.tries = -1, max(part.tries, 2)
		}
		p.waiting = append(p.waiting, due)
		return
	}
	p.failPart(t, int(due.part), errUnreachable, err.Error())
}

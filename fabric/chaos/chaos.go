package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem"
	"libshmem/fabric"
	"libshmem/fabric/faults"
	"libshmem/runtime/guard"
)

const (
	maxPieces   = 16      // the most pieces of one write
	leastPiece  = 8 << 10 // the least bytes of a piece that is not the last of its write
	pieceTokens = 1024    // tokens of the inner provider for pieces, besides the caller's
	maxDelayed  = 1024    // the most operations that are delayed, or that inner has refused
	never       = math.MaxInt64
)

// Provider is a fabric.Provider that delays, splits and refuses the operations of another Provider,
// inner.
type Provider struct {
	inner     fabric.Provider
	caps      fabric.Caps
	plan      Plan
	kills     bool // this process carries out plan.Kills and plan.Panics
	me        libshmem.PE
	sent      []uint64     // packets so far, by PE
	reachable []bool       // whether a PE can be reached
	calls     uint64       // calls so far that could be refused
	delayed   queue        // operations that wait before inner gets them, and completions
	next      atomic.Int64 // when the next of them, or a retry, is due; read by the waiting thread
	clock     func() int64

	refused backlogs    // operations that are due, and that inner has refused with ErrAgain
	panics  atomic.Bool // the time of a fault of plan.Panics has come: the next Poll panics

	arena  *arena
	tokens int                   // the caller's tokens are below it
	free   []fabric.Token        // inner's tokens for pieces
	piece  []*write              // the write of a piece, by the piece's token from tokens on
	unread []*write              // writes whose pieces are complete and that a read is to confirm
	spare  []*write              // records of complete writes, to be used again
	done   []fabric.Completion   // for the next Poll
	texts  map[cause]string      // of errors whose completions are stored or returned
	batch  [32]fabric.Completion // of one Poll of inner
	op     fabric.RMA            // of confirm; a local variable would be allocated each time

	received []buffer // posted receive buffers, by token
}

// write is a Write whose pieces are under way.
type write struct {
	token  fabric.Token  // the caller's
	left   int           // pieces, or a confirming read, that are not complete
	silent bool          // the caller gets no completion
	copy   int           // number of the copy of its bytes, or noCopy
	late   time.Duration // delay of the caller's completion
	err    int32         // of the first piece that failed
	text   string
	last   fabric.RMA // a byte of it is read to confirm all pieces

	notes     bool    // the Write has immediate data, which note carries to the target
	note      delayed // see note.go
	noteDelay time.Duration
}

// Inner returns the configuration of the inner provider for a Provider with the configuration c:
// with tokens for the pieces of writes, and without the features that the Provider simulates or
// does not pass on.
func Inner(c fabric.Config) fabric.Config {
	if c.Queue > 0 {
		c.Queue += pieceTokens
	}
	c.Tokens += pieceTokens
	c.Data, c.Fence, c.Atomics, c.IfUnordered, c.Arrivals, c.MoreRecv = false, false, false, false, 0, 0
	return c
}

// New returns a Provider around inner, which was opened with Inner(c), and closes inner if it
// fails. kills: this process carries out the Kills and Panics of the plan.
func New(inner fabric.Provider, c fabric.Config, plan Plan, kills bool) (*Provider, error) {
	caps := inner.Caps()
	if !caps.DeliveryComplete && !caps.ReadAfterWrite {
		return nil, errors.Join(fmt.Errorf("run chaos on network %s: it neither reports when a write has arrived nor has reads follow writes "+
			"(name another in SHMEM_PROVIDER)", caps.Provider), inner.Close())
	}
	p := &Provider{
		inner: inner, plan: plan, kills: kills, tokens: c.Tokens,
		piece: make([]*write, pieceTokens), texts: map[cause]string{},
	}
	begin := time.Now()
	p.clock = func() int64 { return int64(time.Since(begin)) }
	p.next.Store(never)
	p.refused.due = never
	p.caps = caps
	p.caps.WriteAfterWrite, p.caps.SendAfterWrite, p.caps.SendAfterSend, p.caps.ReadAfterWrite = false, false, false, false
	p.caps.DeliveryComplete = true
	p.caps.MaxInjectWrite = caps.MaxInject // a write is copied, and the copy is not injected
	p.caps.Data, p.caps.DataTakesRecv, p.caps.Source, p.caps.Fence, p.caps.Block = 0, false, false, false, 0
	if c.Data {
		p.caps.Data, p.caps.DataTakesRecv, p.caps.Source = 4, true, namesWriter(plan.Seed)
		p.caps.Arrivals = c.Arrivals // they wait in p.done
	}
	p.caps.Atomics, p.caps.AtomicsWithCPU, p.caps.RNRRetries = 0, false, false
	p.received = make([]buffer, c.Tokens)
	var err error
	if p.arena, err = newArena(inner, maxDelayed, max(caps.MaxInject, noteLen)); err != nil {
		return nil, errors.Join(fmt.Errorf("set up chaos: %w", err), inner.Close())
	}
	for t := pieceTokens - 1; t >= 0; t-- {
		p.free = append(p.free, fabric.Token(p.tokens+t))
	}
	return p, nil
}

// Caps implements fabric.Provider: it returns what the endpoint promises and supports.
func (p *Provider) Caps() fabric.Caps { return p.caps }

// Addr implements fabric.Provider: it returns the address for the other PEs' Connect.
func (p *Provider) Addr() []byte { return p.inner.Addr() }

// Connect implements fabric.Provider. It finds the number of this PE by comparing addresses, and
// starts the timers of the faults that kill this PE or make it panic.
func (p *Provider) Connect(addrs [][]byte) error {
	if err := p.inner.Connect(addrs); err != nil {
		return err
	}
	p.sent, p.reachable = make([]uint64, len(addrs)), make([]bool, len(addrs))
	for i, a := range libshmem.ByPE(addrs) {
		p.reachable[i] = len(a) > 0
		if bytes.Equal(a, p.inner.Addr()) {
			p.me = i
		}
	}
	for _, k := range p.plan.Kills {
		if p.kills && libshmem.PE(k.Host) == p.me {
			time.AfterFunc(k.At, guard.Func("chaos", func() { _ = unix.Kill(os.Getpid(), unix.SIGKILL) }))
		}
	}
	for _, k := range p.plan.Panics {
		if p.kills && libshmem.PE(k.Host) == p.me {
			time.AfterFunc(k.At, guard.Func("chaos", func() { p.panics.Store(true); p.inner.Wake() }))
		}
	}
	return nil
}

// unreachable reports whether the inner provider has no address of a PE. Operations on such a PE go
// to the inner provider at once, which returns the error.
func (p *Provider) unreachable(pe libshmem.PE) bool {
	return !pe.In(len(p.reachable)) || !p.reachable[pe]
}

// checkToken returns an error for a caller's token that is out of range: the tokens from p.tokens
// on are for pieces. unused: the operation is injected, so that its token has no meaning.
func (p *Provider) checkToken(t fabric.Token, unused bool) error {
	if unused || int(t) < p.tokens {
		return nil
	}
	return fmt.Errorf("token %d: there are %d", t, p.tokens)
}

// outcome draws the faults of the next packet to a PE. It is the same until countPacket counts the
// packet.
func (p *Provider) outcome(to libshmem.PE) faults.Outcome {
	return p.plan.Faults.OutcomeOf(p.plan.Seed, uint64(p.me), uint64(to), p.sent[to])
}

// countPacket counts a packet to a PE, once the operation is accepted: the number selects the
// faults of the next one.
func (p *Provider) countPacket(to libshmem.PE) { p.sent[to]++ }

// drawRefusal draws whether a call is to return ErrAgain: by chance, or because too many operations
// are delayed.
func (p *Provider) drawRefusal() bool {
	p.calls++
	// OutcomeOf draws a delay with the probability Reorder, which here is Again: a delay means yes.
	// No PE has the number MaxUint64, so these draws are apart from those for packets.
	chance := faults.Faults{Reorder: p.plan.Faults.Again, Delay: 1}
	return chance.OutcomeOf(p.plan.Seed, uint64(p.me), math.MaxUint64, p.calls).Delay > 0 || p.delayed.Len()+p.refused.count >= maxDelayed
}

// delay delays an operation or a completion.
func (p *Provider) delay(delay time.Duration, h delayed) {
	h.due = p.clock() + int64(delay)
	p.delayed.add(h)
	if before := p.next.Swap(p.earliest()); p.next.Load() < before {
		p.inner.Wake() // a thread in Wait sleeps until the time that was the earliest before
	}
}

// Send implements fabric.Provider: it posts the message now, or after the delay that the plan draws
// for it. A delayed injected message is copied.
func (p *Provider) Send(op *fabric.Send) error {
	if p.unreachable(op.To) {
		return p.inner.Send(op)
	}
	if err := p.checkToken(op.Token, op.Inject); err != nil {
		return err
	}
	if p.drawRefusal() {
		return fabric.ErrAgain
	}
	outcome := p.outcome(op.To)
	if outcome.Delay == 0 {
		err := p.inner.Send(op)
		if err == nil {
			p.countPacket(op.To)
		}
		return err
	}
	h := delayed{kind: aSend, send: *op, copy: noCopy}
	if op.Inject {
		var ok bool
		if h.copy, h.send.Buf, ok = p.arena.store(op.Buf, op.Len); !ok {
			return fabric.ErrAgain
		}
	}
	p.countPacket(op.To)
	p.delay(outcome.Delay, h)
	return nil
}

// Read implements fabric.Provider: it posts the read now, or after the delay that the plan draws
// for it.
func (p *Provider) Read(op *fabric.RMA) error {
	if p.unreachable(op.PE) {
		return p.inner.Read(op)
	}
	if err := p.checkToken(op.Token, false); err != nil {
		return err
	}
	if p.drawRefusal() {
		return fabric.ErrAgain
	}
	outcome := p.outcome(op.PE)
	if outcome.Delay == 0 {
		err := p.inner.Read(op)
		if err == nil {
			p.countPacket(op.PE)
		}
		return err
	}
	p.countPacket(op.PE)
	p.delay(outcome.Delay, delayed{kind: aRead, rma: *op, copy: noCopy})
	return nil
}

// Write implements fabric.Provider. It cuts the write into pieces and delays all of them, even by
// 0, because the inner provider may accept some of them and refuse the rest. The release at its end
// posts those that are due already.
func (p *Provider) Write(op *fabric.RMA) error {
	if p.unreachable(op.PE) {
		return p.inner.Write(op)
	}
	if err := p.checkToken(op.Token, op.Inject); err != nil {
		return err
	}
	size := max(leastPiece, (op.Len+maxPieces-1)/maxPieces)
	n := max(1, int((op.Len+size-1)/size)) // a write of 0 bytes has one piece
	if op.Notify && p.caps.Data == 0 {
		return fmt.Errorf("write to PE %d: immediate data was not asked for", op.PE)
	}
	// Tokens for the pieces, for the note and for the read that confirms the write.
	if p.drawRefusal() || len(p.free) < n+2 {
		return fabric.ErrAgain
	}
	kept, local := noCopy, op.Local
	if op.Inject {
		var ok bool
		if kept, local, ok = p.arena.store(op.Local, int(op.Len)); !ok {
			return fabric.ErrAgain
		}
	}
	w := p.newWrite()
	*w = write{token: op.Token, left: n, silent: op.Inject, copy: kept, last: *op}
	if op.Notify {
		var ok bool
		if w.note, ok = p.makeNote(op); !ok {
			p.arena.release(kept)
			p.spare = append(p.spare, w)
			return fabric.ErrAgain
		}
		w.notes = true
	}
	for i := range n {
		at := uint64(i) * size
		h := delayed{kind: aWrite, rma: *op, copy: noCopy}
		h.rma.Local, h.rma.Len, h.rma.Remote = unsafe.Add(local, at), min(size, op.Len-at), op.Remote+at
		if h.rma.Inject = false; op.Inject {
			h.rma.Desc = p.arena.region.Desc
		}
		h.rma.Token, h.rma.Notify = p.reserveToken(w), false
		outcome := p.outcome(op.PE)
		if p.countPacket(op.PE); i == 0 {
			w.late = outcome.Late
		}
		p.delay(outcome.Delay, h)
	}
	if w.notes {
		w.noteDelay = p.outcome(op.PE).Delay
		p.countPacket(op.PE)
	}
	p.release()
	return nil
}

// newWrite returns a record for a write, a spare one if there is one.
func (p *Provider) newWrite() *write {
	last := len(p.spare) - 1
	if last < 0 {
		return new(write)
	}
	w := p.spare[last]
	p.spare = p.spare[:last]
	return w
}

// reserveToken reserves one of the tokens that only this provider uses, for a piece of the write w.
// The caller has checked that one is free.
func (p *Provider) reserveToken(w *write) fabric.Token {
	last := len(p.free) - 1
	t := p.free[last]
	p.free = p.free[:last]
	p.piece[int(t)-p.tokens] = w
	return t
}

// release posts the delayed operations that are due, and puts the delayed completions that are due
// into p.done. Operations that the inner provider refuses because its queue is full go to
// p.refused, and are posted first the next time.
func (p *Provider) release() {
	now := p.clock()
	p.refused.each(now, p.post)
	for p.delayed.due(now) {
		h := p.delayed.removeEarliest()
		if h.kind != aCompletion && p.refused.at(h) != nil || !p.post(h) {
			p.refused.add(h, now)
		}
	}
	p.confirm()
	p.next.Store(p.earliest())
}

// post posts a delayed operation to inner, or puts a delayed completion into p.done, and frees h.
// If inner refuses the operation with ErrAgain, it returns false and does not free h.
func (p *Provider) post(h *delayed) bool {
	var err error
	switch h.kind {
	case aCompletion:
		p.done = append(p.done, h.comp)
	case aSend:
		err = p.inner.Send(&h.send)
	case aRead:
		err = p.inner.Read(&h.rma)
	case aWrite:
		err = p.inner.Write(&h.rma)
	}
	if err == fabric.ErrAgain {
		return false
	}
	if err != nil {
		p.failRefused(h, err)
	}
	if h.kind == aSend {
		p.arena.release(h.copy)
	}
	p.delayed.reuse(h)
	return true
}

// Holds implements fabric.Holder. Operations that inner has refused do not count: they may be for a
// PE that has ended.
func (p *Provider) Holds() bool { return p.delayed.Len() > 0 }

// earliest returns when the next delayed operation, or the next retry of a refused one, is due;
// never if there is none.
func (p *Provider) earliest() int64 { return min(p.delayed.earliest(), p.refused.due) }

// Poll implements fabric.Provider: it posts delayed operations that are due, polls the inner
// provider, and returns the completions of the caller's operations. It handles those of this
// package's own: the pieces of a write, and notes, messages with a write's immediate data
// (note.go).
func (p *Provider) Poll(c []fabric.Completion) (int, error) {
	if p.panics.Load() {
		panic("chaos was asked for a panic")
	}
	p.release()
	n, err := p.inner.Poll(p.batch[:])
	if err != nil {
		return 0, err
	}
	for i := range p.batch[:n] {
		comp := &p.batch[i]
		text := ""
		if comp.Err != 0 {
			text = p.inner.ErrorText(comp)
		}
		if comp.Token != fabric.NoToken && int(comp.Token) >= p.tokens {
			p.completePiece(comp, text)
			continue
		}
		if comp.Err != 0 {
			p.texts[causeOf(comp)] = text
		}
		p.readNote(comp)
		p.done = append(p.done, *comp)
	}
	p.confirm()
	n = copy(c, p.done)
	p.done = p.done[:copy(p.done, p.done[n:])]
	return n, nil
}

// Ready implements fabric.Provider: it reports whether a Poll is known to have work now.
func (p *Provider) Ready() bool { return p.due() || p.inner.Ready() }

// due reports whether Poll has work of its own: completions to return, writes that a read is to
// confirm, or an operation or a completion whose delay is over.
func (p *Provider) due() bool {
	return len(p.done) > 0 || len(p.unread) > 0 || p.delayed.due(p.clock())
}

// Arm implements fabric.Provider: it prepares a Wait, and returns false if there is work for a
// Poll.
func (p *Provider) Arm() bool { return !p.due() && p.inner.Arm() }

// Wait implements fabric.Provider. It ends at the latest when a delayed operation is due, which
// only a Poll posts, and then returns true.
func (p *Provider) Wait(d time.Duration) (bool, error) {
	rest := p.next.Load()
	if rest != never {
		rest -= p.clock()
	}
	if rest <= 0 {
		return true, nil
	}
	if rest < int64(d) {
		_, err := p.inner.Wait(time.Duration(rest))
		return true, err
	}
	return p.inner.Wait(d)
}

// Wake implements fabric.Provider: it ends a Wait of another thread.
func (p *Provider) Wake() { p.inner.Wake() }

// Native implements fabric.Provider: C functions would bypass the delays, so there are none.
func (p *Provider) Native() fabric.Native { return fabric.Native{} }

// Strangers implements fabric.Provider: it returns how many messages of processes outside the job
// were dropped.
func (p *Provider) Strangers() uint64 { return p.inner.Strangers() }

// ErrorText implements fabric.Provider: the text was stored when the completion was read, because
// the inner provider may forget it.
func (p *Provider) ErrorText(c *fabric.Completion) string {
	about := causeOf(c)
	if text, ok := p.texts[about]; ok {
		delete(p.texts, about)
		return text
	}
	return p.inner.ErrorText(c)
}

// Register implements fabric.Provider: it registers main memory.
func (p *Provider) Register(base unsafe.Pointer, n uint64) (fabric.Region, error) {
	return p.inner.Register(base, n)
}

// RegisterGPU implements fabric.Provider: it registers memory of a GPU.
func (p *Provider) RegisterGPU(m fabric.GPUMemory) (fabric.Region, error) {
	return p.inner.RegisterGPU(m)
}

// Unregister implements fabric.Provider: it ends a registration.
func (p *Provider) Unregister(r fabric.Region) error { return p.inner.Unregister(r) }

// Recv implements fabric.Provider. It remembers the buffer, because a received message may be a
// note.
func (p *Provider) Recv(buf unsafe.Pointer, n int, desc uintptr, t fabric.Token) error {
	if err := p.checkToken(t, false); err != nil {
		return err
	}
	p.received[t] = buffer{buf, n}
	return p.inner.Recv(buf, n, desc, t)
}

// Close implements fabric.Provider: it closes the endpoint.
func (p *Provider) Close() error { return errors.Join(p.inner.Close(), p.arena.close()) }

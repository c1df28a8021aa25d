package launch

import (
	"io"
	"sync"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/launch/relay"
)

// outbox are the frames on their way to shmemrun or to an agent, in their order. ssh may be slow, or
// its network silent, and nobody waits for that.
type outbox struct {
	mu      sync.Mutex
	to      io.Writer
	frames  []outgoing // not yet given to the writer
	writing bool       // a goroutine writes them
	closed  bool
}

// outgoing is a frame, or the same answer to several PEs.
type outgoing struct {
	frame  relay.Frame
	pes    []libshmem.PE
	answer []byte // nil: it is frame
}

func (o *outbox) send(f relay.Frame) { o.add(outgoing{frame: f}) }

// answer sends a frame to a PE. PEs that get the same memory one after the other share one frame: an
// answer to an allgather of 4,096 PEs has a megabyte.
func (o *outbox) answer(pe libshmem.PE, frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.frames); n > 0 {
		if last := &o.frames[n-1]; len(last.answer) > 0 && len(last.answer) == len(frame) && &last.answer[0] == &frame[0] {
			last.pes = append(last.pes, pe)
			return
		}
	}
	o.addLocked(outgoing{pes: []libshmem.PE{pe}, answer: frame})
}

func (o *outbox) add(f outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.addLocked(f)
}

func (o *outbox) addLocked(f outgoing) {
	if o.closed {
		return
	}
	o.frames = append(o.frames, f)
	if !o.writing {
		o.writing = true
		go o.write()
	}
}

// write writes frames until there are none. After an error it throws them away: the reader of the
// other direction learns of the end.
func (o *outbox) write() {
	for {
		o.mu.Lock()
		frames := o.frames
		o.frames = nil
		o.writing = len(frames) > 0
		o.mu.Unlock()
		if len(frames) == 0 {
			return
		}
		var b []byte
		for _, f := range frames {
			if f.answer != nil {
				f.frame = relay.Frame{Kind: relay.Answer, PE: relay.All, Payload: relay.AppendAnswer(nil, f.pes, f.answer)}
			}
			b = relay.Append(b, f.frame)
			if len(b) >= 64<<10 {
				_, _ = o.to.Write(b)
				b = b[:0]
			}
		}
		if len(b) > 0 {
			_, _ = o.to.Write(b)
		}
	}
}

// flush waits until all is written, for a limited time.
func (o *outbox) flush(limit time.Duration) bool {
	for end := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		o.mu.Lock()
		idle := !o.writing
		o.mu.Unlock()
		if idle || time.Now().After(end) {
			return idle
		}
	}
}

// close has what comes from now on thrown away.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// pump are the bytes on their way into a pipe or socket, and functions to be called between them.
type pump struct {
	to    io.WriteCloser
	wrote func(n int) // is called after a write
	gone  func()      // is called once, when the reader is gone; what is left is thrown away

	failed bool // of the goroutine in run

	mu      sync.Mutex
	items   []pumped
	pumping bool
}

// pumped is one item: bytes, or a function.
type pumped struct {
	b []byte
	f func()
}

func (p *pump) send(b []byte) { p.add(pumped{b: b}) }
func (p *pump) then(f func()) { p.add(pumped{f: f}) }
func (p *pump) closeBehind()  { p.then(func() { p.to.Close() }) }
func (p *pump) add(one pumped) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.items = append(p.items, one)
	if !p.pumping {
		p.pumping = true
		go p.run()
	}
}

func (p *pump) run() {
	for {
		p.mu.Lock()
		items := p.items
		p.items = nil
		p.pumping = len(items) > 0
		p.mu.Unlock()
		if len(items) == 0 {
			return
		}
		for _, i := range items {
			if i.f != nil {
				i.f()
				continue
			}
			if p.failed {
				continue
			}
			if _, err := p.to.Write(i.b); err != nil {
				p.failed = true
				p.gone()
			} else {
				p.wrote(len(i.b))
			}
		}
	}
}

// drained waits until nothing is left, for a limited time.
func (p *pump) drained(limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		p.mu.Lock()
		idle := !p.pumping
		p.mu.Unlock()
		if idle {
			return
		}
	}
}

// credit is the number of bytes that may be sent before their receiver has passed others on.
type credit struct {
	mu    sync.Mutex
	more  sync.Cond // of mu
	left  int
	ended bool // nobody gives any more
}

func newCredit() *credit {
	c := &credit{left: relay.Window}
	c.more.L = &c.mu
	return c
}

// take waits for credit of up to n bytes, and returns how many it has taken; 0: there will be none.
func (c *credit) take(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.left <= 0 && !c.ended {
		c.more.Wait()
	}
	if c.left <= 0 {
		return 0
	}
	n = min(n, c.left)
	c.left -= n
	return n
}

func (c *credit) give(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left += n
	c.more.Signal()
}

func (c *credit) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.more.Broadcast()
}

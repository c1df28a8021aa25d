package launch

import (
	"io"
	"sync"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/launch/relay"
)

// outbox is the queue of frames to an agent, or from an agent to shmemrun, which a goroutine
// writes. Senders do not wait, even if ssh or its network is slow.
type outbox struct {
	mu      sync.Mutex
	to      io.Writer
	frames  []outgoing // not yet passed to the writer
	writing bool       // a goroutine writes them
	closed  bool
}

// outgoing is an entry of an outbox: a frame, or one reply for several PEs.
type outgoing struct {
	frame relay.Frame
	pes   []libshmem.PE
	reply []byte // the reply; nil: the entry is frame
}

// send queues a frame. It never waits.
func (o *outbox) send(f relay.Frame) { o.add(outgoing{frame: f}) }

// reply sends a frame to a PE of the agent. If successive calls have the same slice for different
// PEs, its bytes are sent only once: the reply to an allgather of 4,096 PEs has a megabyte.
func (o *outbox) reply(pe libshmem.PE, frame []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.frames); n > 0 {
		if last := &o.frames[n-1]; len(last.reply) > 0 && len(last.reply) == len(frame) && &last.reply[0] == &frame[0] {
			last.pes = append(last.pes, pe)
			return
		}
	}
	o.addLocked(outgoing{pes: []libshmem.PE{pe}, reply: frame})
}

// add queues something to write.
func (o *outbox) add(f outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.addLocked(f)
}

// addLocked queues something to write, and starts the goroutine that writes, unless it runs.
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

// write writes frames until there are none. One call of Write gets several frames, until they have
// 64 KiB together. It ignores errors: the goroutine that reads the connection notices its end.
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
			if f.reply != nil {
				f.frame = relay.Frame{Kind: relay.Reply, PE: relay.All, Payload: relay.AppendReply(nil, f.pes, f.reply)}
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

// flush waits until all frames are written, but no longer than limit, and reports whether they are.
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

// close makes the outbox drop all frames that are sent from now on: nobody reads them.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}

// pump is a queue of bytes to be written into a pipe or socket by a goroutine, and of functions to
// be called between them.
type pump struct {
	to    io.WriteCloser
	wrote func(n int) // is called after a write
	gone  func()      // is called once, when the reader is gone; the bytes that are left are dropped

	failed bool // a write has failed; belongs to the goroutine in run

	mu      sync.Mutex
	items   []pumpItem
	pumping bool
}

// pumpItem is an item in the queue of a pump: bytes to be written, or a function to be called after
// the bytes before it.
type pumpItem struct {
	b []byte
	f func()
}

// send queues bytes for the pipe or socket. It never waits.
func (p *pump) send(b []byte) { p.add(pumpItem{b: b}) }

// then queues a function, which is called after the bytes that were queued before it.
func (p *pump) then(f func()) { p.add(pumpItem{f: f}) }

// closeAfter closes the pipe or socket after the bytes that are queued now.
func (p *pump) closeAfter() { p.then(func() { p.to.Close() }) }

// add queues one item, and starts run if it does not run.
func (p *pump) add(one pumpItem) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.items = append(p.items, one)
	if !p.pumping {
		p.pumping = true
		go p.run()
	}
}

// run writes the queued bytes and calls the queued functions, in order, until the queue is empty.
// After each write it calls wrote, which returns credit; after the first error it calls gone, and
// drops all further bytes.
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

// awaitEmpty waits until the queue is empty, but no longer than limit.
func (p *pump) awaitEmpty(limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		p.mu.Lock()
		idle := !p.pumping
		p.mu.Unlock()
		if idle {
			return
		}
	}
}

// credit is the number of bytes of an output or input that may be sent: the receiver returns credit
// when it has passed bytes on. So a slow reader makes the writer wait, and bytes that are not read
// yet do not fill shmemrun's memory.
type credit struct {
	mu    sync.Mutex
	more  sync.Cond // of mu
	left  int
	ended bool // no more credit is returned
}

// newCredit returns the credit for the first relay.Window bytes.
func newCredit() *credit {
	c := &credit{left: relay.Window}
	c.more.L = &c.mu
	return c
}

// reserve waits for credit and reserves up to n bytes of it. It returns their number; 0 if no more
// credit will be returned, because the reader of the bytes is gone.
func (c *credit) reserve(n int) int {
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

// release returns n bytes of credit.
func (c *credit) release(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left += n
	c.more.Signal()
}

// end records that no more credit is returned, so that reserve no longer waits.
func (c *credit) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.more.Broadcast()
}

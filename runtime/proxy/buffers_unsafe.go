package proxy

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// smallMessage is the size of a second send buffer that each token has besides that of a whole
// message. On a network that injects less than a header, each message waits in its buffer: 512
// whole buffers would be 2 MiB of memory, a page for each.
const smallMessage = 256

// bufferBytes returns the bytes of all message buffers.
func (e *Engine) bufferBytes() uintptr {
	return uintptr(tokens+e.more+1)*messageSize + (tokens-receives)*smallMessage
}

// allocateBuffers maps the message buffers outside the Go heap, because the provider keeps their
// addresses. Each token has one buffer, one more is scratch for injected messages, and the buffers
// for small messages come after them.
func (e *Engine) allocateBuffers() error {
	n := e.bufferBytes()
	p, err := unix.MmapPtr(-1, 0, nil, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("map %d bytes of message buffers: %w", n, err)
	}
	e.buffers = p
	e.scratch = unsafe.Add(p, uintptr(tokens+e.more)*messageSize)
	if e.bufs, err = e.prov.Register(p, uint64(n)); err != nil {
		e.freeBuffers()
		return fmt.Errorf("register message buffers: %w", err)
	}
	e.bufDesc = e.bufs.Desc
	e.sending.Desc = e.bufDesc
	return nil
}

func (e *Engine) freeBuffers() {
	if e.buffers != nil {
		// No other part unmaps this mapping, so unmapping it cannot fail.
		_ = unix.MunmapPtr(e.buffers, e.bufferBytes())
		e.buffers = nil
	}
}

// buffer returns the message buffer of a token.
func (e *Engine) buffer(t fabric.Token) unsafe.Pointer {
	return unsafe.Add(e.buffers, uintptr(t)*messageSize)
}

// sendBuffer returns the buffer that a message of n bytes leaves from.
func (e *Engine) sendBuffer(t fabric.Token, n int) unsafe.Pointer {
	if n > smallMessage {
		return e.buffer(t)
	}
	return unsafe.Add(e.scratch, messageSize+uintptr(t-receives)*smallMessage)
}

// receiving reports whether a token is that of a receive buffer. Further buffers have tokens behind
// all others: their number is known when the network is open, and tables by token have a fixed
// size.
func (e *Engine) receiving(t fabric.Token) bool {
	return t < receives || t >= tokens && t < tokens+fabric.Token(e.more)
}

// postReceive gives a receive buffer to the provider, or notes to try again.
func (e *Engine) postReceive(t fabric.Token) error {
	err := e.prov.Recv(e.buffer(t), messageSize, e.bufDesc, t)
	switch err {
	case nil:
		return nil
	case fabric.ErrAgain:
		e.unposted[e.NUnposted] = t
		e.NUnposted++
		e.peers[e.me].Count[layout.Retries]++
		return nil
	}
	return fmt.Errorf("post receive buffer %d: %w", t, err)
}

// postReceives tries the buffers again that found no room.
func (e *Engine) postReceives() {
	work := e.unposted[:e.NUnposted]
	e.NUnposted = 0 // postReceive writes behind the read position
	for _, t := range work {
		if err := e.postReceive(t); err != nil {
			e.fatal(err)
		}
	}
}

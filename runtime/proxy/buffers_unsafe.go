package proxy

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// smallMessage is the size in bytes of a second send buffer, which each token has besides the
// buffer for a whole message. On a network that cannot inject a header, each message needs a send
// buffer: if small messages used the whole buffers, 512 of these would touch 2 MiB of memory, a
// page each.
const smallMessage = 256

// BufferBytes returns the bytes of the mapping with all message buffers.
func (e *network) BufferBytes() uintptr {
	return uintptr(layout.Tokens+e.More+1)*layout.MessageSize + (layout.Tokens-layout.Receives)*smallMessage
}

// allocateBuffers maps the message buffers outside the Go heap, because the provider stores their
// addresses. Each token has one buffer, one more is scratch for injected messages, and the buffers
// for small messages follow them.
func (e *network) allocateBuffers() error {
	n := e.BufferBytes()
	p, err := unix.MmapPtr(-1, 0, nil, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("map %d bytes of message buffers: %w", n, err)
	}
	e.Buffers = p
	e.Scratch = unsafe.Add(p, uintptr(layout.Tokens+e.More)*layout.MessageSize)
	if e.bufs, err = e.Provider.Register(p, uint64(n)); err != nil {
		e.FreeBuffers()
		return fmt.Errorf("register message buffers: %w", err)
	}
	e.Desc = e.bufs.Desc
	return nil
}

// FreeBuffers unmaps the message buffers.
func (e *network) FreeBuffers() {
	if e.Buffers != nil {
		// No other part unmaps this mapping, so unmapping it cannot fail.
		_ = unix.MunmapPtr(e.Buffers, e.BufferBytes())
		e.Buffers = nil
	}
}

// Buffer returns the message buffer of a token.
func (e *network) Buffer(t fabric.Token) unsafe.Pointer {
	return unsafe.Add(e.Buffers, uintptr(t)*layout.MessageSize)
}

// SendBuffer returns the buffer of token t in which a message of n bytes is made: the small one if
// the message fits it (smallMessage).
func (e *network) SendBuffer(t fabric.Token, n int) unsafe.Pointer {
	if n > smallMessage {
		return e.Buffer(t)
	}
	return unsafe.Add(e.Scratch, layout.MessageSize+uintptr(t-layout.Receives)*smallMessage)
}

// Receiving reports whether a token is that of a receive buffer. The further receive buffers have
// tokens after all others: their number is known only when the network is open, and tables by token
// have a fixed size.
func (e *network) Receiving(t fabric.Token) bool {
	return t < layout.Receives || t >= layout.Tokens && t < layout.Tokens+fabric.Token(e.More)
}

// PostReceive posts a receive buffer. If the provider's queue is full, PostReceives tries again
// later.
func (e *network) PostReceive(t fabric.Token) error {
	err := e.Provider.Recv(e.Buffer(t), layout.MessageSize, e.Desc, t)
	switch err {
	case nil:
		return nil
	case fabric.ErrAgain:
		e.Unposted[e.state.NUnposted] = t
		e.state.NUnposted++
		e.own.Count[layout.Retries]++
		return nil
	}
	return fmt.Errorf("post receive buffer %d: %w", t, err)
}

// PostReceives posts the receive buffers that the provider did not accept before, because its queue
// was full.
func (e *network) PostReceives() {
	work := e.Unposted[:e.state.NUnposted]
	e.state.NUnposted = 0 // PostReceive writes to entries that this loop has read
	for _, t := range work {
		if err := e.PostReceive(t); err != nil {
			e.Fatal(err)
		}
	}
}

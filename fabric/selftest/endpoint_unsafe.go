package selftest

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/fabric"
)

const (
	receives = 64       // receive buffers, which have the first tokens
	tokens   = 1024     // tokens of receive buffers and operations
	message  = 64       // bytes of a receive buffer
	half     = 1 << 20  // the memory's first part is read, its second written
	inbox    = 2 * half // and the third receives
	whole    = inbox + receives*message
)

// opTimeout is the longest time that an operation may take.
const opTimeout = 3 * time.Second

// endpoint is an endpoint that is its own peer.
type endpoint struct {
	prov     fabric.Provider
	caps     fabric.Caps
	memory   []byte
	region   fabric.Region
	next     fabric.Token
	refusals int // calls that the provider refused while nothing was under way
	flying   int // operations under way

	done     map[fabric.Token]error // errors of completed operations that no test has waited for, by token
	received []uint64               // messages
	owed     []fabric.Token         // receive buffers to be posted
	data     []fabric.Completion
}

// newEndpoint opens an endpoint that is connected with itself, registers its memory, whose first
// part has a pattern in it, and posts the receive buffers.
func newEndpoint(open Open, c fabric.Config) (*endpoint, error) {
	prov, err := open(c)
	if err != nil {
		return nil, err
	}
	e := &endpoint{prov: prov, caps: prov.Caps(), next: receives, done: map[fabric.Token]error{}}
	fail := func(err error) (*endpoint, error) { return nil, errors.Join(err, e.close()) }
	if e.memory, err = unix.Mmap(-1, 0, whole, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS); err != nil {
		return fail(fmt.Errorf("map memory: %w", err))
	}
	for i := range e.memory[:half] {
		e.memory[i] = byte(i*7 + i>>8*13 + 1)
	}
	if err := prov.Connect([][]byte{prov.Addr()}); err != nil {
		return fail(err)
	}
	if e.region, err = prov.Register(unsafe.Pointer(&e.memory[0]), whole); err != nil {
		return fail(err)
	}
	for t := range fabric.Token(receives) {
		e.owed = append(e.owed, t)
	}
	if err := e.until("the receive buffers are posted", func() bool { return len(e.owed) == 0 }); err != nil {
		return fail(err)
	}
	return e, nil
}

// close closes the endpoint first, because it may write to the memory until then.
func (e *endpoint) close() error {
	err := e.prov.Close()
	if e.memory != nil {
		err = errors.Join(err, unix.Munmap(e.memory))
	}
	return err
}

// at returns the address of the byte at an offset in the memory.
func (e *endpoint) at(offset int) unsafe.Pointer { return unsafe.Pointer(&e.memory[offset]) }

// receive posts the receive buffers of e.owed, until the provider's queue is full.
func (e *endpoint) receive() error {
	for ; len(e.owed) > 0; e.owed = e.owed[1:] {
		t := e.owed[0]
		err := e.prov.Recv(e.at(inbox+int(t)*message), message, e.region.Desc, t)
		if errors.Is(err, fabric.ErrAgain) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// token returns the token for a new operation, the one that has not been used for the longest time.
func (e *endpoint) token() fabric.Token {
	if e.next++; e.next == tokens {
		e.next = receives + 1
	}
	return e.next
}

// post posts an operation, again after a poll if the provider's queue is full, and returns its
// token.
func (e *endpoint) post(start func(t fabric.Token) error) (fabric.Token, error) {
	t := e.token()
	for end := time.Now().Add(opTimeout); ; {
		err := start(t)
		switch {
		case err == nil:
			e.flying++
			return t, nil
		case !errors.Is(err, fabric.ErrAgain):
			return t, err
		case time.Now().After(end):
			return t, fmt.Errorf("the provider has refused it for %v", opTimeout)
		}
		if e.flying == 0 {
			e.refusals++
		}
		if err := e.poll(); err != nil {
			return t, err
		}
	}
}

// write posts a Write of n bytes to an offset in a region, and returns its token. With notify, data
// is its immediate data.
func (e *endpoint) write(to fabric.Region, offset, n int, notify bool, data uint32) (fabric.Token, error) {
	remote := uint64(offset)
	if e.caps.VirtualAddress {
		remote += uint64(uintptr(to.Base))
	}
	return e.post(func(t fabric.Token) error {
		return e.prov.Write(&fabric.RMA{
			Local: e.at(0), Len: uint64(n), Desc: e.region.Desc, Remote: remote, Key: to.Key, Token: t, Notify: notify, Data: data,
		})
	})
}

// send posts a message with a number, and returns its token.
func (e *endpoint) send(number uint64) (fabric.Token, error) {
	return e.post(func(t fabric.Token) error {
		// Each token has a word at the end of the written part, which no test compares.
		source := e.at(inbox - message - 8*int(t))
		*(*uint64)(source) = number
		return e.prov.Send(&fabric.Send{Buf: source, Len: 8, Desc: e.region.Desc, Token: t})
	})
}

// poll polls the endpoint once, sorts the completions into e.done, e.received and e.data, and posts
// used receive buffers again.
func (e *endpoint) poll() error {
	var all [16]fabric.Completion
	n, err := e.prov.Poll(all[:])
	if err != nil {
		return err
	}
	for i := range all[:n] {
		c := &all[i]
		var failed error
		if c.Err != 0 {
			failed = errors.New(e.prov.ErrorText(c))
		}
		switch {
		case c.Kind == fabric.KindData && failed == nil:
			e.data = append(e.data, *c)
		case c.Kind == fabric.KindRecv && failed == nil:
			e.received = append(e.received, *(*uint64)(e.at(inbox + int(c.Token)*message)))
		case c.Token < receives || c.Token >= tokens: // of a receive buffer, or without a token
			return failed
		default:
			e.done[c.Token] = failed
			e.flying--
		}
		if c.Token < receives {
			e.owed = append(e.owed, c.Token)
		}
	}
	return e.receive()
}

// until polls until a condition holds, at most for the time opTimeout. what names the condition,
// for the error.
func (e *endpoint) until(what string, holds func() bool) error {
	for end := time.Now().Add(opTimeout); !holds(); {
		if err := e.poll(); err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s: not so after %v", what, opTimeout)
		}
	}
	return nil
}

// finish waits for the completion of an operation, and returns its error.
func (e *endpoint) finish(t fabric.Token) error {
	if err := e.until("the operation has ended", func() bool { _, ok := e.done[t]; return ok }); err != nil {
		return err
	}
	err := e.done[t]
	delete(e.done, t)
	return err
}

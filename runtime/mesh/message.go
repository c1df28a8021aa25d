package mesh

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"libshmem"
	"libshmem/runtime/proxy"
	"libshmem/runtime/shmerr"
)

// Programs send each other messages, such as a client's request to a server. Each message follows a
// header, which has the form of the messages by which members agree about regions (message). The
// receiving member stores at most `window` messages of each sender until its program receives them.
// The sender keeps further messages until the receiver reports that its program has received some.
const (
	// MaxMessage is the largest number of bytes of a message.
	MaxMessage = proxy.MaxMember - controlSize
	// window is the largest number of messages of one sender that a member stores.
	window = 64
)

// letter is a message of a program: one that waits to be sent, or one that has arrived.
type letter struct {
	from int
	b    []byte
	req  *Request // the sender's; nil if the message has arrived from another member
}

// Send sends a message to a member. The bytes are copied. The request is done when the message is
// in the queue to the network. Until then it may wait until the member's program receives earlier
// ones. Messages to one member arrive in order. They have no order with other operations.
func (m *Mesh) Send(number int, b []byte) (req *Request, err error) {
	err = m.locked(func() error {
		if m.closing {
			return errClosing
		}
		p, err := m.find(number)
		switch {
		case err != nil:
			return err
		case number == m.me:
			return shmerr.Causef(shmerr.ErrArgument, "a member sends no messages to itself")
		case len(b) == 0 || len(b) > MaxMessage:
			return shmerr.Causef(shmerr.ErrRange, "a message has 1 to %d bytes, and not %d (put more into a region)", MaxMessage, len(b))
		}
		req = &Request{m: m, member: p, op: "send to", on: fmt.Sprintf("member %d", number), replies: 1}
		p.sends = append(p.sends, &letter{b: slices.Clone(b), req: req})
		m.addBusy(p)
		m.advance()
		return nil
	})
	if err != nil {
		return nil, &shmerr.Error{Op: "send to", Object: fmt.Sprintf("member %d", number), Cause: err}
	}
	return req, nil
}

// errNone is the error of popMessage if there is no message.
var errNone = errors.New("no message has arrived")

// Receive returns the first message that has arrived, and the number of its sender. If none has
// arrived, it waits for one for at most d; ok is false if that time has passed. A message stays
// even if its sender has left since. If the message has more than room bytes, Receive returns an
// error, and the message stays the first one.
func (m *Mesh) Receive(room int, d time.Duration) (b []byte, from int, ok bool, err error) {
	end := time.Now().Add(d)
	for i := 0; ; i++ {
		err = m.locked(func() error {
			if b, from, err = m.popMessage(room); !errors.Is(err, errNone) {
				return err
			}
			m.poll()
			b, from, err = m.popMessage(room)
			return err
		})
		switch {
		case err == nil:
			return b, from, true, nil
		case !errors.Is(err, errNone):
			return nil, from, false, &shmerr.Error{Op: "receive", Object: "a message", Cause: err}
		case !time.Now().Before(end):
			return nil, -1, false, nil
		}
		pause(i)
	}
}

// popMessage removes the first message that has arrived, and returns it and its sender's number.
// After each window/2 messages of a sender it reports to the sender that they were received: a
// report for each would double the number of messages. The error is errNone if no message has
// arrived; another one says that the message has more than room bytes.
func (m *Mesh) popMessage(room int) (b []byte, from int, err error) {
	if m.inbox.Len() == 0 {
		return nil, -1, errNone
	}
	l := m.inbox.At(0)
	if len(l.b) > room {
		return nil, l.from, shmerr.Causef(shmerr.ErrRange, "the first one, of member %d, has %d bytes, and there is room for %d", l.from, len(l.b), room)
	}
	first := m.inbox.Pop()
	p := m.members[first.from]
	p.stored--
	if p.received++; p.received >= window/2 && p.state == present {
		m.queueMessage(p, message{kind: received, number: p.received})
		p.received = 0
	}
	return first.b, first.from, nil
}

// sendLetters moves the program's messages for a member to its outbox, as long as the member can
// store more (window). That ends their requests. It reports whether it has moved any.
func (m *Mesh) sendLetters(p *member) (moved bool) {
	for len(p.sends) > 0 && p.unread < window {
		l := p.sends[0]
		p.sends[0] = nil
		p.sends = p.sends[1:]
		p.unread++
		p.outbox = append(p.outbox, append((&message{kind: text, len: uint64(len(l.b))}).bytes(), l.b...))
		l.req.replies = 0
		moved = true
	}
	return moved
}

// hasTextToSend reports whether the outbox for the member has messages of the program.
func (p *member) hasTextToSend() bool {
	return slices.ContainsFunc(p.outbox, func(b []byte) bool { return kind(b[0]) == text })
}

// storeLetter stores a message of another member's program, which Receive returns.
func (m *Mesh) storeLetter(p *member, b []byte) {
	if p.stored == window {
		m.noteMisuse(libshmem.PE(p.number), fmt.Sprintf("has sent more than %d messages that were not received", window))
		return
	}
	p.stored++
	m.inbox.Push(letter{from: p.number, b: slices.Clone(b)})
}

// handleReceived notes that the program of member p has received n more messages of this one, so
// that p can store n new messages.
func (m *Mesh) handleReceived(p *member, n uint32) {
	if n > p.unread {
		m.noteMisuse(libshmem.PE(p.number), "has received messages that were not sent")
		return
	}
	p.unread -= n
	m.addBusy(p) // sendLetters may have waited for this
}

package mesh

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"libshmem/runtime/shmerr"
)

// receive receives a message that has to come.
func receive(t testing.TB, m *Mesh) (b []byte, from int) {
	t.Helper()
	b, from, ok, err := m.Receive(MaxMessage, patience)
	if err != nil || !ok {
		t.Fatalf("no message: %v", err)
	}
	return b, from
}

// TestMessages sends more messages than a member stores, of all sizes, to one that receives them
// late: they arrive in order, and the sender's requests wait.
func TestMessages(t *testing.T) {
	a, b := open(t, 0, 3, nil), open(t, 1, 3, nil)
	introduce(t, a, b)
	if _, _, ok, err := b.Receive(MaxMessage, 0); ok || err != nil {
		t.Fatalf("a message that nobody has sent: %v", err)
	}
	const n = 5 * window
	content := func(i int) []byte { return bytes.Repeat([]byte(fmt.Sprint(i)), 1+i*7%900) }
	var requests []*Request
	for i := range n {
		req, err := a.Send(1, content(i))
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, req)
	}
	await(t, requests[window-1])
	until(t, "the first message", func() bool {
		_, from, ok, err := b.Receive(0, 0)
		return !ok && err != nil && from == 0 // there is no room for it
	})
	if ended, err := requests[window].Test(); ended {
		t.Errorf("a message was sent to a member that stores no more: %v", err)
	}
	for i := range n {
		got, from := receive(t, b)
		if from != 0 || !bytes.Equal(got, content(i)) {
			t.Fatalf("message %d: %d bytes of member %d", i, len(got), from)
		}
		if i%5 == 0 {
			req, err := b.Send(0, got)
			await(t, req, err)
		}
	}
	for i := 0; i < n; i += 5 {
		if got, _ := receive(t, a); !bytes.Equal(got, content(i)) {
			t.Fatalf("message %d has not come back", i)
		}
	}
	for _, req := range requests {
		await(t, req)
	}
}

// TestMessagesToSilent sends more messages than a member stores. While its program receives none they
// wait, however long; when the member does not answer any more, they end after the timeout.
func TestMessagesToSilent(t *testing.T) {
	const timeout = 200 * time.Millisecond
	short := func(o *Options) { o.Timeout = timeout }
	a, b := open(t, 0, 2, short), open(t, 1, 2, short)
	introduce(t, a, b)
	var last *Request
	for range window + 1 {
		var err error
		if last, err = a.Send(1, []byte("more")); err != nil {
			t.Fatal(err)
		}
	}
	if err := last.Wait(5 * timeout); !errors.Is(err, shmerr.ErrTimeout) {
		t.Errorf("a message to a program that receives none: %v", err)
	}
	b.e.WithLock(func() { // nobody polls for b any more
		wants(t, last.Wait(20*timeout), shmerr.ErrPeerLost, "member 1 has not answered for 200ms")
	})
}

// TestMessagesOfLeft receives messages of a member that has left, and sends it one.
func TestMessagesOfLeft(t *testing.T) {
	a, b := open(t, 0, 2, nil), open(t, 1, 2, nil)
	introduce(t, a, b)
	for i := range 3 {
		req, err := b.Send(0, []byte{byte(i)})
		await(t, req, err)
	}
	var waits *Request
	for range window + 1 {
		var err error
		if waits, err = a.Send(1, []byte("nobody receives these")); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wants(t, waits.Wait(patience), shmerr.ErrPeerLost, "member 1 has left")
	for i := range 3 {
		if got, from := receive(t, a); from != 1 || len(got) != 1 || got[0] != byte(i) {
			t.Fatalf("message %d: %v of %d", i, got, from)
		}
	}
	_, err := a.Send(1, []byte("x"))
	wants(t, err, shmerr.ErrPeerLost, "member 1 has left")
}

// TestBadMessages sends what must be refused.
func TestBadMessages(t *testing.T) {
	a, b := open(t, 0, 3, nil), open(t, 1, 3, nil)
	introduce(t, a, b)
	_, err := a.Send(1, make([]byte, MaxMessage+1))
	wants(t, err, shmerr.ErrRange, "a message has 1 to 4064 bytes, and not 4065")
	_, err = a.Send(1, nil)
	wants(t, err, shmerr.ErrRange, "and not 0")
	_, err = a.Send(0, []byte("x"))
	wants(t, err, shmerr.ErrArgument, "no messages to itself")
	_, err = a.Send(2, []byte("x"))
	wants(t, err, shmerr.ErrPE, "member 2 was not added")
	req, err := a.Send(1, make([]byte, MaxMessage))
	await(t, req, err)
	if got, _ := receive(t, b); len(got) != MaxMessage {
		t.Errorf("%d bytes of %d", len(got), MaxMessage)
	}
	// A member that sends more than another stores is removed.
	a.e.WithLock(func() { a.members[1].unread = 0 })
	for range window + 8 {
		a.e.WithLock(func() { a.members[1].unread = 0 })
		if _, err := a.Send(1, []byte("x")); err != nil {
			break
		}
	}
	until(t, "the removal", func() bool { return b.Status(0) != nil })
	wants(t, b.Status(0), shmerr.ErrPeerLost, "has sent more than 64 messages")
	_, _, _, err = b.Receive(MaxMessage, time.Millisecond)
	if err != nil {
		t.Error(err)
	}
}

package sim

import (
	"errors"
	"fmt"
	"testing"

	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

// The behaviour of a model, in the words of the table of rules (TestTable).

// couple returns two ends that know each other and have not spoken.
func couple(t *testing.T, m Model) (n *Network, a, b *site) {
	n = New(calm(m), 1)
	c := fabric.Config{Data: true}
	a, b = newSite(t, n, 0, c), newSite(t, n, 1, c)
	connect(a, b)
	return n, a, b
}

// errorName returns an error as the table calls it.
func errorName(err error) string {
	switch {
	case err == nil:
		return "granted"
	case err == fabric.ErrAgain:
		return "EAGAIN"
	case errors.Is(err, shmerr.ErrUnsupported):
		return "ENOSYS"
	case errors.Is(err, shmerr.ErrArgument):
		return "EINVAL"
	}
	return err.Error()
}

// settle lets all happen that does not take a Poll of another end than those.
func settle(n *Network, sites ...*site) {
	for range 100 {
		for n.Step() && !n.Settled() {
		}
		for _, s := range sites {
			s.poll()
		}
	}
}

func waits(m Model) bool { return New(m, 1).caps(&fabric.Config{}, 0).WaitFD }

// wideQueue is a queue of one completion more than there may be.
func wideQueue(t *testing.T, m Model) string {
	n := New(m, 1)
	c := fabric.Config{Tokens: 10, Queue: m.Queue}
	if _, err := n.Open(0, c); err != nil {
		t.Errorf("%s: a queue of %d: %v", m.Name, c.Queue, err)
	}
	c.Queue++
	_, err := n.Open(0, c)
	return errorName(err)
}

// fullQueue is one operation more than there may be under way.
func fullQueue(t *testing.T, m Model) string {
	m.Depth = 3
	_, a, _ := couple(t, m)
	for tok := range fabric.Token(3) {
		if err := a.Send(a.message(1, 0, 8, tok)); err != nil {
			t.Errorf("%s: message %d: %v", m.Name, tok, err)
		}
	}
	return errorName(a.Send(a.message(1, 0, 8, 3)))
}

// fromStranger writes to an end that does not have the writer among its peers.
func fromStranger(t *testing.T, m Model) string {
	n := New(calm(m), 1)
	a, b := newSite(t, n, 0, fabric.Config{}), newSite(t, n, 1, fabric.Config{})
	a.pe, b.pe = 0, 1
	if err := a.Connect([][]byte{a.Addr(), b.Addr()}); err != nil {
		t.Fatal(err)
	}
	if err := b.Connect([][]byte{nil, b.Addr()}); err != nil {
		t.Fatal(err)
	}
	a.mem[0] = 7
	a.post(func() error { return a.Write(a.rma(1, b, 0, 0, 1, 0)) })
	settle(n, a, b)
	switch {
	case len(a.comps) != 1 || a.comps[0].Err == 0 != (b.mem[0] == 7):
		return fmt.Sprintf("%+v, and the byte is %d", a.comps, b.mem[0])
	case a.comps[0].Err == 0:
		return "works"
	case a.comps[0].Err == errStranger:
		return "ENOTCONN"
	}
	return a.ErrorText(&a.comps[0])
}

// undescribed is an operation on memory that is not in the region of its descriptor.
func undescribed(t *testing.T, m Model, kind fabric.Kind) string {
	_, a, b := couple(t, m)
	a.region.Desc = 0
	switch kind {
	case fabric.KindRecv:
		return errorName(a.Recv(a.rma(1, b, 0, 0, 1, 0).Local, 8, 0, 0))
	case fabric.KindSend:
		return errorName(a.Send(a.message(1, 0, 100, 0)))
	}
	write := errorName(a.Write(a.rma(1, b, 0, 0, 1, 0)))
	if read := errorName(a.Read(a.rma(1, b, 0, 0, 1, 0))); read != write {
		return write + ", read: " + read
	}
	return write
}

// tooLong is a message of more than the MTU.
func tooLong(t *testing.T, m Model) string {
	_, a, _ := couple(t, m)
	if err := a.Send(a.message(1, 0, m.Longest, 0)); err != nil {
		t.Errorf("%s: a message of %d bytes: %v", m.Name, m.Longest, err)
	}
	if err := a.Send(a.message(1, 0, m.Longest+1, 1)); err != nil && err != fabric.ErrAgain {
		return "the test ends" // every caller takes it for an error of its own
	}
	return "granted"
}

// firstInjected is an injected write that nothing has gone before.
func firstInjected(t *testing.T, m Model) string {
	_, a, b := couple(t, m)
	r := a.rma(1, b, 0, 0, 8, 0)
	r.Inject = true
	return errorName(a.Write(r))
}

// firstWrite is a write to a peer that has not polled, and then does.
func firstWrite(t *testing.T, m Model) string {
	n, a, b := couple(t, m)
	for i := range 8 {
		a.mem[i] = 1
	}
	if err := a.Write(a.rma(1, b, 0, 0, 8, 0)); err != nil {
		t.Fatal(err)
	}
	settle(n, a)
	if moved(b, 8) == 8 && len(a.comps) == 1 {
		return "none"
	}
	if moved(b, 8) > 0 || len(a.comps) > 0 || !b.Ready() || b.Arm() {
		return fmt.Sprintf("%d bytes, %d completions, the peer is ready: %v", moved(b, 8), len(a.comps), b.Ready())
	}
	b.poll()
	settle(n, a)
	if moved(b, 8) != 8 || len(a.comps) != 1 {
		return "waits for more than one poll of the peer"
	}
	r := a.rma(1, b, 8, 8, 8, 1)
	r.Inject = true
	if err := a.Write(r); err != nil {
		return "there is no end of it"
	}
	return "waits for the peer's handshake, which its polling sends"
}

// manyFirstWrites counts the operations that wait for handshakes, of all peers together; an
// operation that ends makes room.
func manyFirstWrites(t *testing.T, m Model) string {
	n := New(calm(m), 1)
	var all []*site
	for host := range 5 {
		all = append(all, newSite(t, n, host, fabric.Config{}))
	}
	connect(all...)
	a := all[0]
	late := all[4] // whom nothing is sent to at first
	again := func() (posted int, err error) {
		for k := range 200 {
			to := all[1+k%3]
			r := a.rma(to.pe, to, 0, 0, 8, fabric.Token(k))
			if post := []func(*fabric.RMA) error{a.Write, a.Read}[k%2]; err == nil {
				if err = post(r); err == nil {
					posted++
				}
			}
		}
		return posted, err
	}
	posted, err := again()
	if err != fabric.ErrAgain {
		t.Errorf("%s: after %d operations: %v", m.Name, posted, err)
	}
	if err := a.Send(a.message(1, 0, 8, 255)); err != nil {
		t.Errorf("%s: a message to whom does not answer: %v", m.Name, err)
	}
	settle(n, a)
	if len(a.comps) > 0 {
		t.Errorf("%s: %d operations have ended without a poll of their targets", m.Name, len(a.comps))
	}
	for _, to := range all[1:] {
		to.receive(254)
	}
	settle(n, all...)
	if len(a.comps) != posted+1 {
		t.Errorf("%s: %d of %d operations have ended", m.Name, len(a.comps), posted+1)
	}
	if more, err := again(); err != nil || more != 200 {
		t.Errorf("%s: with all handshakes %d operations find room: %v", m.Name, more, err)
	}
	settle(n, all...)
	a.comps = nil
	for tok := range fabric.Token(posted) {
		if err := a.Write(a.rma(late.pe, late, 0, 0, 8, tok)); err != nil {
			t.Errorf("%s: write %d to one more peer: %v", m.Name, tok, err)
		}
	}
	return fmt.Sprint(posted)
}

// unpolled lists the operations that move to an end that does not poll, a peer it knows.
func unpolled(t *testing.T, m Model) string {
	n, a, b := couple(t, m)
	acquaint(n, a, b)
	b.receive(0)
	for i := range 8 {
		a.mem[i] = 1
	}
	a.post(func() error { return a.Write(a.rma(1, b, 0, 0, 8, 1)) })
	a.post(func() error { return a.Send(a.message(1, 0, 8, 2)) })
	settle(n, a)
	buffer := b.mem[siteMemory-4096]
	switch {
	case moved(b, 8) != 8 || len(a.comps) != 1 || a.comps[0].Token != 1:
		return fmt.Sprintf("not a write: %d bytes, completions %+v", moved(b, 8), a.comps)
	case buffer != 0 || b.Arm():
		return "messages, too"
	}
	settle(n, a, b)
	if b.mem[siteMemory-4096] != 1 || len(b.comps) != 1 || len(a.comps) != 2 {
		return "no message even when it polls"
	}
	return "device RDMA alone"
}

// withoutReceive is a message for which there is no receive buffer at first.
func withoutReceive(t *testing.T, m Model) string {
	const messages = 20
	m.Late = 0
	n, a, b := couple(t, m)
	for k := range fabric.Token(messages) {
		a.mem[k] = byte(k)
		a.post(func() error { return a.Send(a.message(1, int(k), 8, k)) })
	}
	settle(n, a, b)
	at, _ := n.Waiting()
	if len(a.comps) > 0 || b.Ready() {
		return fmt.Sprintf("completions %+v, at the target something to do: %v", a.comps, b.Ready())
	}
	for tok := range fabric.Token(messages) {
		b.receive(tok)
		settle(n, a, b)
	}
	seen, inOrder := map[byte]bool{}, true
	for tok := range messages {
		first := b.mem[siteMemory-(tok+1)*4096]
		seen[first] = true
		inOrder = inOrder && int(first) == tok
	}
	if len(b.comps) != messages || len(a.comps) != messages || len(seen) != messages {
		return fmt.Sprintf("%d and %d completions of %d, %d messages", len(a.comps), len(b.comps), messages, len(seen))
	}
	for _, c := range a.comps {
		if c.Err != 0 {
			return a.ErrorText(&c)
		}
	}
	if at == 0 {
		if inOrder {
			return "the sender waits, and is let in by its turn"
		}
		return "the sender waits, no error"
	}
	return "kept by the target as unexpected, when it polls"
}

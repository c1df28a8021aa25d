package fdpass

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"libshmem/runtime/bootstrap/secret"
	"libshmem/runtime/shmerr"
)

// guarded returns a listener that talks to processes with the secret, and its reports of others.
func guarded(t *testing.T, s *secret.Secret) (*Listener, *[]string) {
	t.Helper()
	l := listen(t)
	var said []string
	l.Guard(s, func(text string) { said = append(said, text) })
	return l, &said
}

func dial(t *testing.T, l *Listener) *Conn {
	t.Helper()
	c, err := Dial(l.Name(), User(), soon())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestGuard(t *testing.T) {
	s := secret.New()
	l, said := guarded(t, &s)
	proven := make(chan error)
	c := dial(t, l)
	go func() { proven <- c.Prove(&s, 7, soon()) }()
	server, err := l.Accept(soon())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := <-proven; err != nil {
		t.Fatal(err)
	}
	if server.Peer != 7 {
		t.Errorf("PE %d came, want 7", server.Peer)
	}
	if err := server.Send([]byte("welcome"), nil, soon()); err != nil {
		t.Fatal(err)
	}
	if text, _, err := c.Receive(soon()); string(text) != "welcome" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if len(*said) != 0 {
		t.Errorf("%q of a PE of the job", *said)
	}
}

// TestStrangers connects without the secret in many ways. Each stranger is turned away with a
// reason, one line names the process, and a PE that comes among them is served at once, although
// one of them never says anything.
func TestStrangers(t *testing.T) {
	s, other := secret.New(), secret.New()
	// The words of a PE to another listener of the job, to be said again.
	var heard []byte
	func() {
		l, _ := guarded(t, &s)
		tap := dial(t, l) // before c, whose proof ends Accept
		c := dial(t, l)
		done := make(chan error)
		go func() { done <- c.Prove(&s, 7, soon()) }()
		if _, err := l.Accept(soon()); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		challenge, _, err := tap.Receive(soon())
		if err != nil {
			t.Fatal(err)
		}
		mine := secret.NewNonce()
		heard = answer(&s, mine, 7, rolePeer(7), challenge)
	}()

	l, said := guarded(t, &s)
	silent := dial(t, l)
	type stranger struct {
		name, want string
		say        func(c *Conn, challenge []byte) error
	}
	send := func(b []byte) func(*Conn, []byte) error {
		return func(c *Conn, _ []byte) error { return c.Send(b, nil, soon()) }
	}
	for _, x := range []stranger{
		{"nothing", "closed the connection", func(c *Conn, _ []byte) error { return c.Close() }},
		{"zeros", "does not know the job's secret", send(make([]byte, 56))},
		{"another secret", "does not know the job's secret", func(c *Conn, challenge []byte) error {
			return c.Send(answer(&other, secret.Nonce{}, 7, rolePeer(7), challenge), nil, soon())
		}},
		{"the listener's own part", "does not know the job's secret", func(c *Conn, challenge []byte) error {
			return c.Send(answer(&s, secret.Nonce{}, 7, roleListener, challenge), nil, soon())
		}},
		{"another PE", "does not know the job's secret", func(c *Conn, challenge []byte) error {
			return c.Send(answer(&s, secret.Nonce{}, 8, rolePeer(7), challenge), nil, soon())
		}},
		{"what was heard", "does not know the job's secret", send(heard)},
		{"a part of it", "it sent 55 bytes and 0 descriptors", send(heard[:55])},
		{"more than it", "it sent 57 bytes and 0 descriptors", send(append(heard, 0))},
		{"far too much", "longer than", send(make([]byte, MaxMessage+1))},
		{"a descriptor", "it sent 56 bytes and 1 descriptors", func(c *Conn, _ []byte) error { return c.Send(heard, []int{0}, soon()) }},
		{"the challenge", "it sent 24 bytes", func(c *Conn, challenge []byte) error { return c.Send(challenge, nil, soon()) }},
	} {
		c := dial(t, l)
		go func() {
			challenge, _, err := c.Receive(soon())
			if err == nil {
				err = x.say(c, challenge)
			}
			if err != nil {
				t.Errorf("%s: %v", x.name, err)
			}
		}()
		_, err := l.Accept(soon())
		var away Rejected
		if !errors.As(err, &away) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
	c := dial(t, l)
	proven := make(chan error)
	go func() { proven <- c.Prove(&s, 7, soon()) }()
	if _, err := l.Accept(soon()); err != nil {
		t.Errorf("a PE of the job: %v", err)
	}
	if err := <-proven; err != nil {
		t.Errorf("a PE of the job: %v", err)
	}
	want := fmt.Sprintf("turned away process %d of user %d: ", unix.Getpid(), User())
	if len(*said) != 1 || !strings.HasPrefix((*said)[0], want) {
		t.Errorf("said %q, want one line with %q", *said, want)
	}
	if len(l.guard.unproven) != 1 {
		t.Fatalf("%d connections without a proof, want the one that says nothing", len(l.guard.unproven))
	}
	_, err := l.Accept(time.Now())
	want = fmt.Sprintf("process %d of user %d came and said nothing", unix.Getpid(), User())
	if !errors.Is(err, shmerr.ErrTimeout) || err.Error() != want {
		t.Errorf("a silent process: %v, want %s", err, want)
	}

	// A late PE is no stranger.
	go func() { proven <- silent.Prove(&s, 3, soon()) }()
	if c, err := l.Accept(soon()); err != nil || c.Peer != 3 {
		t.Errorf("a PE that is late: %v", err)
	}
	if err := <-proven; err != nil {
		t.Errorf("a PE that is late: %v", err)
	}
}

// answer returns a peer's answer to the challenge.
func answer(s *secret.Secret, mine secret.Nonce, pe uint64, role string, challenge []byte) []byte {
	p := s.Prove(role, secret.Nonce(challenge[8:]), mine)
	return append(binary.LittleEndian.AppendUint64(mine[:], pe), p[:]...)
}

// TestManyStrangers: silent strangers take no more than their places.
func TestManyStrangers(t *testing.T) {
	s := secret.New()
	l, err := Listen(User(), 2)
	if err != nil {
		t.Fatal(err)
	}
	l.Guard(&s, func(string) {})
	var group sync.WaitGroup
	for range 4 * maxUnproven {
		group.Go(func() {
			if c, err := Dial(l.Name(), User(), soon()); err == nil {
				_, _, _ = c.Receive(soon()) // the challenge
				_, _, _ = c.Receive(soon()) // the end
				_ = c.Close()
			}
		})
	}
	proven := make(chan error)
	group.Go(func() {
		for {
			c, err := Dial(l.Name(), User(), soon())
			if err == nil {
				err = c.Prove(&s, 7, soon())
				_ = c.Close()
			}
			// A PE that gets no processor before this many have come is one of them.
			if !errors.Is(err, shmerr.ErrPeerLost) {
				proven <- err
				return
			}
		}
	})
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			if c, err := l.Accept(soon()); err == nil {
				_ = c.Close()
				return
			}
			if len(l.guard.unproven) > l.guard.limit {
				t.Errorf("%d connections without a proof at a time, at most %d", len(l.guard.unproven), l.guard.limit)
			}
		}
	}()
	if err := <-proven; err != nil {
		t.Errorf("a PE among strangers: %v", err)
	}
	<-accepted
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	group.Wait()
}

// TestImpostor: a PE gives nothing to a listener that does not know the secret.
func TestImpostor(t *testing.T) {
	s, other := secret.New(), secret.New()
	for name, c := range map[string]struct {
		say  func(server *Conn, nonce secret.Nonce) []byte
		want string
	}{
		"another secret": {func(_ *Conn, nonce secret.Nonce) []byte {
			p := other.Prove(roleListener, nonce, secret.Nonce{})
			return p[:]
		}, "does not know"},
		"nothing": {func(*Conn, secret.Nonce) []byte { return nil }, "closed"},
	} {
		l := listen(t)
		go func() {
			server, err := l.Accept(soon())
			if err != nil {
				t.Error(err)
				return
			}
			defer server.Close()
			_ = server.Send(append(binary.LittleEndian.AppendUint64(nil, guardMagic), make([]byte, 16)...), nil, soon())
			if answer, _, err := server.Receive(soon()); err == nil {
				if b := c.say(server, secret.Nonce(answer[:nonceBytes])); b != nil {
					_ = server.Send(b, nil, soon())
				}
			}
		}()
		if err := dial(t, l).Prove(&s, 7, soon()); !errors.Is(err, shmerr.ErrPeerLost) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

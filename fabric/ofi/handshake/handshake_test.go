package handshake

import (
	"bytes"
	"testing"

	"libshmem"
)

// world is a job with two endpoints, and a request and an answer between them.
type world struct {
	key      Key
	ask, ans Side
	request  Request
	asked    []byte
	answer   Reply
	answered []byte
}

func newWorld() *world {
	w := &world{key: Key(random32()), ask: Side{3, Random[ID]()}, ans: Side{700, Random[ID]()}}
	w.request = Request{From: w.ask.PE, To: w.ans.PE, Number: 9, Seen: 4, Nonce: Random[Nonce]()}
	w.asked = w.key.Request(&w.request, w.ask.ID, w.ans.ID)
	w.answer = Reply{Accepted, Random[Nonce]()}
	w.answered = w.key.Reply(w.answer, &w.request, w.ans.ID, w.ask.ID)
	return w
}

// random32 returns 32 random bytes.
func random32() (b [32]byte) {
	x, y := Random[ID](), Random[ID]()
	copy(b[:], x[:])
	copy(b[16:], y[:])
	return b
}

func TestRequest(t *testing.T) {
	w := newWorld()
	if len(w.asked) > 256 || len(w.answered) > 256 {
		t.Errorf("messages of %d and %d bytes do not fit", len(w.asked), len(w.answered))
	}
	r, err := Parse(w.asked)
	if err != nil || r != w.request {
		t.Fatalf("parsed %+v, %v; want %+v", r, err, w.request)
	}
	if !w.key.Verify(w.asked, w.ask.ID, w.ans.ID) {
		t.Error("a good request is refused")
	}
	other := newWorld()
	for name, accepted := range map[string]bool{
		"of another job":            other.key.Verify(w.asked, w.ask.ID, w.ans.ID),
		"for another endpoint":      w.key.Verify(w.asked, w.ask.ID, other.ans.ID),
		"of another endpoint":       w.key.Verify(w.asked, other.ask.ID, w.ans.ID),
		"back at its maker":         w.key.Verify(w.asked, w.ans.ID, w.ask.ID),
		"that is cut":               w.key.Verify(w.asked[:Size-1], w.ask.ID, w.ans.ID),
		"that is empty":             w.key.Verify(nil, w.ask.ID, w.ans.ID),
		"that is an answer instead": w.key.Verify(w.answered, w.ask.ID, w.ans.ID) || w.key.Verify(w.answered, w.ans.ID, w.ask.ID),
	} {
		if accepted {
			t.Errorf("a request %s is accepted", name)
		}
	}
	for i := range w.asked {
		b := bytes.Clone(w.asked)
		if b[i] ^= 1; w.key.Verify(b, w.ask.ID, w.ans.ID) {
			t.Errorf("a request with byte %d changed is accepted", i)
		}
	}
}

func TestAnswer(t *testing.T) {
	w := newWorld()
	for v := Accepted; v <= Lost; v++ {
		want := Reply{v, w.answer.Nonce}
		got, err := w.key.Check(w.key.Reply(want, &w.request, w.ans.ID, w.ask.ID), &w.request, w.ans.ID, w.ask.ID)
		if err != nil || got != want {
			t.Errorf("verdict %d: %+v, %v", v, got, err)
		}
	}
	again, number := w.request, w.request
	again.Nonce = Random[Nonce]()
	number.Number++
	other := newWorld()
	check := func(name string, k *Key, b []byte, r *Request, from, to ID) {
		t.Helper()
		if _, err := k.Check(b, r, from, to); err == nil {
			t.Errorf("an answer %s is accepted", name)
		}
	}
	check("of another job", &other.key, w.answered, &w.request, w.ans.ID, w.ask.ID)
	check("of another endpoint", &w.key, w.answered, &w.request, other.ans.ID, w.ask.ID)
	check("to another endpoint", &w.key, w.answered, &w.request, w.ans.ID, other.ask.ID)
	check("to a request with another nonce", &w.key, w.answered, &again, w.ans.ID, w.ask.ID)
	check("to a request with another number", &w.key, w.answered, &number, w.ans.ID, w.ask.ID)
	check("that is the request", &w.key, w.asked, &w.request, w.ans.ID, w.ask.ID)
	check("without a verdict", &w.key, w.key.Reply(Reply{Verdict: 0}, &w.request, w.ans.ID, w.ask.ID), &w.request, w.ans.ID, w.ask.ID)
	check("that is empty", &w.key, nil, &w.request, w.ans.ID, w.ask.ID)
	for i := range w.answered {
		b := bytes.Clone(w.answered)
		b[i] ^= 0x80
		check("with a changed byte", &w.key, b, &w.request, w.ans.ID, w.ask.ID)
	}
}

func TestWords(t *testing.T) {
	w := newWorld()
	a, b := w.request.Nonce, w.answer.Nonce
	seen := map[uint32]string{}
	for name, word := range map[string]uint32{
		"confirmed": w.key.Proof(Confirmed, 3, a, b), "leaving": w.key.Proof(Leaving, 3, a, b),
		"of the other side": w.key.Proof(Leaving, 700, a, b), "of a later handshake": w.key.Proof(Confirmed, 3, Random[Nonce](), b),
		"to a later handshake": w.key.Proof(Confirmed, 3, a, Random[Nonce]()), "with the nonces swapped": w.key.Proof(Confirmed, 3, b, a),
	} {
		if before, had := seen[word]; had {
			t.Errorf("the words %s and %s are the same", name, before)
		}
		seen[word] = name
	}
	if same := w.key; same.Proof(Confirmed, 3, a, b) != w.key.Proof(Confirmed, 3, a, b) {
		t.Error("both sides compute different words")
	}
}

// FuzzParse finds that any bytes are read, and that those which are accepted were made with the
// key.
func FuzzParse(f *testing.F) {
	w := newWorld()
	f.Add(w.asked)
	f.Add(w.answered)
	f.Add(w.asked[:40])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse(b)
		if err == nil && (r.From < 0 || r.To < 0) {
			t.Errorf("%x: from PE %d to PE %d", b, r.From, r.To)
		}
		if w.key.Verify(b, w.ask.ID, w.ans.ID) && !bytes.Equal(b, w.asked) {
			t.Errorf("%x is accepted", b)
		}
		if _, err := w.key.Check(b, &w.request, w.ans.ID, w.ask.ID); err == nil && !bytes.Equal(b, w.answered) {
			t.Errorf("%x is accepted as an answer", b)
		}
	})
}

// TestNegative refuses PE numbers that are none, with the right key.
func TestNegative(t *testing.T) {
	w := newWorld()
	for _, r := range []Request{{From: libshmem.NoPE, To: 1}, {From: 1, To: libshmem.NoPE}} {
		if _, err := Parse(w.key.Request(&r, w.ask.ID, w.ans.ID)); err == nil {
			t.Errorf("%+v is read", r)
		}
	}
}

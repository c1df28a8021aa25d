package secret

import "testing"

func TestProof(t *testing.T) {
	s, other := New(), New()
	if s == other || s == (Secret{}) {
		t.Fatal("secrets are not random")
	}
	a, b := NewNonce(), NewNonce()
	p := s.Prove("client", a, b)
	if !s.Check(p[:], "client", a, b) {
		t.Error("a good proof is refused")
	}
	for name, bad := range map[string]bool{
		"of another secret":   other.Check(p[:], "client", a, b),
		"of the other role":   s.Check(p[:], "server", a, b),
		"of another meeting":  s.Check(p[:], "client", NewNonce(), b),
		"of another peer":     s.Check(p[:], "client", a, NewNonce()),
		"with nonces swapped": s.Check(p[:], "client", b, a),
		"cut":                 s.Check(p[:31], "client", a, b),
		"empty":               s.Check(nil, "client", a, b),
	} {
		if bad {
			t.Errorf("a proof %s is taken", name)
		}
	}
	for i := range p {
		q := p
		if q[i] ^= 1; s.Check(q[:], "client", a, b) {
			t.Errorf("a proof with byte %d changed is taken", i)
		}
	}
}

func TestNumber(t *testing.T) {
	s, other := New(), New()
	n := s.Number("messages")
	if n != s.Number("messages") {
		t.Error("two PEs of one job have different numbers")
	}
	if n == s.Number("keys") || n == other.Number("messages") {
		t.Error("another purpose or job has the same number")
	}
}

func TestKey(t *testing.T) {
	s, other := New(), New()
	k := s.Key("connections")
	if k != s.Key("connections") {
		t.Error("two PEs of one job have different keys")
	}
	if k == s.Key("messages") || k == other.Key("connections") || k == s {
		t.Error("another purpose or job has the same key")
	}
}

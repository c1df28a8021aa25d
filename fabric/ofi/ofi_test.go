package ofi

import (
	"testing"

	"libshmem/fabric"
	"libshmem/fabric/fabrictest"
	"libshmem/tests/need"
)

// tested is every provider that may answer here, and its limits.
var tested = []struct {
	provider string
	limits   fabrictest.Limits
	arrival  bool // also with completions at the target, as several NICs are opened
	left     bool // to make test-full
}{
	{provider: "net;msg", arrival: true},
	{provider: "net", arrival: true, left: true},
	{provider: "tcp", arrival: true},
	{provider: "tcp;ofi_rxm", arrival: true},
	{provider: "net;ofi_rxm", limits: fabrictest.Limits{Wait: "in 1.17 the layer loses wake-ups of net"}},
	// No job is given it; but beside shm it is the only one of Debian 12 with atomic
	// operations, and the only one with fences.
	{provider: "sockets", left: true, limits: fabrictest.Limits{Full: refusal("sockets")}},
	{provider: "udp;ofi_rxd", left: true, limits: fabrictest.Limits{
		BadKey: "the target drops the request",
		Writes: 4, // with 16 at both ends 1.17 takes a reply for a message, and ends in a truncation error
	}},
	{provider: "shm", limits: fabrictest.Limits{
		BadKey: "a refused read never completes",
		Close:  "in 1.17 a poll reads memory of the closed peer, which is no longer mapped",
	}},
}

func TestProviders(t *testing.T) {
	offers, err := List("", Hints{})
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]bool{}
	for _, o := range offers {
		answers[o.Provider] = true
	}
	for i, p := range tested {
		if !answers[p.provider] {
			continue
		}
		delete(answers, p.provider)
		if p.left && need.Left("providers") {
			continue
		}
		t.Run(p.provider, func(t *testing.T) {
			takeRefused(t, p.provider)
			fabrictest.Run(t, func(c fabric.Config) (fabric.Provider, error) {
				c.Provider = p.provider
				return Open(c)
			}, p.limits)
		})
		if !p.arrival || i > 0 && need.Left("providers") {
			continue
		}
		t.Run(p.provider+", at the target", func(t *testing.T) {
			fabrictest.Run(t, func(c fabric.Config) (fabric.Provider, error) {
				c.Provider, c.Delivery = p.provider, true
				return Open(c)
			}, p.limits)
		})
	}
	silentOnes, err := ListSilent("")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range silentOnes {
		t.Logf("%s is not tested: %s", p.Provider, p.Why)
	}
	for p := range answers {
		t.Errorf("provider %s answers and is not among those tested (add it, with what it cannot do)", p)
	}
}

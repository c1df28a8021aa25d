package ofi

import (
	"errors"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"libshmem/fabric"
	"libshmem/runtime/shmerr"
)

// Providers over TCP that are offered do not stand still in a program that knows libfabric alone. A
// refused provider does on a machine that is idle; where both threads of the program seldom run at
// once it may come through: that is only logged.
func TestWhatStandsStill(t *testing.T) {
	program := compiled(t, "stands")
	answers := map[string]bool{}
	offers, err := List("", Hints{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range offers {
		answers[o.Provider] = true
	}
	for _, provider := range append(sameFamily("tcp"), slices.Collect(maps.Keys(refused))...) {
		// Up to libfabric 1.17 the name tcp alone stands for the layer over it. A program that knows
		// libfabric alone does not know connections that this package makes.
		if _, made := connects(provider); made || !answers[provider] {
			continue
		}
		out, err := exec.Command(program, provider).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", provider, err, out)
			continue
		}
		if refusal(provider) == "" && string(out) != "through\n" {
			t.Errorf("%s: %s", provider, out)
		}
		t.Logf("%s: %s", provider, out)
	}
}

func TestRefused(t *testing.T) {
	offers, err := List("", Hints{})
	if err != nil {
		t.Fatal(err)
	}
	for provider, because := range refused {
		_, err := Open(fabric.Config{Provider: strings.ToUpper(provider), Tokens: 8, MaxRecv: 4})
		if err == nil || !strings.Contains(err.Error(), because) || !errors.Is(err, shmerr.ErrNoProvider) {
			t.Errorf("SHMEM_PROVIDER=%s: %v, want an error that says %q", provider, err, because)
		}
		for _, o := range offers {
			if (o.Provider == provider) != strings.Contains(o.Why, because) {
				t.Errorf("%s on %s: %q", o.Provider, o.NIC, o.Why)
			}
		}
	}
}

// takeRefused has a provider opened in this test even if it is refused.
func takeRefused(t *testing.T, provider string) {
	if because, ok := refused[provider]; ok {
		delete(refused, provider)
		t.Cleanup(func() { refused[provider] = because })
	}
}

package fabric_test

import (
	"slices"
	"testing"

	"libshmem/fabric"
)

func TestProperties(t *testing.T) {
	of := func(c fabric.Caps) (names []string) {
		for _, p := range fabric.Properties {
			if p.Text == "" {
				t.Errorf("%s has no text", p.Name)
			}
			if p.Has(&c) {
				names = append(names, p.Name)
			}
		}
		return names
	}
	for _, c := range []struct {
		caps fabric.Caps
		want []string
	}{
		{fabric.Caps{Provider: "tcp;ofi_rxm"}, []string{"data-source"}}, // without data there is none to forge
		{fabric.Caps{Provider: "tcp;ofi_rxm", Data: 4}, []string{"data"}},
		{fabric.Caps{Provider: "verbs", Data: 4, Source: true}, []string{"rdma", "data", "data-source"}},
		{fabric.Caps{Provider: "efa", DeliveryComplete: true, Data: 4}, []string{"rdma", "delivery", "data"}},
		{fabric.Caps{Provider: "cxi", SendAfterSend: true}, []string{"rdma", "ordered-messages", "data-source"}},
		{fabric.Caps{Provider: "net", WriteAfterWrite: true, SendAfterWrite: true, WaitFD: true, Data: 3}, []string{"ordered-writes", "messages-after-writes", "data-source", "wait"}},
		{fabric.Caps{Provider: "udp;ofi_rxd", Fence: true, Atomics: 1, GPU: true, Rails: 2}, []string{"fence", "data-source", "atomics", "gpu", "several-nics"}},
		{fabric.Caps{Provider: "sockets", Rails: 1}, []string{"data-source"}},
		{fabric.Caps{Provider: "net;msg"}, []string{"data-source", "authentication"}},
	} {
		if got := of(c.caps); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.caps.Provider, got, c.want)
		}
	}
}

// TestSecurityWarning names the providers over which processes of other users reach a job.
func TestSecurityWarning(t *testing.T) {
	for provider, want := range map[string]struct {
		harm  string
		tests bool
	}{
		"tcp;msg": {}, "net;msg": {}, "efa": {}, "verbs;ofi_rxm": {}, "shm": {},
		"tcp":         {harm: "other users of a PE's host can take over its traffic"},
		"net":         {harm: "other users of a PE's host can take over its traffic"},
		"tcp;ofi_rxm": {harm: "other users of a PE's host can take over its traffic"},
		"udp;ofi_rxd": {"only for tests on your own host: one packet from any process that reaches it can end the job", true},
		"sockets":     {"only for tests on your own host: one packet from any process that reaches it can end the job", true},
	} {
		if harm, tests := fabric.SecurityWarning(provider), fabric.ForTests(provider); harm != want.harm || tests != want.tests {
			t.Errorf("%s: %q, for tests %v, want %q, %v", provider, harm, tests, want.harm, want.tests)
		}
	}
}

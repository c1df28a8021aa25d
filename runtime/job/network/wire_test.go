package network

import "testing"

// TestWire: layered providers have the figures of the one below, and others those of tcp.
func TestWire(t *testing.T) {
	for provider, want := range map[string]uint32{
		"efa": 15_000, "efa-direct": 15_000, "verbs;ofi_rxm": 2_500, "cxi": 2_500, "tcp": 2_000, "net;msg": 2_000, "udp;ofi_rxd": 2_000,
	} {
		if got := wireOf(provider); got.Latency != want {
			t.Errorf("%s: %v, want a latency of %d ns", provider, got, want)
		}
	}
	if got, want := wireOf("efa").String(), "a message takes 15 us, each post 0.5 and a KiB 0.082"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

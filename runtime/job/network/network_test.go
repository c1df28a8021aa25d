package network

import "testing"

func TestProviderName(t *testing.T) {
	for _, c := range []struct{ asked, opened, want string }{
		{"", "net", "net"},
		{"tcp", "net", "tcp by net"},
		{"TCP", "net", "TCP by net"},
		{"tcp", "tcp", "tcp"},
		{"tcp", "tcp;ofi_rxm", "tcp;ofi_rxm"},
		{"verbs", "verbs;ofi_rxm", "verbs;ofi_rxm"},
		{"verbs;ofi_rxm", "verbs;ofi_rxm", "verbs;ofi_rxm"},
		{"efa", "efa", "efa"},
	} {
		if got := providerName(c.asked, c.opened); got != c.want {
			t.Errorf("%q opened as %q: %q, want %q", c.asked, c.opened, got, c.want)
		}
	}
}

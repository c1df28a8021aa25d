package stub

import (
	"strings"
	"testing"

	"libshmem/fabric"
	"libshmem/fabric/ofi"
)

// A device that has no queue of this size is asked for the power of two below, until it has one, or
// an endpoint's own operations would have no room.
func TestGranted(t *testing.T) {
	const own = 8 // operations that open posts
	for _, c := range []struct {
		settings    string
		asked, want int // arrivals; negative: it does not open
	}{
		{"version=2.6", 0, 0},
		{"version=2.6", 1000, 1000},
		{"version=2.6", 32768 - own, 32768 - own},
		{"version=2.6", 32768 - own + 1, 32768 - own},
		{"version=2.6", 65536, 32768 - own},
		{"version=2.6 max_cq=4096", 4096 - own, 4096 - own},
		{"version=2.6 max_cq=4096", 4096 - own + 1, 4096 - own},
		{"version=2.6 max_cq=4096", 10000, 4096 - own},
		{"version=2.6 max_cq=5000", 5000 - own, 5000 - own},
		{"version=2.6 max_cq=5000", 10000, 4096 - own},
		{"version=2.6 max_cq=8", 100, 0},
		{"version=2.6 max_cq=7", 100, -1},
		{"version=2.6 max_cq=7", 0, -1},
		{"version=1.22", 32768, 32768 - own},
		{"version=1.22 max_cq=4096", 10000, 4096 - own},
		{"version=1.22 max_cq=16384", 32768 - own, 16384 - own},
	} {
		Set(t, c.settings)
		p, err := ofi.Open(fabric.Config{Library: load(t), Provider: Provider, Tokens: own, MaxRecv: 4, Data: true, Arrivals: c.asked})
		if err != nil {
			if c.want >= 0 || !strings.Contains(err.Error(), "fi_cq_open: invalid argument") {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if got := p.Caps().Arrivals; got != c.want {
			t.Errorf("%+v: %d arrivals are granted", c, got)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	// Where no immediate data comes, none is asked for.
	Set(t, "version=2.6")
	if got := open(t, fabric.Config{Provider: Provider, Arrivals: 100}).Caps().Arrivals; got != 0 {
		t.Errorf("%d arrivals are granted without immediate data", got)
	}
}

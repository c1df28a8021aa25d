package trace

import (
	"path/filepath"
	"testing"

	"libshmem/fabric"
	"libshmem/fabric/fabrictest"
	"libshmem/fabric/ofi"
)

// TestSuite holds the recorded provider to the rules of every provider, on a network of this
// machine.
func TestSuite(t *testing.T) {
	f, err := Create(filepath.Join(t.TempDir(), "t.json"), 0, "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if n := len(read(t, f.name)); n < 1000 {
			t.Errorf("%d events", n)
		}
	})
	n := 0
	fabrictest.Run(t, func(c fabric.Config) (fabric.Provider, error) {
		c.NICs = "lo"
		p, err := ofi.Open(c)
		if err != nil {
			return nil, err
		}
		n++
		return Around(p, c.Tokens, f.Track(n)), nil
	}, fabrictest.Limits{})
}

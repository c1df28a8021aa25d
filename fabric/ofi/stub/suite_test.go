package stub

import (
	"os"
	"testing"

	"libshmem/fabric"
	"libshmem/fabric/fabrictest"
	"libshmem/fabric/ofi"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "stub")
	if err != nil {
		panic(err)
	}
	Keep(dir)
	code := m.Run()
	_ = os.RemoveAll(dir) // of temporary files
	os.Exit(code)
}

// networks are the providers and versions, by the settings that make them.
var networks = []struct{ name, settings, provider string }{
	{"efa 1.22", "provider=efa version=1.22", "efa"},
	{"efa 2.1", "provider=efa version=2.1", "efa"},
	{"efa 2.3", "provider=efa version=2.3", "efa"},
	{"efa 2.4", "provider=efa version=2.4", "efa"},
	{"efa 2.6", "provider=efa version=2.6", "efa"},
	{"cxi 1.22", "provider=cxi version=1.22", "cxi"},
	{"cxi 2.3", "provider=cxi version=2.3", "cxi"},
	{"verbs", "provider=verbs", "verbs"},
}

// TestSuite holds each provider and version, as fabric/ofi opens it, to the promises of
// fabric.Provider.
func TestSuite(t *testing.T) {
	library := Build(t)
	for _, n := range networks {
		t.Run(n.name, func(t *testing.T) {
			Set(t, n.settings)
			fabrictest.Run(t, func(c fabric.Config) (fabric.Provider, error) {
				c.Library, c.Provider = library, n.provider
				return ofi.Open(c)
			}, fabrictest.Limits{})
		})
	}
}

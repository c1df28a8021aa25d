package stub

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

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

// failing is a part of the suite that fails on a network, and the text that it fails with. A
// cure of fabric/ofi takes its row away.
type failing struct {
	part, text string
}

// network is a provider and a version, by the settings that make it.
type network struct {
	name, settings, provider string
	fabric                   string // "": the one that is taken unasked
	failing                  []failing
}

var (
	// The queue of efa-direct drops what finds it full without a word.
	directFails = []failing{
		{"Overrun", "completions came and no error tells of the rest"},
	}
)

var networks = []network{
	{"efa 1.22", "provider=efa version=1.22", "efa", "", nil},
	{"efa-direct 2.1", "provider=efa version=2.1", "efa", direct, directFails},
	{"efa-direct 2.3", "provider=efa version=2.3", "efa", direct, directFails},
	{"efa-direct 2.4", "provider=efa version=2.4", "efa", "", directFails},
	{"efa-direct 2.6", "provider=efa version=2.6", "efa", "", directFails},
	{"efa 2.1", "provider=efa version=2.1", "efa", "", nil},
	{"efa 2.6", "provider=efa version=2.6", "efa", rdm, nil},
	{"cxi 1.22", "provider=cxi version=1.22", "cxi", "", nil},
	{"cxi 2.3", "provider=cxi version=2.3", "cxi", "", nil},
	{"verbs", "provider=verbs", "verbs", "", nil},
	{"verbs, with refusals", "provider=verbs again=3 seed=2", "verbs", "", nil},
}

// role names the network whose suite a child process runs.
const role = "STUB_NETWORK"

// TestNetwork is the suite of one network. It is the part of a process of its own, as the
// provider may end the process.
func TestNetwork(t *testing.T) {
	library := os.Getenv(role)
	if library == "" {
		t.Skip("TestSuite runs it, in other processes")
	}
	patience, err := time.ParseDuration(os.Getenv("STUB_PATIENCE"))
	if err != nil {
		t.Fatal(err)
	}
	fabrictest.Run(t, func(c fabric.Config) (fabric.Provider, error) {
		c.Library, c.Provider, c.Fabric = library, os.Getenv("STUB_PROVIDER"), os.Getenv("STUB_FABRIC")
		return ofi.Open(c)
	}, fabrictest.Limits{Patience: patience})
}

// TestSuite holds each provider and version, as fabric/ofi opens it, to the promises of
// fabric.Provider; and what fails is what is known to.
func TestSuite(t *testing.T) {
	library := Build(t)
	for _, n := range networks {
		t.Run(n.name, func(t *testing.T) {
			t.Parallel() // most of the time is sleep
			run := func(patience string, args ...string) (string, error) {
				cmd := exec.Command(os.Args[0], append(args, "-test.timeout=5m")...)
				cmd.Env = append(os.Environ(), role+"="+library, "STUB_PROVIDER="+n.provider, "STUB_FABRIC="+n.fabric, "STUB_PATIENCE="+patience, "FAKE_NIC="+n.settings)
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			skipped := "^$"
			for _, f := range n.failing {
				// A pattern has its own for each level of names.
				skipped += "|^TestNetwork$/^" + strings.ReplaceAll(f.part, "/", "$/^") + "$"
			}
			if out, err := run("30s", "-test.run=^TestNetwork$", "-test.skip="+skipped); err != nil {
				t.Errorf("FAKE_NIC=%q: %v\n%s", n.settings, err, out)
			}
			for _, f := range n.failing {
				out, err := run("2s", "-test.run=^TestNetwork$/^"+strings.ReplaceAll(f.part, "/", "$/^")+"$")
				if err == nil || !strings.Contains(out, f.text) {
					t.Errorf("%s is known to fail with %q (take its row away if that is mended): %v\n%s", f.part, f.text, err, excerpt(out))
				}
			}
		})
	}
}

// excerpt is the end of a text.
func excerpt(out string) string {
	const most = 4000
	if len(out) > most {
		return fmt.Sprintf("... %s", out[len(out)-most:])
	}
	return out
}

package stub

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"libshmem/fabric"
	"libshmem/fabric/fabrictest"
	"libshmem/fabric/ofi"
	"libshmem/tests/need"
)

func TestMain(m *testing.M) { os.Exit(need.Keep(m)) }

// failing is a part of the suite that fails on a network, and the text that it fails with. A
// cure of fabric/ofi takes its row away.
type failing struct {
	part, text string
}

// directFails lists the tests that fail on efa-direct: its queue silently drops entries that find
// it full.
var directFails = []failing{
	{"Overrun", "completions came and no error reports the rest"},
}

// tested returns all networks, or one of each provider and fabric, and one that refuses a third of
// all postings.
func tested() (out []Network) {
	providers := map[string]bool{}
	for _, n := range Networks(true) {
		if !need.Left("networks") || !providers[n.Provider+n.Fabric] {
			out = append(out, n)
		}
		providers[n.Provider+n.Fabric] = true
	}
	return append(out, Network{Name: "verbs, with refusals", Settings: "provider=verbs again=3 seed=2", Provider: "verbs"})
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
	timeout, err := time.ParseDuration(os.Getenv("STUB_TIMEOUT"))
	if err != nil {
		t.Fatal(err)
	}
	fabrictest.Run(t, func(c fabric.Config) (fabric.Provider, error) {
		c.Library, c.Provider, c.Fabric = library, os.Getenv("STUB_PROVIDER"), os.Getenv("STUB_FABRIC")
		return ofi.Open(c)
	}, fabrictest.Limits{Timeout: timeout})
}

// TestSuite holds each provider and version, as fabric/ofi opens it, to the promises of
// fabric.Provider; only the listed tests fail.
func TestSuite(t *testing.T) {
	library := Build(t)
	for _, n := range tested() {
		var failing []failing
		if strings.HasPrefix(n.Name, direct) {
			failing = directFails
		}
		t.Run(n.Name, func(t *testing.T) {
			t.Parallel() // most of the time is sleep
			run := func(timeout string, args ...string) (string, error) {
				cmd := exec.Command(os.Args[0], append(args, "-test.timeout=5m")...)
				cmd.Env = append(os.Environ(), role+"="+library, "STUB_PROVIDER="+n.Provider, "STUB_FABRIC="+n.Fabric, "STUB_TIMEOUT="+timeout, "FAKE_NIC="+n.Settings)
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			skipped := "^$"
			for _, f := range failing {
				// A pattern has its own for each level of names.
				skipped += "|^TestNetwork$/^" + strings.ReplaceAll(f.part, "/", "$/^") + "$"
			}
			if out, err := run("30s", "-test.run=^TestNetwork$", "-test.skip="+skipped); err != nil {
				t.Errorf("FAKE_NIC=%q: %v\n%s", n.Settings, err, out)
			}
			for _, f := range failing {
				out, err := run("2s", "-test.run=^TestNetwork$/^"+strings.ReplaceAll(f.part, "/", "$/^")+"$")
				if err == nil || !strings.Contains(out, f.text) {
					t.Errorf("%s is known to fail with %q (take its row away if that is mended): %v\n%s", f.part, f.text, err, excerpt(out))
				}
			}
		})
	}
}

// Where the table grants a descriptor to wait for, the endpoint takes it; elsewhere it sleeps by
// time, and says so, so that the proxy counts none of those sleeps as one that was overslept.
func TestDescriptors(t *testing.T) {
	for _, n := range Networks(true) {
		Set(t, n.Settings)
		p := open(t, fabric.Config{Provider: n.Provider, Fabric: n.Fabric})
		notes := fabric.NotesOf(p)
		if granted := p.Caps().WaitFD; granted == n.Blind || slices.Contains(notes, "no wait descriptor") != n.Blind {
			t.Errorf("%s: a descriptor: %v, notes %q", n.Name, granted, notes)
		}
	}
}

// excerpt returns the end of a text.
func excerpt(out string) string {
	const most = 4000
	if len(out) > most {
		return fmt.Sprintf("... %s", out[len(out)-most:])
	}
	return out
}

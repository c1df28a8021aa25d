package efa

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"libshmem/fabric/ofi/stub"
	"libshmem/runtime/gpu/cuda/cudatest"
	made "libshmem/tests/need"
)

// need is a need of users, as a test: it returns why the need is not met. It runs in a separate
// process, which has the settings of the stub in its environment.
type need struct {
	name string
	nic  string // FAKE_NIC
	test func(*place) error
	long bool // for make test-full
}

// place is the environment of a test of a need.
type place struct {
	*testing.T
	library string // the stub
	nic     string
	dir     string        // of its own
	limit   time.Duration // of a job
	log     string        // of the stub: contents of its queues, and options
	regions string        // of the stub: registrations of GPU memory
}

// role names the need that a child process tests.
const role = "EFA_NEED"

// needTimeout is how long a need may take; it takes seconds.
const needTimeout = 2 * time.Minute

// TestMain compiles the stub and the fake driver once for all tests.
func TestMain(m *testing.M) { os.Exit(made.Keep(m)) }

// TestNeeds tests the needs of users. A need in the list of known failures must fail, for the
// reason in the list; any other need must hold.
func TestNeeds(t *testing.T) {
	if os.Getenv(role) != "" {
		t.Skip("this is the process of one need")
	}
	stub.Build(t)
	cudatest.Build(t)
	left := map[string]bool{}
	for name := range known {
		left[name] = true
	}
	for _, n := range needs() {
		delete(left, n.name)
		t.Run(n.name, func(t *testing.T) {
			if n.long && !*whole {
				t.Skip("takes long (-whole)")
			}
			if fault := compare(known[n.name], reason(t, n)); fault != "" {
				t.Error(fault)
			}
		})
	}
	for name := range left {
		t.Errorf("the list of known failures has %q, and there is no such test", name)
	}
}

// compare judges a need by the reason for which it is known to fail, a regular expression for the
// whole text, and by its actual reason; "": it does not fail.
func compare(known, reason string) string {
	switch {
	case known == "" && reason != "":
		return reason
	case known != "" && reason == "":
		return "it is known to fail with " + known + ", and holds: take it off the list"
	case known != "" && !regexp.MustCompile(`\A(?:`+known+`)\z`).MatchString(reason):
		return "it is known to fail with " + known + ", and fails with\n" + reason
	}
	return ""
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		known, reason string
		right         bool
	}{
		{"", "", true},
		{"", "it broke", false},
		{"it b.oke", "", false},
		{"it b.oke", "it broke", true},
		{"it b.oke", "it broke twice", false},
		{"a|b", "ab", false},
	} {
		if fault := compare(c.known, c.reason); (fault == "") != c.right {
			t.Errorf("known %q, reason %q: %q", c.known, c.reason, fault)
		}
	}
}

// TestQueues finds each possible error in the records of queues.
func TestQueues(t *testing.T) {
	for _, c := range []struct {
		log   string
		right bool
	}{
		{"ep 0 of 7: cq 8 of 8, lost 0, send queue 4 of 4\nep 0 of 8: cq 0 of 8, lost 0, send queue 0 of 4\n", true},
		{"ep 0 of 7: cq 9 of 8, lost 0, send queue 4 of 4\nep 0 of 8: cq 0 of 8, lost 0, send queue 0 of 4\n", false},
		{"ep 0 of 7: cq 8 of 8, lost 1, send queue 4 of 4\nep 0 of 8: cq 0 of 8, lost 0, send queue 0 of 4\n", false},
		{"ep 0 of 7: cq 8 of 8, lost 0, send queue 5 of 4\nep 0 of 8: cq 0 of 8, lost 0, send queue 0 of 4\n", false},
		{"ep 0 of 7: cq 0 of 8, lost 0, send queue 0 of 4\nep 0 of 8: cq 0 of 8, lost 0, send queue 0 of 4\n", false},
		{"ep 0 of 7: cq 8 of 8, lost 0, send queue 4 of 4\n", false},
	} {
		p := &place{T: t, log: t.TempDir() + "/queues"}
		if err := os.WriteFile(p.log, []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := p.queues(2); (err == nil) != c.right {
			t.Errorf("%q: %v", c.log, err)
		}
	}
}

// died is the line of the stub where the provider would end the process.
var died = regexp.MustCompile(`(?m)^stub: R\d+[a-z]?: .*$`)

// reason returns why a need is not met, or "".
func reason(t *testing.T, n need) string {
	t.Helper()
	answer := t.TempDir() + "/reason"
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNeed$", "-test.timeout="+needTimeout.String())
	cmd.Env = append(os.Environ(), role+"="+n.name, "EFA_REASON="+answer)
	out, err := cmd.CombinedOutput()
	said, missing := os.ReadFile(answer)
	switch {
	case missing == nil && len(said) == 0 && err == nil:
		return ""
	case missing == nil && len(said) > 0:
		return string(said)
	}
	if line := died.Find(out); line != nil {
		return string(line)
	}
	return fmt.Sprintf("the test itself failed: %v\n%s", err, out)
}

// TestNeed tests one need, in a separate process.
func TestNeed(t *testing.T) {
	name := os.Getenv(role)
	if name == "" {
		t.Skip("TestNeeds runs it, in other processes")
	}
	for _, n := range needs() {
		if n.name != name {
			continue
		}
		p := &place{T: t, library: stub.Build(t), dir: t.TempDir(), limit: needTimeout * 2 / 3}
		p.log, p.regions = p.dir+"/queues", p.dir+"/regions"
		p.nic = strings.TrimSpace(n.nic + " log=" + p.log)
		t.Setenv("FAKE_NIC", p.nic)
		t.Setenv("FAKE_NIC_LOG", p.regions)
		text := ""
		if err := n.test(p); err != nil {
			text = strings.TrimSpace(err.Error())
		}
		if t.Failed() {
			return
		}
		if err := os.WriteFile(os.Getenv("EFA_REASON"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("there is no need %q", name)
}

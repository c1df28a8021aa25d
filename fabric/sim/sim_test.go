package sim

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"libshmem/fabric"
	"libshmem/fabric/fabrictest"
	"libshmem/tests/need"
)

// opener opens endpoints of a network of their own for each test of the suite,
// each on a host of its own.
func opener(m Model, seed uint64) func(*testing.T) fabrictest.Open {
	return func(t *testing.T) fabrictest.Open {
		n := New(m, seed)
		hosts := 0
		return func(c fabric.Config) (fabric.Provider, error) {
			hosts++
			return n.Open(hosts-1, c)
		}
	}
}

func suiteModels() []Model {
	models := Models()
	if need.Race {
		// The detector has nothing to find in the others that it does not find here.
		return append(models[:2], Unread(TCP(), 1))
	}
	// As sockets: a packet for each Poll, and some.
	models = append(models, Rough(Verbs()), Unread(Rough(TCP()), 4096), Unread(EFADirect(), 1))
	if !need.Left("suites") {
		models = append(models, Rough(TCP()), Rough(EFA()), Rough(EFADirect()), Unread(TCP(), 1), Unread(EFA(), 1), Unread(Worst(), 4096))
	}
	// No model of a NIC has this, and a network under chaos does.
	takes := Verbs()
	takes.Caps.DataTakesRecv = true
	return append(models, takes, VerbsPaths())
}

var suiteSeed = flag.Uint64("suite.seed", 1, "seed of the networks that the suite runs on")

func TestSuite(t *testing.T) {
	for i, m := range suiteModels() {
		t.Run(m.String(), func(t *testing.T) {
			fabrictest.RunEach(t, opener(m, *suiteSeed*100+uint64(i)), fabrictest.Limits{Unread: fabrictest.Simulated})
		})
	}
}

// catch is a defect, the model that has it, and the part of the suite that must notice.
type catch struct {
	defect Defect
	model  Model
	parts  string
}

var caught = []catch{
	{WritesOvertake, Rough(Verbs()), "WriteThenFlag"},
	{MessagesPass, Rough(TCP()), "MessageOrder"},
	{MessagesLead, Rough(TCP()), "WriteThenMessage"},
	{EarlyDelivery, EFA(), "Delivery"},
	{EarlyDelivery, EFADirect(), "Delivery"},
	{EarlySource, TCP(), "Flood"},
	{EarlyData, EFA(), "Notified"},
	{EarlyData, EFADirect(), "Notified"},
	{Repeats, Worst(), "Flood"},
	{Forgets, TCP(), "Flood"},
	{Twice, Worst(), "AtomicSums"},
	{Unfenced, Worst(), "Fences"},
	{Torn, Worst(), "AtomicSums"},
	{AnyKey, EFA(), "BadKey"},
	{AnyKey, EFADirect(), "BadKey"},
	{LosesWake, TCP(), "Arrivals"},
	{Spills, EFA(), "OneSided"},
	{Spills, EFADirect(), "OneSided"},
	{Silent, EFA(), "Overrun"},
	{Silent, EFADirect(), "Overrun"},
	{Undead, EFADirect(), "Closed"}, // efa has nothing under way to a peer that has not polled
	{ArmsUnread, Unread(TCP(), 1), "Unread"},
}

func (c *catch) name() string { return c.defect.String() + " " + c.model.Name }

const defectVariable = "SIM_TEST_DEFECT"

// A network that breaks a promise does not pass the suite. Each runs in a
// process of its own, because a test that fails fails its program.
func TestSuiteNotices(t *testing.T) {
	if name := os.Getenv(defectVariable); name != "" {
		for _, c := range caught {
			if c.name() == name {
				m := c.model
				m.Broken = c.defect
				fabrictest.RunEach(t, opener(m, 1), fabrictest.Limits{Timeout: time.Second})
			}
		}
		return
	}
	noticed := map[Defect]bool{Haunts: true} // by TestPlayedSuccessor
	for _, c := range caught {
		noticed[c.defect] = true
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestSuiteNotices$/^"+c.parts+"$", "-test.timeout=60s", "-test.failfast")
			cmd.Env = append(os.Environ(), defectVariable+"="+c.name())
			start := time.Now()
			out, err := cmd.CombinedOutput()
			if _, failed := err.(*exec.ExitError); !failed || !strings.Contains(string(out), "--- FAIL: TestSuiteNotices/"+c.parts) {
				t.Errorf("%s with %s passes %s: %v\n%s", c.model.Name, c.defect, c.parts, err, out)
			}
			t.Logf("noticed in %v", time.Since(start).Round(time.Millisecond))
		})
	}
	for d := NoDefect + 1; d < defects; d++ {
		if !noticed[d] {
			t.Errorf("nothing is known to notice %s", d)
		}
	}
}

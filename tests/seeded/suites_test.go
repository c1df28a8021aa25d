package seeded

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// suite is a test that breaks something itself, and fails when that goes unnoticed.
type suite struct {
	id   string
	file string // that has its defects
	by   test
	// each finds the names of the noticed defects in the test's output; "": the test prints none,
	// and the file has all names.
	each  string
	names []string
}

// suites are all of them. They count as defects of the list, too.
var suites = []suite{
	{
		id: "simulated-networks", file: "fabric/sim/sim_test.go", by: unit("./fabric/sim", "^TestSuiteNotices$"),
		each: `--- PASS: TestSuiteNotices/(\S+)`,
		names: []string{
			"any-key_efa", "any-key_efa-direct", "arms-unread_tcp", "early-data_efa", "early-data_efa-direct", "early-delivery_efa",
			"early-delivery_efa-direct", "early-source_tcp", "forgets_tcp", "loses-wake_tcp", "messages-lead_tcp-rough",
			"messages-pass_tcp-rough", "repeats_worst", "silent_efa", "silent_efa-direct", "spills_efa", "spills_efa-direct",
			"torn_worst", "twice_worst", "undead_efa-direct", "unfenced_worst", "writes-overtake_verbs-rough",
		},
	},
	{
		id: "successors", file: "fabric/sim/fail_test.go", by: unit("./fabric/sim", "^TestPlayedSuccessor$"),
		names: []string{"haunted.Broken = Haunts"},
	},
	{
		id: "random-programs", file: "runtime/proxy/sim_order_test.go", by: unit("./runtime/proxy", "^TestSimNotices$"),
		each: `--- PASS: TestSimNotices/(\S+)`,
		names: []string{
			"early_data", "early_data_on_efa-direct", "early_delivery", "early_source", "forgets", "messages_do_not_say_what_they_follow",
			"messages_do_not_say_what_they_follow_on_efa-direct", "messages_lead", "no_fence_on_efa", "no_fence_on_efa-direct",
			"no_fence_on_tcp", "no_fence_on_worst", "repeats", "spills", "spills_on_efa-direct", "twice", "unfenced", "writes_overtake",
		},
	},
	{
		id: "small-programs", file: "runtime/proxy/sim_explore_test.go", by: unit("./runtime/proxy", "^TestSimExploreNotices$"),
		each: `_test\.go:\d+: (.+), path \d+: `,
		names: []string{
			"efa", "efa", "efa, sockets", "efa-direct", "efa-direct", "efa-direct, sockets", "tcp", "tcp, sockets", "verbs", "worst",
		},
	},
	{
		id: "sleep", file: "runtime/proxy/sim_sleep_test.go", by: unit("./runtime/proxy", "^TestSimSleepNotices$"),
		each: `_test\.go:\d+: (\S+): \d+ seeds stand still`,
		names: []string{
			"efa,pollbytes=1", "efa-direct,pollbytes=1", "tcp,pollbytes=1", "tcp-rough,pollbytes=1", "worst,pollbytes=1",
		},
	},
	{
		id: "ring-protocol", file: "queue/model_test.go", by: unit("./queue", "^TestPlayedFlaws$"),
		each: `explore_test\.go:\d+: ([^:]+): `,
		names: []string{
			"caches too much", "constant lap", "first slot", "keeps poller", "lap of first", "no fence", "one lap", "publish first",
			"room by one", "room for first", "torn take",
		},
	},
	{
		id: "ring-threads", file: "tests/ring/ring_test.go", by: unit("./tests/ring", "^TestSeededBugs$"),
		names: []string{"slots before their source", "no fence", "slots given back too early", "an answer without order", "done too early"},
	},
	{
		id: "numbers-of-writes", file: "runtime/sequence/explore_test.go", by: unit("./runtime/sequence", "^TestFlaws$"),
		each: `explore_test\.go:\d+: ([^:]+): `,
		names: []string{
			"a fence is forgotten", "a flush does not follow what came last", "a signal does not say that it follows its bytes",
			"the target counts writes instead of numbering them", "the target does not wait",
			"the window has more writes than there are numbers",
		},
	},
	{
		id: "litmus", file: "tests/c/ordering.c", by: job("./tests/run", "^TestLostOrder$"),
		each: `--- PASS: TestLostOrder/(\S+)`,
		names: []string{
			"atomicity", "exclusion", "passed_on", "put_fence_add", "put_fence_p", "put_fence_put", "put_fence_signal", "put_quiet_get",
			"put_signal", "store_buffering",
		},
	},
	{
		id: "kernels", file: "tests/device/mutant_test.go", by: unit("./tests/device", "^TestMistakesAreNoticed$"),
		names: []string{
			`lose("a fence is lost"`, `lose("a slot is lost"`, `{"a fence comes last"`, `lose("the head is not added to"`,
			`swap("sys", "gpu", "fence", "membar", slot)`, `swap("relaxed", "release", slot)`, `swap("relaxed", "weak", slot)`,
			`swap("gpu", "cta", head)`, `swap("gpu", "sys", head)`, `swap("relaxed", "acq_rel", head)`,
			`lose("lost", "match.all", "shfl")`, `lose("lost", "atom", "bar"`, `swap("sys", "gpu", "ld")`,
			`swap("gpu", "cta", "ld", "st", "atom", "red")`, `swap("relaxed", "weak", "ld", "st")`,
			`swap("relaxed", "release", "st")`, `swap("acquire", "relaxed", "ld", "atom")`, `swap("release", "relaxed", "red", "st")`,
			`swap("relaxed", "acq_rel", "atom")`,
		},
	},
}

// TestSuites expects each suite to notice its defects in the list, and the list to have all defects
// of the suite.
func TestSuites(t *testing.T) {
	for _, s := range suites {
		if fault := s.form(root(t)); fault != "" {
			t.Errorf("%s: %s", s.id, fault)
		}
	}
	asked(t)
	build := built(t)
	for _, s := range suites {
		t.Run(s.id, func(t *testing.T) {
			o := s.by.try(root(t), build, testLimit)
			if o.verdict == skipped {
				t.Skipf("this machine lacks what the test needs:\n%s", tail(o.out))
			}
			t.Logf("the test %s in %.0f s", o.verdict, o.took.Seconds())
			if o.verdict != passed {
				t.Fatalf("the test %s:\n%s", o.verdict, tail(o.out))
			}
			if s.each == "" {
				return
			}
			var noticed []string
			for _, m := range regexp.MustCompile(s.each).FindAllStringSubmatch(o.out, -1) {
				noticed = append(noticed, m[1])
			}
			slices.Sort(noticed)
			if !slices.Equal(noticed, s.names) {
				t.Errorf("it noticed\n%s\nand the list has\n%s", strings.Join(noticed, "\n"), strings.Join(s.names, "\n"))
			}
		})
	}
}

// form returns the error in a suite; "": none.
func (s *suite) form(root string) string {
	text, err := os.ReadFile(filepath.Join(root, s.file))
	if err != nil {
		return err.Error()
	}
	if s.each == "" {
		for _, name := range s.names {
			if !strings.Contains(string(text), name) {
				return s.file + " does not have " + name
			}
		}
	} else if !slices.IsSorted(s.names) {
		return "its names are not sorted"
	}
	return s.by.form(root)
}

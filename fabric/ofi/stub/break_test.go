package stub

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const (
	old    = "version=1.22"
	direct = "efa-direct"
	rdm    = "efa"
)

// broken is a rule that a program breaks: the program (testdata/breaks.c) sees the answer of the
// table, and another one where the rule is switched off. "stub: " before an answer: the process
// ends with that line.
type broken struct {
	rule, what, settings, fabric string
	env                          string // words
	answer, without              string
}

// breaks are the rules that need no library of CUDA.
var breaks = slices.Concat(offerBreaks, regionBreaks, queueBreaks, postBreaks, dataBreaks, endBreaks, peerBreaks)

// holds are facts beside the rows of the table, and facts of versions and fabrics without a rule.
var holds = []struct{ what, settings, fabric, env, answer string }{
	{"fabrics", "nics=2", "", "", "efa-direct efa-direct efa efa"},
	{"first", old, "", "", "efa"},
	{"fork", "fork=old", direct, "FI_EFA_FORK_SAFE=1", "forked"},
	{"open", "", direct, "FI_EFA_FORK_SAFE=1 FI_EFA_USE_HUGE_PAGE=1", "opened"},
	{"hmem", "p2p=no", "", "", "fine"},
	{"option-in-order", "", direct, "", "EOPNOTSUPP"},
	{"option-in-order", "", rdm, "", "EOPNOTSUPP"},
	{"option-in-order", "inorder=1", direct, "", "fine"},
	{"option-in-order", "inorder=1", rdm, "", "fine"},
	{"option-in-order", "provider=cxi inorder=1", "", "", "ENOPROTOOPT"},
	{"hmem-old", "p2p=no", rdm, "FI_EFA_USE_DEVICE_RDMA=1", "ENODATA"},
	{"hmem-old", "", rdm, "FI_EFA_USE_DEVICE_RDMA=1", "fine"},
	{"enabled-unbound", "provider=cxi", "", "", "EINVAL"},
	{"receives-late", "", direct, "", "half"},
	{"receives-late", "provider=verbs", "", "", "half"},
	{"receives-never", "", direct, "", "none"},
	{"receives-never", "provider=verbs", "", "", "none"},
	{"cq-large", "max_cq=65536", direct, "", "fine"},
	{"cq-large", "max_cq=16384", direct, "", "EINVAL"},
	{"wait-fd", "version=2.5", direct, "", "fine"},
	{"wait-mutex", "", direct, "", "ENOSYS"},
	{"wait", "", direct, "", "until trywait"},
	{"read-nothing", "version=2.1", direct, "", "fine"},
	{"send-short-bare", "version=2.1", direct, "", "fine"},
	{"nothing-bare", "version=2.1", direct, "", "stub: R5c: write without descriptor"},
	{"no-receive", "", rdm, "", "sent"},
	{"key-placed", "provider=cxi", "", "", "fine"},
	{"key-uncached", "provider=cxi", "", "", "fine"},
	{"fence", "provider=cxi", "", "", "fine"},
	{"fence", "", direct, "", "EINVAL"},
	{"data", "provider=verbs", "", "", "fine"},
	{"data-unlike", "unsolicited=0", rdm, "", "without polling"},
	{"data-failed", "", rdm, "", "fine"},
	{"data-failed", "data_fails_at=2", direct, "", "fine"},
	{"closed", "", direct, "", "nothing"},
	{"completions", "provider=verbs", "", "", "in order"},
	{"messages", "provider=cxi", "", "", "in order"},
	{"unpolled", "", rdm, "", "nothing"},
	{"unpolled-old", "part=efa2", rdm, "", "completed"},
	{"unpolled-old", "", rdm, "FI_EFA_USE_DEVICE_RDMA=1", "completed"},
	{"old", "", rdm, "", "EINVAL"},
	{"unpolled", "host=one", rdm, "FI_EFA_ENABLE_SHM_TRANSFER=0", "nothing"},
	{"inject-local", "host=one", rdm, "", "EAGAIN"},
	{"gpu-post", "", rdm, "", "posted"},
}

// run runs a program of the test, and returns its output.
func run(t *testing.T, program, what, fabric, settings string, env ...string) string {
	t.Helper()
	cmd := exec.Command(program, what)
	if fabric != "" {
		cmd.Args = append(cmd.Args, fabric)
	}
	cmd.Env = append(append(os.Environ(), "FAKE_NIC="+settings), env...)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.HasPrefix(string(out), "stub: ") {
		t.Errorf("%s: %v\n%s", what, err, out)
	}
	return strings.TrimSpace(string(out))
}

// without returns settings that switch one more rule off.
func without(settings, rule string) string {
	if before, after, ok := strings.Cut(settings, "without="); ok {
		return before + "without=" + rule + "," + after
	}
	return settings + " without=" + rule
}

// answers reports whether a program's output is the wanted one.
func answers(got, want string) bool {
	return got == want || strings.HasPrefix(want, "stub: ") && strings.HasPrefix(got, want)
}

func (b broken) test(t *testing.T, run func(settings string) string) {
	t.Helper()
	if answers(b.answer, b.without) || answers(b.without, b.answer) {
		t.Errorf("the answer %q is no other without the rule", b.answer)
	}
	if got := run(b.settings); !answers(got, b.answer) {
		t.Errorf("%q, want %q", got, b.answer)
	}
	if got := run(without(b.settings, b.rule)); !answers(got, b.without) {
		t.Errorf("without the rule: %q, want %q", got, b.without)
	}
}

func (b broken) name() string {
	return strings.Join(strings.Fields(b.rule+" "+b.what+" "+b.settings+" "+b.fabric), " ")
}

func TestRules(t *testing.T) {
	program := compiled(t, "breaks", Build(t))
	for _, b := range breaks {
		t.Run(b.name(), func(t *testing.T) {
			t.Parallel() // much of the time is sleep
			b.test(t, func(settings string) string {
				return run(t, program, b.what, b.fabric, settings, strings.Fields(b.env)...)
			})
		})
	}
	for _, h := range holds {
		t.Run(strings.Join(strings.Fields(h.what+" "+h.settings+" "+h.fabric), " "), func(t *testing.T) {
			t.Parallel()
			if got := run(t, program, h.what, h.fabric, h.settings, strings.Fields(h.env)...); got != h.answer {
				t.Errorf("%q, want %q", got, h.answer)
			}
		})
	}
}

// Each rule has a test that breaks it.
func TestEveryRule(t *testing.T) {
	covered := map[string]bool{}
	for _, b := range breaks {
		covered[b.rule] = true
	}
	for _, b := range cudaBreaks {
		covered[b.rule] = true
	}
	for _, id := range uncovered(rules(t), "R", covered) {
		t.Errorf("rules.tsv has %s, and no program breaks it (give it a row in breaks)", id)
	}
}

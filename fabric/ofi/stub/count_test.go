package stub

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var counted = regexp.MustCompile(`^ep \d+ of \d+: cq (\d+) of (\d+), lost (\d+), send queue (\d+) of (\d+)$`)

// The log has the most entries of each queue, no more than its size, and the number of lost ones.
func TestCounts(t *testing.T) {
	library := Build(t)
	for _, c := range []struct {
		program []string
		lost    bool
	}{
		{[]string{compiled(t, "pair", library)}, false},
		{[]string{compiled(t, "breaks", library), "cq-full", direct}, true},
	} {
		log := filepath.Join(t.TempDir(), "log")
		cmd := exec.Command(c.program[0], c.program[1:]...)
		cmd.Env = append(os.Environ(), "FAKE_NIC=log="+log)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		held, lost := 0, 0
		for line := range strings.Lines(string(text)) {
			m := counted.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				t.Fatalf("the log has %q", line)
			}
			var n [5]int
			for i := range n {
				if n[i], err = strconv.Atoi(m[i+1]); err != nil {
					t.Fatal(err)
				}
			}
			held, lost = max(held, n[0]), lost+n[2]
			if n[0] > n[1] || n[3] > n[4] {
				t.Errorf("a queue held more than it was granted: %s", line)
			}
		}
		if held == 0 || (lost > 0) != c.lost {
			t.Errorf("%q: %d entries at once, %d lost (some: %v)\n%s", c.program[1:], held, lost, c.lost, text)
		}
	}
}

// The entries of a queue of 64: rounded to a power of two, and on efa no fewer than both queues
// of an endpoint.
func TestQueueSizes(t *testing.T) {
	program := compiled(t, "closes", Build(t))
	for _, c := range []struct{ settings, sizes string }{
		{"version=1.22", "16384"},
		{"version=1.22 without=R3c", "12288"},
		{"version=1.22 without=R3d", "64"},
		{"version=1.22 max_cq=4096", "4096"},
		{"version=2.1", "64 16384"},
		{"provider=cxi", "64 64 64 64"}, // two infos
	} {
		log := filepath.Join(t.TempDir(), "log")
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), "FAKE_NIC="+c.settings+" log="+log)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		var sizes []string
		for line := range strings.Lines(string(text)) {
			sizes = append(sizes, counted.FindStringSubmatch(strings.TrimSpace(line))[2])
		}
		if got := strings.Join(sizes, " "); got != c.sizes {
			t.Errorf("%s: queues of %s, want %s", c.settings, got, c.sizes)
		}
	}
}

// Chance follows from the seed.
func TestSeed(t *testing.T) {
	program := compiled(t, "breaks", Build(t))
	refusals := func(seed string) string {
		cmd := exec.Command(program, "refusals", direct)
		cmd.Env = append(os.Environ(), "FAKE_NIC=again=3 seed="+seed)
		out, err := cmd.CombinedOutput()
		if err != nil || len(out) != 65 {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if a, b := refusals("1"), refusals("1"); a != b {
		t.Errorf("one seed, two stories:\n%s%s", a, b)
	}
	if a, b := refusals("1"), refusals("2"); a == b {
		t.Errorf("two seeds, one story: %s", a)
	}
}

// Options of CUDA and shm are in the log, with their results.
func TestOptionsInLog(t *testing.T) {
	program := compiled(t, "breaks", Build(t))
	for _, c := range []struct{ settings, want string }{
		{"", `(?m)^option 10 of \d+, false, (in time|too late): 0$`},
		{"p2p=no", `(?m)^option 10 of \d+, false, (in time|too late): -95$`},
	} {
		log := filepath.Join(t.TempDir(), "log")
		cmd := exec.Command(program, "option-cuda", rdm)
		cmd.Env = append(os.Environ(), "FAKE_NIC=log="+log+" "+c.settings)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(log)
		if err != nil || !regexp.MustCompile(c.want).Match(text) {
			t.Errorf("%q: %v, the log has %q, want %s", c.settings, err, text, c.want)
		}
	}
}

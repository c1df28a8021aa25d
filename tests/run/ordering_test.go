package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"libshmem/tests/need"
)

// litmusRow finds the rows of the table in ordering.c.
var litmusRow = regexp.MustCompile(`(?m)^    \{"(\w+)", \w+, BATCH\},$`)

// TestLostOrder plays each litmus without what orders it, on a network that does as it
// likes: where that goes unnoticed, the litmus shows nothing either.
func TestLostOrder(t *testing.T) {
	build := need.Build(t)
	source, err := os.ReadFile("../c/ordering.c")
	if err != nil {
		t.Fatal(err)
	}
	names := litmusRow.FindAllStringSubmatch(string(source), -1)
	if len(names) < 10 {
		t.Fatalf("ordering.c has %d litmus tests, fewer than 10", len(names))
	}
	for _, name := range names {
		t.Run(name[1], func(t *testing.T) {
			cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), "-n", "3", "-x", "SHMEM_PROVIDER=tcp", "--timeout", "60",
				"--chaos", "3,delay=1ms", filepath.Join(build, "tests", "ordering"), "2000", name[1])
			out, err := cmd.CombinedOutput()
			noticed := regexp.MustCompile(`(?m)^` + name[1] + `: PE \d: order was lost [1-9]\d* times$`).Match(out)
			if code := cmd.ProcessState.ExitCode(); code != 1 || !noticed {
				t.Errorf("status %d, error %v:\n%s", code, err, out)
			}
		})
	}
}

// TestWholeOrdering has 10^7 rounds of each litmus, 10^6 by a network that delays each.
func TestWholeOrdering(t *testing.T) {
	if !*runWhole {
		t.Skip("takes a quarter of an hour (-whole)")
	}
	build := need.Build(t)
	for _, c := range configurations {
		rounds, ok := map[string]string{"node-2": "10000000", "hosts-2": "10000000", "chaos-3": "1000000"}[c.name]
		if !ok {
			continue
		}
		p := program{args: []string{rounds}, limit: 30 * time.Minute}
		t.Run(c.name, func(t *testing.T) { runProgram(t, build, "ordering", p, c) })
	}
}

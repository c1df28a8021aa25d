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

// TestLostOrder runs each litmus without the call that orders it, on a network with chaos: if that
// passes, the litmus proves nothing.
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
			for _, chaos := range []string{"3,delay=1ms", "4,delay=5ms", "5,delay=20ms", "6,delay=20ms", "7,delay=20ms", "8,delay=20ms"} {
				if losesOrder(t, build, name[1], chaos) {
					return
				}
			}
			t.Error("no network of six lost the order")
		})
	}
}

// losesOrder runs the mutant of a litmus. On a busy machine the PEs may all be slower than the
// network, and a longer delay shows what a short one does not.
func losesOrder(t *testing.T, build, name, chaos string) bool {
	cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), "-n", "3", "-x", "SHMEM_PROVIDER=tcp", "--timeout", "180",
		"--chaos", chaos, filepath.Join(build, "tests", "ordering"), "2000", name)
	out, err := cmd.CombinedOutput()
	noticed := regexp.MustCompile(`(?m)^` + name + `: PE \d: order was lost [1-9]\d* times$`).Match(out)
	code := cmd.ProcessState.ExitCode()
	if noticed != (code == 1) || !noticed && code != 0 {
		t.Fatalf("chaos %s: status %d, error %v:\n%s", chaos, code, err, out)
	}
	return noticed
}

// TestWholeOrdering runs 10^7 rounds of each litmus, 10^6 over a network that delays each.
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

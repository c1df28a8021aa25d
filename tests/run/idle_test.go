package run

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"libshmem/tests/need"
)

// TestIdle: a PE that sleeps in its own code, and one that is blocked in a barrier, take
// less than 1 % of a processor over TCP, also behind 64 MB of puts. What is measured is
// the processor's time and not how long something takes, but other work on the machine
// adds to it, too: the best of a few counts.
func TestIdle(t *testing.T) {
	const most, tries = 1.0, 5
	// Over these a thread sleeps until the provider's descriptor says that something came.
	// With -whole the figures of all others are printed.
	providers := []string{"", "tcp;ofi_rxm"}
	here := machine{build: need.Build(t)}
	program := filepath.Join(t.TempDir(), "idle")
	cc := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-O2", "-I../../include", "-o", program, "../../bench/idle.c",
		"-L"+filepath.Join(here.build, "lib"), "-lshmem")
	if out, err := cc.CombinedOutput(); err != nil {
		t.Fatalf("compile idle.c: %v\n%s", err, out)
	}
	answer := here.providers(t)
	limited := len(providers)
	if *runWhole {
		for _, name := range answer {
			if !slices.Contains(providers, name) {
				providers = append(providers, name)
			}
		}
	}
	for i, provider := range providers {
		if provider != "" && !slices.Contains(answer, provider) {
			t.Logf("%s does not answer here", provider)
			continue
		}
		for _, puts := range []string{"0", "1000"} {
			asleep, barrier := 100.0, 100.0
			for try := 0; try < tries && (asleep >= most || barrier >= most); try++ {
				a, b := here.idle(t, program, provider, puts)
				t.Logf("provider %q behind %s puts: %.2f %% asleep, %.2f %% in a barrier", provider, puts, a, b)
				if asleep, barrier = min(asleep, a), min(barrier, b); i >= limited {
					break
				}
			}
			if i < limited && (asleep >= most || barrier >= most) {
				t.Errorf("provider %q behind %s puts: %.2f %% of a processor asleep, %.2f %% in a barrier, at best of %d runs",
					provider, puts, asleep, barrier, tries)
			}
		}
	}
}

var idleFigure = regexp.MustCompile(`(?m)^idle_(asleep|barrier)\t0\t(\S+)\t`)

// idle runs bench/idle.c and returns percents of a processor.
func (m *machine) idle(t *testing.T, program, provider, puts string) (asleep, barrier float64) {
	t.Helper()
	argv := m.command("bin/shmemrun", "-n", "2", "--hosts", "2", "--timeout", "60", program, puts)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = withoutChoice()
	if provider != "" {
		cmd.Env = append(cmd.Env, "SHMEM_PROVIDER="+provider)
	}
	out, err := cmd.CombinedOutput()
	figures := idleFigure.FindAllSubmatch(out, -1)
	if err != nil || len(figures) != 2 {
		t.Fatalf("provider %q: %v\n%s", provider, err, out)
	}
	for i, at := range []*float64{&asleep, &barrier} {
		if *at, err = strconv.ParseFloat(string(figures[i][2]), 64); err != nil {
			t.Fatal(err)
		}
	}
	return asleep, barrier
}

package run

import (
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"libshmem/fabric/ofi/stub"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// TestIdle: a PE that sleeps in its own code, and one that is blocked in a barrier, take less than
// 1 % of a processor over TCP, also behind 64 MB of puts, and over NICs of the stub whose
// descriptor stays readable. Without a descriptor a PE polls every 0.5 ms. The test measures
// processor time and not a duration, but other work on the machine increases that, too, so the best
// of a few counts is used.
func TestIdle(t *testing.T) {
	const most, byTime, tries = 1.0, 50.0, 5
	// On these networks a thread sleeps until the provider's descriptor reports an event. With
	// -whole the figures of all other networks are printed.
	networks := []idling{{"default", nil, most}, {"tcp;ofi_rxm", []string{"SHMEM_PROVIDER=tcp;ofi_rxm"}, most}}
	here := machine{build: need.Build(t)}
	program := cc.Program(t, here.build, "../../bench/idle.c")
	answer := here.providers(t)
	if !slices.Contains(answer, "tcp;ofi_rxm") {
		t.Log("tcp;ofi_rxm does not answer here")
		networks = networks[:1]
	}
	for _, n := range stub.Networks(*runWhole) {
		limit := most
		if n.Blind {
			limit = byTime
		}
		networks = append(networks, idling{n.Name, n.Env(stub.Build(t)), limit})
	}
	if *runWhole {
		for _, name := range answer {
			if name != "tcp;ofi_rxm" {
				networks = append(networks, idling{name, []string{"SHMEM_PROVIDER=" + name}, 0})
			}
		}
	}
	for _, n := range networks {
		for _, puts := range []string{"0", "1000"} {
			asleep, barrier := 100.0, 100.0
			for try := 0; try < tries && (asleep >= n.most || barrier >= n.most); try++ {
				a, b := here.idle(t, program, n, puts)
				t.Logf("%s behind %s puts: %.2f %% asleep, %.2f %% in a barrier", n.name, puts, a, b)
				if asleep, barrier = min(asleep, a), min(barrier, b); n.most == 0 {
					break
				}
			}
			if n.most > 0 && (asleep >= n.most || barrier >= n.most) {
				t.Errorf("%s behind %s puts: %.2f %% of a processor asleep, %.2f %% in a barrier, want less than %.0f %%, at best of %d runs",
					n.name, puts, asleep, barrier, n.most, tries)
			}
		}
	}
}

// idling is a network, the settings that select it, and the percents of a processor that an idle PE
// may use; 0: any.
type idling struct {
	name string
	env  []string
	most float64
}

var idleFigure = regexp.MustCompile(`(?m)^idle_(asleep|barrier)\t0\t(\S+)\t`)

// idle runs bench/idle.c and returns percents of a processor.
func (m *machine) idle(t *testing.T, program string, n idling, puts string) (asleep, barrier float64) {
	t.Helper()
	argv := m.command("bin/shmemrun", "-n", "2", "--hosts", "2", "--timeout", "60", program, puts)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(withoutChoice(), n.env...)
	out, err := cmd.CombinedOutput()
	figures := idleFigure.FindAllSubmatch(out, -1)
	if err != nil || len(figures) != 2 {
		t.Fatalf("%s: %v\n%s", n.name, err, out)
	}
	for i, at := range []*float64{&asleep, &barrier} {
		if *at, err = strconv.ParseFloat(string(figures[i][2]), 64); err != nil {
			t.Fatal(err)
		}
	}
	return asleep, barrier
}

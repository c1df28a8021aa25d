package figure

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"libshmem/cmd/internal/facts"
)

// A Finding is a row of the table with the figure that was measured.
type Finding struct {
	Row    Row
	Figure *Figure
	Good   bool
	Better bool // the figure is better than expected
	Text   string
	Causes []string // possible reasons why the figure is not as expected
}

// Expect compares figures with a table. Rows whose figure was not measured are left out. With
// several runs it uses the median of their medians.
func Expect(s *Set, t *Table) (all []Finding, missing int) {
	for _, row := range t.Rows {
		var figures []*Figure
		for _, f := range s.Figures { // those without a size, such as of barriers, have size 0
			if f.System == Ours && f.Scope == row.Scope && f.Test == row.Test && f.Measure == row.Measure && f.Path == row.Path && (f.Size == row.Size || f.Size == 0) {
				figures = append(figures, f)
			}
		}
		if len(figures) == 0 {
			missing++
			continue
		}
		all = append(all, t.compareRow(row, figures, s))
	}
	return all, missing
}

// compareRow compares a row of the table with its figures, one for each run, and looks for causes
// if they are worse than expected.
func (t *Table) compareRow(row Row, figures []*Figure, s *Set) Finding {
	f := figures[0]
	var medians []float64
	for _, one := range figures {
		medians = append(medians, one.Median)
	}
	median, low, high := Median(medians), row.Low, row.High
	if row.Share {
		gbs := float64(t.Mbps) / 8000 // GB/s
		low, high = low*gbs/100, high*gbs/100
	}
	expected := ""
	switch {
	case high == 0:
		expected = "at least " + Number(low)
	case low == 0:
		expected = "at most " + Number(high)
	default:
		expected = Number(low) + " to " + Number(high)
	}
	out := Finding{Row: row, Figure: f, Good: median >= low && (high == 0 || median <= high)}
	out.Text = fmt.Sprintf("%s, %s: %s %s, expected %s", row, row.Path, Number(median), f.Unit, expected)
	out.Better = !out.Good && f.LowerIsBetter() == (median < low)
	if !out.Good && !out.Better {
		out.Causes = t.causes(f, s)
	}
	return out
}

// causes returns facts of the hosts that may have made a figure worse: those of the network, if it
// carries the bytes, and those of the processors.
func (t *Table) causes(f *Figure, s *Set) (out []string) {
	add := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, run := range s.Runs {
		if run.ID != f.Run {
			continue
		}
		for i, h := range run.Hosts {
			if i > 0 && run.Path == "node" {
				break // all PEs are on one host
			}
			if f.Path == "network" {
				t.addNetworkCauses(run, &h, add)
			}
			addProcessorCauses(run, &h, add)
		}
	}
	return out
}

// addNetworkCauses passes to add what may be wrong with the NICs that carried the bytes of a run at
// host h: another NIC than expected, a limited or slow link, or a faster NIC that was not used.
func (t *Table) addNetworkCauses(run *Run, h *facts.Host, add func(string, ...any)) {
	for _, name := range run.NICs {
		if t.NIC != "" && name != t.NIC && !strings.HasPrefix(name, t.NIC+"-") {
			add("a wrong NIC: the job used %s, and the table is for %s (SHMEM_NIC_LIST=%s)", name, t.NIC, t.NIC)
		}
		used, ok := h.NIC(name)
		if !ok {
			continue
		}
		if used.Limit > 0 {
			add("a throttled link: %s lets %s of %s through on the host of PE %d (tc qdisc show dev %s)", used.By, facts.Rate(used.Limit), used.Name, h.PE, used.Name)
		}
		if t.Mbps > 0 && used.Mbps > 0 && used.Mbps < t.Mbps {
			add("a slow link: %s runs at %s on the host of PE %d, and should at %s (check its cable and switch port)", used.Name, facts.Rate(used.Mbps), h.PE, facts.Rate(t.Mbps))
		}
		for _, other := range h.NICs {
			if other.Up && used.Mbps > 0 && other.Mbps > used.Mbps {
				add("a wrong NIC: the job used %s with %s, and %s with %s was up on the host of PE %d (SHMEM_NIC_LIST=%s)",
					used.Name, facts.Rate(used.Mbps), other.Name, facts.Rate(other.Mbps), h.PE, other.Name)
			}
		}
	}
}

// addProcessorCauses passes to add what may be wrong with the processors of host h: their governor,
// too few of them, or other work.
func addProcessorCauses(run *Run, h *facts.Host, add func(string, ...any)) {
	switch h.Governor {
	case "powersave", "conservative", "ondemand", "userspace":
		// With the drivers of Intel and AMD, powersave scales the frequency with the load, but an
		// idle processor is slow to rise.
		text := ""
		if h.MHz > 0 && h.MaxMHz > h.MHz {
			text = fmt.Sprintf(", at %d of %d MHz", h.MHz, h.MaxMHz)
		}
		add("a sleeping governor: %s on the host of PE %d%s (cpupower frequency-set -g performance)", h.Governor, h.PE, text)
	}
	onHost := run.PEs
	if run.Path == "network" {
		onHost = 1 // at least: a run does not say which PEs share a host
	}
	// The number of processors of the machine is compared, because a PE that is bound uses only a
	// part of them.
	if h.Online > 0 && onHost > h.Online {
		add("too few processors: %d PEs share %d on the host of PE %d (start fewer)", onHost, h.Online, h.PE)
	}
	if h.Online > 0 && h.Load > float64(h.Online)/2 {
		add("a busy machine: a load of %.1f on %d processors on the host of PE %d before the run (measure when nothing else runs)", h.Load, h.Online, h.PE)
	}
}

// PrintExpectation writes a line for each row and a final sentence. It returns how many figures are
// not as expected.
func PrintExpectation(w io.Writer, t *Table, all []Finding, missing int) (bad int) {
	var reasons []string // for each group of figures that are not as expected
	for _, f := range all {
		verdict := "ok "
		if !f.Good {
			verdict, bad = "no ", bad+1
		}
		fmt.Fprintln(w, verdict, f.Text)
	}
	// Figures with the same causes are listed together.
	named := map[string]bool{}
	for _, f := range all {
		why := strings.Join(f.Causes, "; ")
		group := why
		if f.Better {
			group = "better"
		}
		if f.Good || named[group] {
			continue
		}
		named[group] = true
		var names []string
		for _, g := range all {
			if !g.Good && g.Better == f.Better && strings.Join(g.Causes, "; ") == why {
				names = append(names, g.Row.String())
			}
		}
		switch {
		case why == "" && f.Better:
			why = "better than the table, which may be for another machine"
		case why == "":
			why = "no cause is known: nothing about the machine stands out"
		default:
			why = "maybe because of " + why
		}
		reasons = append(reasons, strings.Join(names, ", ")+": "+why)
	}
	unmeasured := ""
	if missing > 0 {
		unmeasured = fmt.Sprintf(" %d rows were not measured.", missing)
	}
	if bad == 0 {
		fmt.Fprintf(w, "all %d figures are as expected of %s.%s\n", len(all), t.Name, unmeasured)
		return 0
	}
	fmt.Fprintf(w, "%d of %d figures are as expected of %s.%s Not so: %s.\n", len(all)-bad, len(all), t.Name, unmeasured, strings.Join(reasons, ". "))
	return bad
}

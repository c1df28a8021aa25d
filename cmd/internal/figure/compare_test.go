package figure

import (
	"fmt"
	"strings"
	"testing"
)

// made returns a figure with eleven batches around a value, 1 % apart.
func made(run, test, measure, unit string, value float64) *Figure {
	f := &Figure{Kind: "figure", Run: run, System: Ours, Test: test, Measure: measure, Scope: "host", Size: 8, PEs: 2, Path: "node", Unit: unit}
	for i := -5; i <= 5; i++ {
		f.Batches = append(f.Batches, value*(1+float64(i)/1000))
	}
	f.setMedian()
	return f
}

func verdicts(t *testing.T, a, b *Set, tolerance float64) string {
	t.Helper()
	all, _, _, err := Compare(a, b, tolerance)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range all {
		out = append(out, fmt.Sprintf("%s %s %+.0f%%", c.Key.Test, c.Verdict, 100*c.Change))
	}
	return strings.Join(out, ", ")
}

func TestCompare(t *testing.T) {
	a := &Set{Figures: []*Figure{
		made("1", "slower", "latency", "us", 1), made("1", "faster", "latency", "us", 1), made("1", "near", "latency", "us", 1),
		made("1", "wider", "bandwidth", "GB/s", 10), made("1", "narrower", "bandwidth", "GB/s", 10), made("1", "alone", "rate", "Mop/s", 1),
	}}
	b := &Set{Figures: []*Figure{
		made("2", "slower", "latency", "us", 1.1), made("2", "faster", "latency", "us", 0.9), made("2", "near", "latency", "us", 1.02),
		made("2", "wider", "bandwidth", "GB/s", 11), made("2", "narrower", "bandwidth", "GB/s", 9), made("2", "other", "rate", "Mop/s", 1),
	}}
	const want = "slower worse +10%, faster better -10%, near same +2%, wider better +10%, narrower worse -10%"
	if got := verdicts(t, a, b, 0.03); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := verdicts(t, a, b, 0.2); strings.Contains(got, "worse") || strings.Contains(got, "better") {
		t.Errorf("within the tolerance: %s", got)
	}
	if got := verdicts(t, a, a, 0); strings.Contains(got, "worse") {
		t.Errorf("with itself: %s", got)
	}
	all, onlyA, onlyB, _ := Compare(a, b, 0.03)
	var out strings.Builder
	if worse := PrintComparison(&out, a, b, all, onlyA, onlyB, 0.03); worse != 2 {
		t.Errorf("%d are worse", worse)
	}
	for _, line := range []string{"# 1 figures are only in A, 1 only in B\n", "confidence, of the batches of 1 run(s): ", "\n2 of 5 figures are worse by more than 3 %, 2 are better, 1 are the same\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is missing in\n%s", line, out.String())
		}
	}
	if _, _, _, err := Compare(a, &Set{Figures: b.Figures[5:]}, 0.03); err == nil || !strings.Contains(err.Error(), "no figure in common") {
		t.Errorf("nothing in common: %v", err)
	}
}

// TestCompareRuns: from six runs on, the runs count and not their batches. Batches of one run are
// near each other; the runs of either side here differ by more than the sides do.
func TestCompareRuns(t *testing.T) {
	var a, b Set
	for i := range 6 {
		run, value := fmt.Sprint(i), 1+0.1*float64(i%3)
		a.Figures = append(a.Figures, made(run, "put", "latency", "us", value))
		b.Figures = append(b.Figures, made(run, "put", "latency", "us", value+0.05))
	}
	if got, want := verdicts(t, &a, &b, 0.03), "put same +5%"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, f := range b.Figures {
		for i := range f.Batches {
			f.Batches[i] += 0.3
		}
		f.setMedian()
	}
	if got, want := verdicts(t, &a, &b, 0.03), "put worse +32%"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestCompareNICs: a figure over one NIC is not compared with one over two.
func TestCompareNICs(t *testing.T) {
	over := func(nics int, value float64) *Figure {
		f := made("1", "put", "bandwidth", "GB/s", value)
		f.Path, f.NICs = "network", nics
		return f
	}
	one, two := over(1, 10), over(2, 20)
	if got, want := verdicts(t, &Set{Figures: []*Figure{one, two}}, &Set{Figures: []*Figure{two, one}}, 0.03), "put same +0%, put same +0%"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, _, _, err := Compare(&Set{Figures: []*Figure{one}}, &Set{Figures: []*Figure{two}}, 0.03); err == nil {
		t.Error("one NIC and two were compared")
	}
	if got, want := two.Key().String(), "put bandwidth of 8, 2 PEs, network of 2 NICs"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

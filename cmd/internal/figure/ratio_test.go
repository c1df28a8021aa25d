package figure

import (
	"strings"
	"testing"
)

// TestRatios: figures of the same operation, size and scope are put beside each other, by their medians
// over the starts; what only one has is left out.
func TestRatios(t *testing.T) {
	one := func(system, scope string, size int64, values ...float64) *Figure {
		f := &Figure{System: system, Test: "put", Measure: "latency", Scope: scope, Size: size, PEs: 2, Path: "node", Unit: "us", Batches: values}
		f.setMedian()
		return f
	}
	s := &Set{Figures: []*Figure{
		one(Ours, "host", 8, 1), one(Ours, "host", 64, 5), one(Ours, "block", 8, 9),
		one("oshmem", "host", 8, 2), one("oshmem", "host", 4096, 7), one("nvshmem", "block", 8, 6),
		one(Ours, "host", 8, 3), one("oshmem", "host", 8, 8), one(Ours, "host", 8, 2), one("oshmem", "host", 8, 4),
	}}
	var out strings.Builder
	PrintRatios(&out, s)
	want := []string{
		"# libshmem and oshmem: medians of all starts, and their ratio",
		"figure size unit libshmem oshmem ratio",
		"put latency 8 us 2.00 4.00 0.50",
		"# libshmem and nvshmem: medians of all starts, and their ratio",
		"figure size unit libshmem nvshmem ratio",
		"put latency by block 8 us 9.00 6.00 1.50",
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if words := strings.Fields(line); len(words) > 0 {
			got = append(got, strings.Join(words, " "))
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("printed is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	out.Reset()
	PrintRatios(&out, &Set{Figures: []*Figure{one(Ours, "host", 8, 1)}})
	if out.Len() > 0 {
		t.Errorf("printed is %q of libshmem alone", out.String())
	}
}

package figure

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// fewestRuns is the smallest number of runs with which a comparison uses the median of each run as
// a value. With fewer runs it uses the batches (groups of timed iterations) of all runs. Batches of
// one run share the placement of its processes, and differ less from each other than from those of
// another run.
const fewestRuns = 6

// A Verdict says whether a figure of B is the same as that of A, worse or better.
type Verdict string

// The verdicts.
const (
	Same   Verdict = "same"
	Worse  Verdict = "worse"
	Better Verdict = "better"
)

// A Sample is the median, with its interval, of the figures of a set that have one key.
type Sample struct {
	Median, Low, High, Confidence float64
	Runs                          int
}

// A Comparison compares the figures of a key that both sets have.
type Comparison struct {
	Key     Key
	Unit    string
	A, B    Sample
	Change  float64 // B's median divided by A's, minus 1
	Verdict Verdict
}

// Compare compares the keys that both sets have, in the order of A. A figure is worse when the
// median is worse by more than the tolerance, a share, and the intervals of both medians have
// nothing in common.
func Compare(a, b *Set, tolerance float64) (all []Comparison, onlyA, onlyB int, err error) {
	ofA, ofB := byKey(a), byKey(b)
	for _, key := range keys(a) {
		if ofB[key] == nil {
			onlyA++
			continue
		}
		c := Comparison{Key: key, Unit: ofA[key][0].Unit, A: medianOf(ofA[key]), B: medianOf(ofB[key]), Verdict: Same}
		c.Change = c.B.Median/c.A.Median - 1
		apart := c.A.High < c.B.Low || c.B.High < c.A.Low
		if larger := c.Change > tolerance; apart && (larger || c.Change < -tolerance) {
			c.Verdict = Better
			if larger == ofA[key][0].LowerIsBetter() {
				c.Verdict = Worse
			}
		}
		all = append(all, c)
	}
	onlyB = len(ofB) - len(all)
	if len(all) == 0 {
		err = errors.New("compare figures: the files have no figure in common (measure the same tests, sizes, PEs, path and number of NICs)")
	}
	return all, onlyA, onlyB, err
}

// byKey returns the figures of a set by their keys: those of several runs have the same key.
func byKey(s *Set) map[Key][]*Figure {
	out := map[Key][]*Figure{}
	for _, f := range s.Figures {
		out[f.Key()] = append(out[f.Key()], f)
	}
	return out
}

// keys returns the keys of a set, each once, in the order in which their figures were measured.
func keys(s *Set) (out []Key) {
	for _, f := range s.Figures {
		if k := f.Key(); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// medianOf returns the median of figures with one key: of the medians of the runs if there are
// enough runs, else of the batches of all runs.
func medianOf(figures []*Figure) Sample {
	var values []float64
	for _, f := range figures {
		if len(figures) >= fewestRuns {
			values = append(values, f.Median)
		} else {
			values = append(values, f.Batches...)
		}
	}
	out := Sample{Median: Median(values), Runs: len(figures)}
	out.Low, out.High, out.Confidence = Interval(values)
	return out
}

// PrintComparison writes a table and a final sentence. It returns how many figures are worse.
func PrintComparison(w io.Writer, a, b *Set, all []Comparison, onlyA, onlyB int, tolerance float64) (worse int) {
	fmt.Fprintf(w, "# A: %s, B: %s; medians, and in brackets the interval of each\n", a.Name, b.Name)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "figure\tsize\tPEs\tpath\tunit\tA\t\tB\t\tchange\t")
	count := map[Verdict]int{}
	confidence, runs := 1.0, fewestRuns // the least of all comparisons
	for _, c := range all {
		count[c.Verdict]++
		confidence = min(confidence, c.A.Confidence, c.B.Confidence)
		runs = min(runs, c.A.Runs, c.B.Runs)
		verdict := ""
		if c.Verdict != Same {
			verdict = string(c.Verdict)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t[%s, %s]\t%s\t[%s, %s]\t%+.1f %%\t%s\n", c.Key.Name(), Bytes(c.Key.Size), c.Key.PEs,
			c.Key.Over(), c.Unit, Number(c.A.Median), Number(c.A.Low), Number(c.A.High), Number(c.B.Median), Number(c.B.Low), Number(c.B.High),
			100*c.Change, verdict)
	}
	_ = t.Flush() // an error of w is found when w is closed
	fmt.Fprintf(w, "# intervals have at least %.1f %% confidence", 100*confidence)
	if runs < fewestRuns {
		fmt.Fprintf(w, ", of the batches of %d run(s): runs differ more than that, so start each side %d times or more, in turns", runs, fewestRuns)
	}
	fmt.Fprintln(w)
	if onlyA+onlyB > 0 {
		fmt.Fprintf(w, "# %d figures are only in A, %d only in B\n", onlyA, onlyB)
	}
	fmt.Fprintf(w, "%d of %d figures are worse by more than %g %%, %d are better, %d are the same\n", count[Worse], len(all), 100*tolerance, count[Better], count[Same])
	return count[Worse]
}

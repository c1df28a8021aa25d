package tracereplay

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"libshmem/cmd/internal/replay"
	"libshmem/cmd/internal/tracefile"
	"libshmem/fabric/sim"
)

// Setup is the hardware of a replay.
type Setup struct {
	Model replay.Model
	replay.Site
	Guessed  bool                // the user has not set the number of hosts
	Measured string              // the file of figures; "": the figures of the model
	Fit      []replay.Comparison // how well the model fits them
}

// duration returns a time of the replay as a text, with a unit.
func duration(t sim.Time) string { return tracefile.Duration(int64(t)) }

// Default returns the number of hosts of a replay if the user names none: as many as the recording
// has, or simulates, but at least two. If that number does not divide the PEs, each PE has a host.
func (r *Recording) Default() int {
	n := max(len(r.Hosts), r.Trace.SimulatedHosts(), min(2, r.Job.PEs))
	if r.Job.PEs%n != 0 {
		return r.Job.PEs
	}
	return n
}

// maxLines is how many lines a list of the report has at most.
const maxLines = 16

// Write prints a prediction as the report that users read: the total, what limits it, the PEs and
// phases, and what the prediction cannot know.
func Write(w io.Writer, r *Recording, s *Setup, x *replay.Explanation) {
	fmt.Fprintf(w, "Replay of %s: %s, recorded on %s.\n", programOf(r), Plural(r.Job.PEs, "PE"), hosts(r))
	if starved := r.Trace.Starved(); starved != "" {
		fmt.Fprintf(w, "Warning: %s\n", starved)
	}
	chosen := ""
	if s.Guessed {
		chosen = " (--hosts names another number)"
	}
	fmt.Fprintf(w, "Model %v.\n%s%s, with %s and %s each.\n\n", &s.Model, Plural(s.Hosts, "host"), chosen, Plural(r.Job.PEs/s.Hosts, "PE"), Plural(s.NICs, "NIC"))
	if s.Measured != "" {
		writeFit(w, s)
	}
	recorded := sim.Time(r.Recorded())
	fmt.Fprintf(w, "Predicted %s from init to finalize; recorded %s. That is %.2f times as long.\n", duration(x.Total), duration(recorded),
		float64(x.Total)/float64(max(1, recorded)))
	fmt.Fprintf(w, "Most of it is %s.\n\n", bottleneck(s, x))
	writeCauses(w, s, x)
	writePEs(w, x)
	writePhases(w, x)
	writeDoubts(w, r, s, x)
}

// programOf returns the name of the program, if a file of the trace has it.
func programOf(r *Recording) string {
	for _, p := range r.Trace.PEs {
		if p.Program != "" {
			return p.Program
		}
	}
	return "a program"
}

// hosts returns a text about the hosts on which the program was recorded.
func hosts(r *Recording) string {
	if len(r.Hosts) == 0 {
		return "hosts without names"
	}
	text := Plural(len(r.Hosts), "host")
	if n := r.Trace.SimulatedHosts(); n > 0 {
		text += fmt.Sprintf(", as %s", Plural(n, "simulated host"))
	}
	return text
}

// Plural returns a number and a noun, with s for several.
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// percent returns a part of a time in percent; the whole may be 0.
func percent(part, all sim.Time) float64 { return 100 * float64(part) / float64(max(1, all)) }

// bottleneck returns the rest of the sentence "Most of it is ...": the cause with the largest
// share, with its figures.
func bottleneck(s *Setup, x *replay.Explanation) string {
	c := x.Bottleneck()
	share := percent(x.Costs[c], x.Total)
	switch c {
	case replay.Computation:
		return fmt.Sprintf("computation: %s of each PE on average, %.0f %%", duration(x.Costs[c]), share)
	case replay.Lateness:
		return fmt.Sprintf("waiting for PE %d, which arrives late: %s, %.0f %%", x.Late, duration(x.Costs[c]), share)
	case replay.Latency:
		return fmt.Sprintf("latency: without it the program would take %s less, %.0f %%", duration(x.Costs[c]), share)
	case replay.Bandwidth:
		return fmt.Sprintf("bandwidth of the NICs: without their limit the program would take %s less, %.0f %%; the busiest NIC sends %.0f %% of the time",
			duration(x.Costs[c]), share, 100*busiest(s, x))
	}
	return fmt.Sprintf("the processor's work for operations: without it the program would take %s less, %.0f %%; %.3g operations a second go to the NICs",
		duration(x.Costs[c]), share, rate(x))
}

// busiest returns the share of the time in which the NIC with the most bytes sends.
func busiest(s *Setup, x *replay.Explanation) float64 {
	var bytes uint64
	for _, nics := range x.Carried {
		for _, b := range nics {
			bytes = max(bytes, b)
		}
	}
	if s.Model.Bandwidth == 0 || x.Total == 0 {
		return 0
	}
	return float64(bytes) * 8e9 / float64(s.Model.Bandwidth) / float64(x.Total)
}

// rate returns how many operations the replay has posted to NICs in a second.
func rate(x *replay.Explanation) float64 {
	return float64(x.Operations) / (float64(max(1, x.Total)) / 1e9)
}

// writeCauses prints a table of the causes that may limit the program: the time that each costs,
// and its share.
func writeCauses(w io.Writer, s *Setup, x *replay.Explanation) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "bound\ttime\tshare\t\n")
	for _, c := range []struct {
		cause replay.Cause
		what  string
	}{
		{replay.Computation, "computation, mean of the PEs"},
		{replay.Lateness, fmt.Sprintf("PEs that arrive late, PE %d most", x.Late)},
		{replay.Latency, "latency"},
		{replay.Bandwidth, fmt.Sprintf("bandwidth (busiest NIC: %.0f %% of the time)", 100*busiest(s, x))},
		{replay.Processing, fmt.Sprintf("work for operations (%.3g a second)", rate(x))},
	} {
		fmt.Fprintf(t, "%s\t%s\t%.1f %%\t\n", c.what, duration(x.Costs[c.cause]), percent(x.Costs[c.cause], x.Total))
	}
	t.Flush()
	fmt.Fprintf(w, "Each of the last three is what the program would save without it; they need not add up.\n\n")
}

// writePEs prints the recorded and predicted time of the first PEs, and how long each waited.
func writePEs(w io.Writer, x *replay.Explanation) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "PE\trecorded\tpredicted\tcomputes\twaits for PEs\twaits for the network\tothers wait for it\t\n")
	for pe, p := range x.PEs {
		if pe == maxLines {
			break
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t\n", pe, duration(p.Recorded), duration(p.Predicted), duration(p.Computed), duration(p.Late), duration(p.Waited), duration(p.CausedLate))
	}
	t.Flush()
	if len(x.PEs) > maxLines {
		fmt.Fprintf(w, "and %d more PEs, which --json has.\n", len(x.PEs)-maxLines)
	}
	fmt.Fprintln(w)
}

// writePhases prints the time of each phase, recorded and predicted. A phase ends with a barrier of
// all PEs; if there are many, short ones are left out.
func writePhases(w io.Writer, x *replay.Explanation) {
	if len(x.Phases) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "up to barrier\trecorded\tpredicted\t\n")
	shown := 0
	for i := range x.Phases {
		recorded, predicted := x.Phase(i)
		if len(x.Phases) > maxLines && predicted < x.Total/50 {
			continue
		}
		if shown++; shown > maxLines {
			break
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t\n", i+1, duration(recorded), duration(predicted))
	}
	t.Flush()
	if shown < len(x.Phases) {
		fmt.Fprintf(w, "and %d shorter ones.\n", len(x.Phases)-min(shown, maxLines))
	}
	fmt.Fprintln(w)
}

// writeFit prints the figures that were measured beside those that the fitted model gives, so that
// the user sees how well it fits.
func writeFit(w io.Writer, s *Setup) {
	fmt.Fprintf(w, "The figures of %s, in time for an operation:\n", s.Measured)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "figure\tbytes\tmeasured\tsimulated\tdecides\t\n")
	for _, c := range s.Fit {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t\n", c.Metric, c.Bytes, duration(sim.Time(c.Measured)), duration(sim.Time(c.Simulated)), c.Fits)
	}
	t.Flush()
	fmt.Fprintln(w)
}

// notModelled lists effects that the replay does not model.
var notModelled = []string{
	"other jobs on the same network, and the topology of its switches: each pair of NICs has its own wire",
	"bandwidth of memory, caches, and threads that share a processor: computation takes the time that it took here",
	"another processor: computation takes the time of the machine of the recording",
	"waits between threads of one PE, and values: a loop that looks for a change makes as many calls as recorded",
}

// writeDoubts prints what the prediction leaves out, and what it assumes for this recording.
func writeDoubts(w io.Writer, r *Recording, s *Setup, x *replay.Explanation) {
	fmt.Fprintln(w, "What this cannot know:")
	for _, c := range notModelled {
		fmt.Fprintf(w, "- %s\n", c)
	}
	if s.Measured == "" {
		fmt.Fprintln(w, "- the figures of the hardware: those of the model are assumptions; --measured takes them from a measurement")
	}
	var doubts []string
	if sentence := r.Alignment.Sentence; r.Alignment.Error > 0 || !r.Alignment.Known {
		doubts = append(doubts, "waits are matched with updates by their times. "+sentence)
	}
	doubts = append(doubts, r.Guessed...)
	if x.Released > 0 {
		doubts = append(doubts, fmt.Sprintf("%s that nothing in the recording would have ended: they ended when nothing else could go on", Plural(x.Released, "wait")))
	}
	for i, k := range x.Kept {
		if i == maxLines {
			break
		}
		doubts = append(doubts, fmt.Sprintf("%s: %s kept as recorded, %s in all, because their effect is not modelled", k.Name, Plural(k.Calls, "call"), duration(k.Time)))
	}
	if len(doubts) > 0 {
		fmt.Fprintf(w, "Of this recording:\n- %s\n", strings.Join(doubts, "\n- "))
	}
}

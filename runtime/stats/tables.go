package stats

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// prefixes are the letters of the units KiB, MiB and so on.
const prefixes = "KMGTPE"

// Amount formats a number with its unit for a table. Counts are exact; large numbers of bytes and
// times are rounded.
func Amount(v uint64, u Unit) string {
	switch {
	case u == Bytes && v >= 10_000:
		f, i := float64(v), 0
		for ; f >= 1000 && i < len(prefixes); i++ {
			f /= 1024
		} // v >= 10_000, so i is at least 1
		return fmt.Sprintf("%.3g %ciB", f, prefixes[i-1])
	case u == Bytes:
		return fmt.Sprintf("%d B", v)
	case u == Nanoseconds:
		d := time.Duration(v)
		switch {
		case d >= time.Second:
			d = d.Round(time.Millisecond)
		case d >= time.Millisecond:
			d = d.Round(time.Microsecond)
		}
		return d.String()
	}
	return fmt.Sprint(v)
}

// Job prints one table for all PEs of a job: for each counter that is not 0 everywhere the sum, the
// median, and the least and the most with their PEs. rows has the row of each PE, by PE, at least
// one.
func Job(w io.Writer, title string, rows []Row) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "counter\tall PEs\tmedian\tleast\tof PE\tmost\tof PE\t")
	printed, network := 0, 0
	for i, c := range Counters {
		if c.Scope == NIC {
			continue
		}
		column := make([]uint64, len(rows))
		least, most, sum := 0, 0, uint64(0)
		for pe, r := range rows {
			column[pe] = r.Values[i]
			if sum += column[pe]; column[pe] < column[least] {
				least = pe
			}
			if column[pe] > column[most] {
				most = pe
			}
		}
		low, high := column[least], column[most]
		if high == 0 {
			continue
		}
		printed++
		if i < WaitYields || i > WaitWakes { // waits are counted within a node, too
			network++
		}
		slices.Sort(column)
		total := Amount(sum, c.Unit)
		if c.Most {
			total = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%d\t\n", c.Name, total, Amount(column[len(column)/2], c.Unit),
			Amount(low, c.Unit), least, Amount(high, c.Unit), most)
	}
	if network == 0 {
		title += ": nothing went over the network; loads and stores within a node are not counted"
	}
	if _, err := fmt.Fprintf(w, "shmem: %s\n", title); err != nil || printed == 0 {
		return err
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var nics []fabric.RailCount
	from := 0 // the PE that sent most bytes to one PE
	for pe, r := range rows {
		for _, n := range r.NICs {
			nics = addNIC(nics, n)
		}
		if r.Bytes > rows[from].Bytes {
			from = pe
		}
	}
	writeNICs(&b, nics)
	if r := rows[from]; r.Bytes > 0 {
		fmt.Fprintf(&b, "most bytes from one PE to another: %s, PE %d to PE %d\n", Amount(r.Bytes, Bytes), from, r.Most)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeNICs prints a line for each NIC.
func writeNICs(w io.Writer, nics []fabric.RailCount) {
	for _, n := range nics {
		fmt.Fprintf(w, "NIC %s: %d operations, %s out, %s in", n.NIC, n.Ops, Amount(n.Out, Bytes), Amount(n.In, Bytes))
		if n.Lost > 0 {
			fmt.Fprintf(w, ", %d paths lost", n.Lost)
		}
		fmt.Fprintln(w)
	}
}

// peersShown caps the other PEs in the table of one PE.
const peersShown = 16

// Busiest returns the PEs with which most bytes were exchanged, the busiest first, and the number
// of PEs that it leaves out.
func Busiest(lines []PeerCounters) (most []PeerCounters, rest int) {
	most = slices.Clone(lines)
	slices.SortStableFunc(most, func(a, b PeerCounters) int {
		x, y := a.BytesOut()+a.BytesIn(), b.BytesOut()+b.BytesIn()
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	shown := min(len(most), peersShown)
	return most[:shown], len(most) - shown
}

// One prints the counters of one PE, with a table of the other PEs that it communicated with.
func One(w io.Writer, title string, p *PE) error {
	var b strings.Builder
	fmt.Fprintf(&b, "shmem: %s\n", title)
	for i, c := range Counters {
		if v := p.Values[i]; v > 0 && c.Scope == Own {
			fmt.Fprintf(&b, "%s: %s\n", c.Name, Amount(v, c.Unit))
		}
	}
	writeNICs(&b, p.NICs)
	most, rest := Busiest(p.Peers)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "PE\tputs\tgets\tatomics\tbytes out\tbytes in\tretries\tno credit\tno turn\tearly\tmost under way\tmost unacknowledged\t")
	for _, l := range most {
		c := &l.Count
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", l.PE, puts(c), c[layout.Reads], c[layout.Atomics],
			Amount(l.BytesOut(), Bytes), Amount(l.BytesIn(), Bytes), c[layout.Retries], c[layout.NoCredit], c[layout.NoTurn], c[layout.Early],
			c[layout.MostUnderWay], c[layout.MostUnacknowledged])
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if rest > 0 {
		fmt.Fprintf(&b, "and %d PEs more with fewer bytes\n", rest)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// puts returns how many operations moved bytes to the other PE.
func puts(c *[layout.Counted]uint64) uint64 {
	return c[layout.Elements] + c[layout.Puts] + c[layout.PutSignals] + c[layout.Writes]
}

package stats

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/flight"
	"libshmem/runtime/proxy/layout"
)

// Sample has the counters of a running PE at one time.
type Sample struct {
	PE
	At time.Time
}

// Live prints a running PE's counters, how much they grew each second between the two samples, and
// the operations under way. If first is nil, it prints no rates.
func Live(w io.Writer, first, last *Sample) error {
	var b strings.Builder
	seconds := 0.0
	if first != nil {
		seconds = last.At.Sub(first.At).Seconds()
	}
	// rate returns the growth each second as text, or "" if there is none to print.
	rate := func(before, now uint64, u Unit) string {
		if seconds <= 0 || now < before {
			return ""
		}
		v := uint64(float64(now-before)/seconds + 0.5)
		if u == Nanoseconds { // as a part of each second
			return fmt.Sprintf("%.1f %%", float64(v)/1e7)
		}
		return Amount(v, u)
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "counter\tso far\t")
	if first != nil {
		fmt.Fprint(t, "each second\t")
	}
	fmt.Fprintln(t)
	for i, c := range Counters {
		v := last.Values[i]
		if v == 0 || c.Scope == NIC {
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t", c.Name, Amount(v, c.Unit))
		if first != nil {
			r := ""
			if !c.Most && i != RegisteredBytes { // these two do not add up over time
				r = rate(first.Values[i], v, c.Unit)
			}
			fmt.Fprintf(t, "%s\t", r)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range last.NICs {
		fmt.Fprintf(&b, "NIC %s: %d operations, %s out, %s in", n.NIC, n.Ops, Amount(n.Out, Bytes), Amount(n.In, Bytes))
		if first != nil {
			before := nicNamed(first.NICs, n.NIC)
			fmt.Fprintf(&b, "; each second %s, %s, %s", rate(before.Ops, n.Ops, Times), rate(before.Out, n.Out, Bytes), rate(before.In, n.In, Bytes))
		}
		if n.Lost > 0 {
			fmt.Fprintf(&b, "; %d paths lost", n.Lost)
		}
		fmt.Fprintln(&b)
	}
	for i, e := range last.endpoints {
		for _, u := range e.Undone {
			if u.Age < undoneLong {
				continue
			}
			fmt.Fprintf(&b, "endpoint %d: for %.1f s the GPU has carried out none of %s\n", i, u.Age.Seconds(), &u)
		}
	}
	if len(last.Peers) > 0 {
		if err := livePeers(&b, last); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// undoneLong is the least age of unfinished GPU work that gets a line: copies take microseconds.
const undoneLong = 200 * time.Millisecond

// livePeers prints, from the last sample, the counters for the PEs with which most bytes were
// exchanged, and the last events with each of these PEs.
func livePeers(b *strings.Builder, last *Sample) error {
	most, rest := Busiest(last.Peers)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "PE\tputs\tgets\tatomics\tbytes out\tbytes in\tunder way\ttheir bytes\tunacknowledged\tparked\tearly\tflushing\t")
	for _, l := range most {
		c, flushing := &l.Count, ""
		if l.Now.Flushing {
			flushing = "yes"
		}
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%s\t%s\t%d\t%s\t%d\t%d\t%d\t%s\t\n", l.PE, puts(c), c[layout.Reads], c[layout.Atomics],
			Amount(l.BytesOut(), Bytes), Amount(l.BytesIn(), Bytes), l.Now.UnderWay, Amount(l.Now.Bytes, Bytes),
			l.Now.Unacknowledged, l.Now.Parked, l.Now.Early, flushing)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if rest > 0 {
		fmt.Fprintf(b, "and %d PEs more with fewer bytes\n", rest)
	}
	for _, l := range most {
		if err := events(b, last, l.PE); err != nil {
			return err
		}
	}
	return nil
}

// events prints the last events that each endpoint has recorded about a PE.
func events(b *strings.Builder, last *Sample, pe libshmem.PE) error {
	for i, e := range last.endpoints {
		if !pe.In(len(e.Peers)) {
			continue
		}
		all, err := e.Events(pe)
		if err != nil {
			return err
		}
		name := ""
		if len(last.endpoints) > 1 {
			name = fmt.Sprintf(" by endpoint %d", i)
		}
		if len(all) > 0 {
			fmt.Fprintf(b, "last events with PE %d%s, times before this look:\n%s\n", pe, name, strings.Join(flight.Lines(all), "\n"))
		}
	}
	return nil
}

// nicNamed returns the counters of the NIC with that name, or zeros.
func nicNamed(nics []fabric.RailCount, name string) fabric.RailCount {
	for _, n := range nics {
		if n.NIC == name {
			return n
		}
	}
	return fabric.RailCount{NIC: name}
}

package tracereport

import (
	"fmt"
	"path/filepath"

	"libshmem/cmd/internal/tracefile"
)

// percent returns a part of a whole as a text in percent, "0 %" if the whole is nothing.
func percent(part, all int64) string {
	if all <= 0 {
		return "0 %"
	}
	p := 100 * float64(part) / float64(all)
	switch {
	case part > 0 && p < 0.1:
		return "<0.1 %"
	case p < 9.95:
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.0f %%", p)
}

// withCommas returns a count with a comma after every three digits, from the right: 1,234,567.
func withCommas(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// countOf returns a count with its noun: `one` is the singular and `many` the plural.
func countOf(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return withCommas(n) + " " + many
}

// summary returns the first lines of the report: what the job was, what took the time, which PEs
// were late, and between which PEs the bytes were moved.
func (r *Report) summary() []string {
	j := &r.Job
	var s []string
	say := func(format string, args ...any) { s = append(s, fmt.Sprintf(format, args...)) }
	program := ""
	if j.Program != "" {
		program = " of " + filepath.Base(j.Program)
	}
	on := ""
	if len(j.Hosts) == 1 {
		on = " on one host"
	} else if len(j.Hosts) > 1 {
		on = fmt.Sprintf(" on %d hosts", len(j.Hosts))
	}
	if j.Simulated > 0 {
		on += fmt.Sprintf(" (%d simulated by shmemrun --hosts)", j.Simulated)
	}
	if j.Calls == 0 && len(r.Network) == 0 {
		say("%s%s%s recorded no calls with their times.", countOf(int64(j.Seen), "PE", "PEs"), program, on)
		return s
	}
	if j.Calls == 0 {
		say("%s%s%s recorded no calls, but the work of their proxies and NICs for %s.",
			countOf(int64(j.Seen), "PE", "PEs"), program, on, tracefile.Duration(j.LengthNs))
		return append(s, r.traffic()...)
	}
	say("%s%s%s made %s in %s.", countOf(int64(j.Seen), "PE", "PEs"), program, on,
		countOf(j.Calls, "call", "calls"), tracefile.Duration(j.LengthNs))
	line := fmt.Sprintf("Calls took %s of the time of the threads that made them.", percent(j.CallNs, j.ThreadNs))
	if f := r.Functions[0]; f.Ns > 0 {
		line += fmt.Sprintf(" The largest part was in %s: %s in %s, %s of the time in calls.",
			f.Name, tracefile.Duration(f.Ns), countOf(f.Calls, "call", "calls"), percent(f.Ns, j.CallNs))
	}
	s = append(s, line)
	var values int64
	for _, f := range r.Functions {
		if kindOf(f.Name).waits {
			values += f.Ns
		}
	}
	if 20*values > j.CallNs { // more than 5 %
		say("%s (%s) were waits for a value in memory; which PE wrote it is a guess.", tracefile.Duration(values), percent(values, j.CallNs))
	}
	if w := r.Waits.Start; w != nil {
		say("The last PE, PE %d, reached %s %s after the first event of the trace; the waits below leave this out.", w.Late, w.Function, tracefile.Duration(w.AtNs))
	}
	s = append(s, r.lateness()...)
	return append(s, r.traffic()...)
}

// lateness returns sentences on the waits in collective calls: how long PEs waited for each other,
// for which PE most, and how far the clocks may be wrong.
func (r *Report) lateness() []string {
	w := &r.Waits
	if w.Collectives == 0 {
		return []string{"No two PEs made a collective call together, so that the trace does not say who waited for whom."}
	}
	if w.Ns == 0 {
		return []string{fmt.Sprintf("In %s no PE waited for another one.", countOf(w.Collectives, "collective call", "collective calls"))}
	}
	var causer *PE
	for i := range r.PEs {
		if causer == nil || r.PEs[i].CausedNs > causer.CausedNs {
			causer = &r.PEs[i]
		}
	}
	line := fmt.Sprintf("In %s PEs waited %s for each other, %s of the time in calls. Of that, %s was for PE %d (%s), which came last %s.",
		countOf(w.Collectives, "collective call", "collective calls"), tracefile.Duration(w.Ns), percent(w.Ns, r.Job.CallNs),
		tracefile.Duration(causer.CausedNs), causer.PE, percent(causer.CausedNs, w.Ns), countOf(causer.Last, "time", "times"))
	s := []string{line}
	if len(w.Worst) > 0 {
		i := w.Worst[0]
		s = append(s, fmt.Sprintf("The worst was %s: PE %d came %s after the one before it, %s after the begin, and the others lost %s.",
			i.callName(), i.Late, tracefile.Duration(i.ByNs), tracefile.Duration(i.AtNs), tracefile.Duration(i.LostNs)))
	}
	if e := r.Job.ClockErrorNs; e < 0 {
		s = append(s, "The clocks of the hosts were not compared, so that waits between hosts may be wrong by any amount.")
	} else if e > 0 {
		s = append(s, fmt.Sprintf("Waits of PEs on several hosts may each be wrong by %s.", tracefile.Duration(e)))
	}
	return s
}

// callName returns a text for one collective call: its number among those of its function and team,
// and the team.
func (i *Instant) callName() string {
	s := fmt.Sprintf("call %s of %s", withCommas(i.Number), i.Function)
	switch {
	case i.Members != "":
		s += " of " + i.Members
		if len(i.Members) > 40 {
			s = fmt.Sprintf("call %s of %s on team %d", withCommas(i.Number), i.Function, i.Team)
		}
	case i.Team != 0:
		s += fmt.Sprintf(" on team %d", i.Team)
	}
	return s
}

// traffic returns sentences about between which PEs the most bytes were moved, and how large half
// of the transfers were; none if nothing was moved.
func (r *Report) traffic() []string {
	m := &r.Matrix
	var total, most, calls int64
	by, with := 0, 0 // the groups of PEs between which the most bytes were moved
	for i, row := range m.Bytes {
		for j, n := range row {
			total += n
			calls += m.Calls[i][j]
			if n > most {
				most, by, with = n, i, j
			}
		}
	}
	if total == 0 {
		return nil
	}
	line := fmt.Sprintf("%s moved %s between PEs", countOf(calls, "call", "calls"), tracefile.Size(total))
	if m.Of == "network" {
		line = fmt.Sprintf("%s of NICs moved %s between PEs", countOf(calls, "operation", "operations"), tracefile.Size(total))
	}
	line += fmt.Sprintf(", the largest part by %s with the memory of %s: %s (%s).", m.name(by), m.name(with), tracefile.Size(most), percent(most, total))
	s := []string{line}
	var all, small int64
	for _, z := range r.Sizes {
		all += z.Calls
	}
	for _, z := range r.Sizes {
		if small += z.Calls; 2*small >= all {
			if z.To < 1023 { // below 1 KiB the limits are printed as bytes
				s = append(s, fmt.Sprintf("Half of the calls that move data have at most %s.", tracefile.Size(z.To)))
			} else {
				s = append(s, fmt.Sprintf("Half of the calls that move data have less than %s.", roundSize(z.To+1)))
			}
			break
		}
	}
	return s
}

// name returns the PEs of group g as a text: "PE 4" or "PEs 4-7".
func (m *Matrix) name(g int) string {
	if m.Group == 1 {
		return fmt.Sprintf("PE %d", g)
	}
	return fmt.Sprintf("PEs %d-%d", g*m.Group, g*m.Group+m.Group-1)
}

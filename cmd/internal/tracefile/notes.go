package tracefile

import (
	"fmt"
	"maps"
	"slices"

	"libshmem"
	"libshmem/runtime/shmerr"
)

// PEs returns a list of PEs as a text, with ranges such as "PEs 0-3".
func PEs(list []int) string {
	all := make([]libshmem.PE, len(list))
	for i, n := range list {
		all[i] = libshmem.PE(n)
	}
	return shmerr.PEs(all)
}

// maxNamed is how many truncated files have a separate sentence, at most.
const maxNamed = 4

// starvedPercent is the percentage of the time that a PE may lack a processor before the reader is
// warned.
const starvedPercent = 5

// Starved returns a sentence about PEs that had no processor for a part of the time, the worst
// first; "" if no PE lacked one for long.
func (t *Trace) Starved() string {
	share := func(p *PE) int64 { return 100 * p.Stolen / max(1, p.Traced) }
	var worst []*PE
	for _, p := range t.PEs {
		if share(p) >= starvedPercent {
			worst = append(worst, p)
		}
	}
	if len(worst) == 0 {
		return ""
	}
	slices.SortStableFunc(worst, func(a, b *PE) int { return int(share(b) - share(a)) })
	text := fmt.Sprintf("PE %d had no processor for %d %% of the time", worst[0].PE, min(100, share(worst[0])))
	for _, p := range worst[1:min(len(worst), maxNamed)] {
		text += fmt.Sprintf(", PE %d for %d %%", p.PE, min(100, share(p)))
	}
	if more := len(worst) - maxNamed; more > 0 {
		text += fmt.Sprintf(", and %d more PEs for less", more)
	}
	return text + ": record on a quiet machine."
}

// Notes returns sentences about what the files lack: PEs, the ends of files, lost events, calls
// that could not be recorded, and how far the clocks agree.
func (t *Trace) Notes() []string {
	var notes []string
	say := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if starved := t.Starved(); starved != "" {
		notes = append(notes, starved)
	}
	if missing := t.Missing(); len(missing) > 0 {
		say("There is no file of %s, of %d PEs in all.", PEs(missing), t.NPEs)
	}
	cut := 0
	for _, f := range t.Files {
		if f.Cut == nil {
			continue
		}
		if cut++; cut <= maxNamed {
			say("%s was not ended by its writer, as when a program is killed: %s.", f.Name, f.Cut)
		}
	}
	if cut > maxNamed {
		say("%d more files were not ended by their writers.", cut-maxNamed)
	}
	unseen := map[string][]int{}
	var old, lost []int
	var oldEvents, lostEvents int64
	for _, p := range t.PEs {
		if p.Old > 0 {
			old, oldEvents = append(old, p.PE), oldEvents+p.Old
		}
		if n := p.Lost - p.Old; n > 0 {
			lost, lostEvents = append(lost, p.PE), lostEvents+n
		}
		for _, u := range p.Unseen {
			unseen[u] = append(unseen[u], p.PE)
		}
	}
	if len(old) > 0 {
		say("The files of %s lack the oldest events, %d in all, which were deleted to keep within the bound of a trace.", PEs(old), oldEvents)
	}
	if len(lost) > 0 {
		say("%s lost events, %d in all, for which there was no room when they came.", PEs(lost), lostEvents)
	}
	for _, u := range slices.Sorted(maps.Keys(unseen)) {
		say("Not seen on %s: %s.", PEs(unseen[u]), u)
	}
	if len(t.PEs) > 1 {
		notes = append(notes, t.Alignment().Sentence)
	}
	return notes
}

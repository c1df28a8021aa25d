package tracefile

import (
	"fmt"
	"maps"
	"slices"

	"libshmem"
	"libshmem/runtime/shmerr"
)

// PEs writes the numbers of PEs for people.
func PEs(list []int) string {
	all := make([]libshmem.PE, len(list))
	for i, n := range list {
		all[i] = libshmem.PE(n)
	}
	return shmerr.PEs(all)
}

// Notes are sentences about what the files lack: PEs, the ends of files, lost events, calls that
// could not be recorded, and how far the clocks agree.
func (t *Trace) Notes() []string {
	var notes []string
	say := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if missing := t.Missing(); len(missing) > 0 {
		say("There is no file of %s, of %d PEs in all.", PEs(missing), t.NPEs)
	}
	for _, f := range t.Files {
		if f.Cut != nil {
			say("%s was not ended by its writer, as when a program is killed: %s.", f.Name, f.Cut)
		}
	}
	unseen := map[string][]int{}
	for _, p := range t.PEs {
		if p.Old > 0 {
			say("The files of PE %d lack its oldest %d events, which were deleted to keep within the bound of its trace.", p.PE, p.Old)
		}
		if n := p.Lost - p.Old; n > 0 {
			say("PE %d lost %d events, for which there was no room when they came.", p.PE, n)
		}
		for _, u := range p.Unseen {
			unseen[u] = append(unseen[u], p.PE)
		}
	}
	for _, u := range slices.Sorted(maps.Keys(unseen)) {
		say("Not seen on %s: %s.", PEs(unseen[u]), u)
	}
	if len(t.PEs) > 1 {
		notes = append(notes, t.Alignment().Sentence)
	}
	return notes
}

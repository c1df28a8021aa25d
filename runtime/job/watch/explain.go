package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"libshmem"
	"libshmem/runtime/job/area"
)

// explained bounds how many PEs one report describes.
const explained = 8

// Explanation describes, for the report of a wait, the PEs for which it waits: whether they are
// lost or stopped, what they do, and which operations with them are under way. late has the first
// of the late PEs, and all is the number of all late PEs. After them it describes other PEs with a
// remarkable state. It returns "" if there is nothing to report.
func (l *peers) Explanation(late []libshmem.PE, all int) string {
	var said []string
	if l.Driver != nil {
		if s := l.Driver(time.Now()); s != "" {
			said = append(said, s)
		}
	}
	found := survey{free: true}
	for _, pe := range late {
		if s := l.condition(pe, true, &found); s != "" {
			said = append(said, s)
		}
	}
	if all > len(late) {
		said = append(said, fmt.Sprintf("and %d more PEs have not come", all-len(late)))
	}
	left := 0
	for pe := range libshmem.PE(len(l.Processes)) {
		if pe == l.Me || slices.Contains(late, pe) {
			continue
		}
		s := l.condition(pe, false, &found)
		switch {
		case s == "":
		case len(said) < explained:
			said = append(said, s)
		default:
			left++
		}
	}
	if left > 0 {
		said = append(said, fmt.Sprintf("and %d more PEs", left))
	}
	switch {
	case found.silent == 1:
		said = append(said, "run shmem-doctor on both hosts")
	case found.silent > 1:
		said = append(said, "run shmem-doctor on these hosts")
	}
	return strings.Join(said, "; ")
}

// survey is the state of one Explanation while it goes through the PEs.
type survey struct {
	free   bool // the engine's lock could be taken
	silent int  // PEs that do not reply, and are not known to have ended or to be stopped
}

// condition describes one PE for Explanation; with always, even if nothing is remarkable. It leaves
// out the view of the network if the engine's lock could not be taken for an earlier PE.
func (l *peers) condition(pe libshmem.PE, always bool, found *survey) string {
	what := l.about(pe, always, area.Deep)
	if l.Network != nil && pe != l.Me && l.far(pe) && found.free {
		var s string
		var silent bool
		if s, silent, found.free = l.Network.PeerStatus(pe, always); s != "" {
			what = append(what, s)
		}
		if silent && !l.halted(pe) {
			found.silent++
		}
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("PE %d %s", pe, strings.Join(what, ", "))
}

// halted reports whether a PE is known to have ended or to be stopped, so that the network is not
// the reason why it does not reply.
func (l *peers) halted(pe libshmem.PE) bool {
	if p := &l.Processes[pe]; p.Visible() {
		if gone, stopped := p.Condition(); gone || stopped {
			return true
		}
	}
	return l.lost(pe) != "" || l.launcherOutcome(pe) != ""
}

// probes caps the PEs to which one Probe sends a request.
const probes = 256

// Probe requests what an Explanation soon after needs to know about the PEs `of`: from the PEs over
// the network whether they live and what they do, and from the launcher which of them have ended.
// If `of` is empty, it asks all PEs, the first `probes` at most, whether they live. If the engine's
// lock cannot be taken, it sends a request only to the launcher.
func (l *peers) Probe(of []libshmem.PE) {
	l.inquire(of)
	if l.Network == nil {
		return
	}
	var doing, alive []libshmem.PE
	for _, pe := range of {
		if pe != l.Me && l.far(pe) {
			doing = append(doing, pe)
		}
	}
	for pe := range libshmem.PE(min(len(l.Processes), probes)) {
		if len(of) == 0 && pe != l.Me && l.far(pe) {
			alive = append(alive, pe)
		}
	}
	l.Network.Probe(doing, alive)
}

package job

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/job/area"
	"libshmem/runtime/topo"
)

// explained bounds how many PEs one report describes.
const explained = 8

// lockPatience bounds how long an explanation waits for the engine's lock. A thread that blocks in
// the GPU driver may hold it for long.
const lockPatience = 200 * time.Millisecond

// Explanation describes the PEs that a wait is for: whether they are lost or stopped, what they do,
// and how far the network is with them. late are the first of all late PEs. Other PEs with a
// remarkable state come after them. It returns "" if there is nothing to report.
func (j *Job) Explanation(late []topo.PE, all int) string {
	var said []string
	if s := j.driverWatch.Explain(time.Now()); s != "" {
		said = append(said, s)
	}
	free := true // the engine's lock could be taken
	for _, pe := range late {
		if s := j.condition(pe, true, &free); s != "" {
			said = append(said, s)
		}
	}
	if all > len(late) {
		said = append(said, fmt.Sprintf("and %d more PEs have not come", all-len(late)))
	}
	left := 0
	for pe := range topo.PE(j.NPEs) {
		if pe == j.Me || slices.Contains(late, pe) {
			continue
		}
		s := j.condition(pe, false, &free)
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
	return strings.Join(said, "; ")
}

// condition describes one PE; with asked, also when nothing is remarkable. It leaves out what the
// network knows if the engine's lock could not be taken.
func (j *Job) condition(pe topo.PE, asked bool, free *bool) string {
	what := j.about(pe, asked, area.Deep)
	if j.Engine != nil && pe != j.Me && j.HeapIsFar(pe) && *free {
		*free = j.Engine.TryLocked(lockPatience, func() {
			if s := j.Engine.Report.PeerStatus(fabric.PE(pe), asked); s != "" {
				what = append(what, s)
			}
		})
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("PE %d %s", pe, strings.Join(what, ", "))
}

// HeapIsFar reports whether a PE is reached over the network.
func (j *Job) HeapIsFar(pe topo.PE) bool { return j.Nodes.Node(pe) != j.Nodes.Node(j.Me) }

// probes bounds how many PEs are asked at once.
const probes = 256

// Probe asks PEs over the network whether they are there and what they do. If none is named, it
// asks all PEs whether they are there. It asks the launcher which of the named PEs have ended. The
// answers are for an Explanation soon after. Without the engine's lock it asks the launcher only.
func (j *Job) Probe(of []topo.PE) {
	j.inquire(of)
	if j.Engine == nil {
		return
	}
	j.Engine.TryLocked(lockPatience, func() {
		for _, pe := range of {
			if pe != j.Me && j.HeapIsFar(pe) {
				j.Engine.Report.Probe(fabric.PE(pe))
				j.Engine.Ask(fabric.PE(pe))
			}
		}
		for pe := range topo.PE(min(j.NPEs, probes)) {
			if len(of) == 0 && pe != j.Me && j.HeapIsFar(pe) {
				j.Engine.Report.Probe(fabric.PE(pe))
			}
		}
	})
}

package pe

import (
	"fmt"
	"strings"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/topo"
)

// explained is how many PEs one report says something of.
const explained = 8

// lockPatience is how long who explains waits for an engine: one that is held by the
// GPU's driver has its lock for as long.
const lockPatience = 200 * time.Millisecond

// Explanation is what can be said of a PE that somebody waits for: whether it is
// lost or stopped, and how far the network is with it. -1: of all PEs, those that
// stand out. "" where there is nothing to say.
func (j *Job) Explanation(of int) string {
	var all []string
	if s := j.held.explain(time.Now()); s != "" {
		all = append(all, s)
	}
	free := true // the engine's lock
	say := func(pe topo.PE, asked bool) {
		if pe != j.Me || asked {
			if s := j.condition(pe, asked, &free); s != "" {
				all = append(all, s)
			}
		}
	}
	if of >= 0 {
		say(topo.PE(of), true)
	}
	left := 0
	for pe := range topo.PE(j.NPEs) {
		if int(pe) == of {
			continue
		}
		if len(all) < explained {
			say(pe, false)
		} else if j.condition(pe, false, &free) != "" {
			left++
		}
	}
	if left > 0 {
		all = append(all, fmt.Sprintf("and %d more PEs", left))
	}
	return strings.Join(all, "; ")
}

// condition is that of one PE; asked: also where nothing is remarkable. What the network
// knows is left out where its lock could not be had.
func (j *Job) condition(pe topo.PE, asked bool, free *bool) string {
	var what []string
	j.watch.mu.Lock()
	if fate := j.watch.fates[pe]; fate != "" {
		what = append(what, fate)
	}
	j.watch.mu.Unlock()
	if p := &j.processes[pe]; len(what) == 0 && p.visible() && p.stopped() {
		what = append(what, fmt.Sprintf("is stopped by a signal or a debugger (process %d)", p.ID))
	}
	if j.Engine != nil && pe != j.Me && j.HeapIsFar(pe) && *free {
		*free = j.Engine.TryLocked(lockPatience, func() {
			if s := j.Engine.Standing(fabric.PE(pe), asked); s != "" {
				what = append(what, s)
			}
		})
	}
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf("PE %d %s", pe, strings.Join(what, ", "))
}

// HeapIsFar tells whether a PE is reached by the network.
func (j *Job) HeapIsFar(pe topo.PE) bool { return j.Nodes.Node(pe) != j.Nodes.Node(j.Me) }

// probes bounds how many PEs are asked at once.
const probes = 256

// Probe has the network ask a PE whether it is there, or all, so that an
// Explanation soon after can say who did not answer. It asks nobody where the
// engine's lock cannot be had.
func (j *Job) Probe(of int) {
	if j.Engine == nil {
		return
	}
	j.Engine.TryLocked(lockPatience, func() {
		for pe := range min(j.NPEs, probes) {
			if at := topo.PE(pe); at != j.Me && j.HeapIsFar(at) && (of < 0 || of == pe) {
				j.Engine.Probe(fabric.PE(pe))
			}
		}
		if of >= probes && j.HeapIsFar(topo.PE(of)) {
			j.Engine.Probe(fabric.PE(of))
		}
	})
}

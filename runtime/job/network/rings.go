package network

// The rings of a PE, through which kernels and threads submit operations, are spread over its
// engines. This file makes the consumers that empty them (runtime/proxy/loop), waits for the
// completion of their operations, and reports operations that failed, the first few in full. Its
// caller owns the memory of the rings. Reports come from the threads of the loops, and any
// goroutine may call Quiet.

import (
	"time"

	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/proxy/loop"
)

// Rings are the rings of this PE that proxies serve, with the consumers that empty them.
type Rings struct {
	rings     []*queue.Ring
	consumers []*loop.Consumer
	reports   *ringReports
	quiets    ringQuiets
}

// Serve spreads rings of this PE over the engines, and lets the loops empty them. device: kernels
// are the producers. A nil network serves none.
func (nw *Network) Serve(rings []*queue.Ring, device bool) *Rings {
	if nw == nil {
		return nil
	}
	nw.DriverWatch.Serve(rings)
	if len(rings) == 0 {
		return nil
	}
	mine := make([][]*queue.Ring, len(nw.Engines))
	for i, r := range rings {
		e := i % len(nw.Engines)
		mine[e] = append(mine[e], r)
	}
	locals := loop.NewLocals()
	// A failed operation is reported here, because its producer may never check its status.
	s := &Rings{rings: rings, reports: &ringReports{say: nw.Report, note: nw.Note, now: time.Now}}
	crowded := nw.JobInfo.ProxiesCrowded(nw.Place.Launched.Helpers)
	var wakes []func()
	for i, e := range nw.Engines {
		c := loop.NewConsumer(e, mine[i], locals, s.reports.add)
		c.SetStall(nw.Settings.Timeout)
		c.SetCrowded(crowded)
		c.TraceTo(nw.tracks[i])
		s.consumers = append(s.consumers, c)
		wakes = append(wakes, e.Rouse)
	}
	loop.Join(s.consumers, wakes) // a quiet from a ring of one consumer covers the rings of all
	for i, l := range nw.loops {
		l.Attach(s.consumers[i], device)
	}
	whose := "threads"
	if device {
		whose = "kernels"
	}
	nw.Log.Printf("ring", config.LogDebug, "%d rings of %d slots by %s for %s of this process, %d proxy threads",
		len(rings), nw.Settings.RingSize, nw.Settings.RingMapBy, whose, len(nw.Engines))
	return s
}

// Finish waits until the pushed operations are complete, and detaches the consumers from the loops.
// Of nil Rings no operation is under way.
func (s *Rings) Finish() {
	if s == nil {
		return
	}
	for _, c := range s.consumers {
		c.Finish()
	}
}

// Close prints the number of failures that were only counted.
func (s *Rings) Close() {
	if s != nil {
		s.reports.close()
	}
}

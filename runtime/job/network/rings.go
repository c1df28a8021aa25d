package network

// The rings of a PE are spread over its engines. This file knows which operations have been taken
// from them and which are complete, and reports operations that failed, the first few in full. Its
// caller owns the memory of the rings; runtime/proxy/loop empties them. Reports come from the
// threads of the loops, and any goroutine may call Quiet.

import (
	"time"

	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/proxy/loop"
)

// Rings are rings that proxies serve.
type Rings struct {
	rings     []*queue.Ring
	consumers []*loop.Consumer
	reports   *ringReports
	quiets    ringQuiets
}

// Serve spreads rings over the engines. device: kernels are the producers. A nil network serves
// none.
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
	// The producer may never ask about an operation that failed.
	s := &Rings{rings: rings, reports: &ringReports{say: nw.Report, note: nw.Note, now: time.Now}}
	crowded := nw.Met.ProxiesCrowded(nw.Place.Launched.Helpers)
	var wakes []func()
	for i, e := range nw.Engines {
		c := loop.NewConsumer(e, mine[i], locals, s.reports.add)
		c.Stall(nw.Settings.Timeout)
		c.Crowded(crowded)
		c.TraceTo(nw.tracks[i])
		s.consumers = append(s.consumers, c)
		wakes = append(wakes, e.Rouse)
	}
	loop.Join(s.consumers, wakes)
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

// Finish completes the pushed operations. Nothing of a nil served is under way.
func (s *Rings) Finish() {
	if s == nil {
		return
	}
	for _, c := range s.consumers {
		c.Finish()
	}
}

// Close prints what was only counted.
func (s *Rings) Close() {
	if s != nil {
		s.reports.close()
	}
}

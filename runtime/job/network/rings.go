package network

// The rings of a PE are spread over its engines. This file knows which operations have been
// taken from them and which are complete, and reports operations that failed, the first few in full.
// Its caller owns the memory of the rings; runtime/proxy/loop empties them. Reports come from the
// threads of the loops, and any goroutine may call Quiet.

import (
	"time"

	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/proxy/loop"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/trace"
)

// ringEngine is an engine, which can be woken.
type ringEngine interface {
	loop.Poster
	Rouse()
}

// RingServer is an engine with its loop.
type RingServer struct {
	Engine ringEngine
	Loop   *loop.Loop
	Track  *trace.Track // nil: nothing is traced
}

// RingsConfig is how rings are served, and where failures are reported.
type RingsConfig struct {
	By       []RingServer
	Settings *config.Config
	Crowded  bool // PEs and proxies are more than the processors that they have
	Say      func(text string)
	Note     func(text string) // for texts that a user need not see
	Log      *shmlog.Log
}

// Rings are rings that proxies serve.
type Rings struct {
	rings     []*queue.Ring
	consumers []*loop.Consumer
	reports   *ringReports
	quiets    ringQuiets
}

// ServeRings spreads rings over the engines. device: kernels are the producers.
func ServeRings(c RingsConfig, rings []*queue.Ring, device bool) *Rings {
	if len(c.By) == 0 || len(rings) == 0 {
		return nil
	}
	mine := make([][]*queue.Ring, len(c.By))
	for i, r := range rings {
		e := i % len(c.By)
		mine[e] = append(mine[e], r)
	}
	locals := loop.NewLocals()
	// The producer may never ask about an operation that failed.
	s := &Rings{rings: rings, reports: &ringReports{say: c.Say, note: c.Note, now: time.Now}}
	var wakes []func()
	for i, by := range c.By {
		s.consumers = append(s.consumers, loop.NewConsumer(by.Engine, mine[i], locals, s.reports.add))
		wakes = append(wakes, by.Engine.Rouse)
	}
	for i, t := range s.consumers {
		t.Stall(c.Settings.Timeout)
		t.Crowded(c.Crowded)
		t.TraceTo(c.By[i].Track)
	}
	loop.Join(s.consumers, wakes)
	for i, by := range c.By {
		by.Loop.Attach(s.consumers[i], device)
	}
	whose := "threads"
	if device {
		whose = "kernels"
	}
	c.Log.Printf("ring", config.LogDebug, "%d rings of %d slots by %s for %s of this process, %d proxy threads",
		len(rings), c.Settings.RingSize, c.Settings.RingMapBy, whose, len(c.By))
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

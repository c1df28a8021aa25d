// Package rings spreads the rings of a PE over its engines, and knows which operations have been
// taken from them and which are complete. It reports operations that failed, the first few in full.
// Its caller owns the memory of the rings; runtime/proxy/loop empties them. Reports come from the
// threads of the loops, and any goroutine may call Quiet.
package rings

import (
	"time"

	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/proxy/loop"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/trace"
)

// Engine is an engine, which can be woken.
type Engine interface {
	loop.Poster
	Rouse()
}

// By is an engine with its loop.
type By struct {
	Engine Engine
	Loop   *loop.Loop
	Track  *trace.Track // nil: nothing is traced
}

// Config is how rings are served, and where failures are reported.
type Config struct {
	By       []By
	Settings *config.Config
	Crowded  bool // PEs and proxies are more than the processors that they have
	Say      func(text string)
	Note     func(text string) // for texts that a user need not see
	Log      *shmlog.Log
}

// Served are rings that proxies serve.
type Served struct {
	rings     []*queue.Ring
	consumers []*loop.Consumer
	reports   *reports
	quiets    ringQuiets
}

// Serve spreads rings over the engines. device: kernels are the producers.
func Serve(c Config, rings []*queue.Ring, device bool) *Served {
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
	s := &Served{rings: rings, reports: &reports{say: c.Say, note: c.Note, now: time.Now}}
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
func (s *Served) Finish() {
	if s == nil {
		return
	}
	for _, c := range s.consumers {
		c.Finish()
	}
}

// Close prints what was only counted.
func (s *Served) Close() {
	if s != nil {
		s.reports.close()
	}
}

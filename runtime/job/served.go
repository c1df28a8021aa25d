package job

import (
	"time"

	"libshmem/queue"
	"libshmem/runtime/config"
	"libshmem/runtime/proxy/loop"
	"libshmem/runtime/shmlog"
	"libshmem/runtime/trace"
)

// poster is an engine, which can be woken.
type poster interface {
	loop.Poster
	Rouse()
}

// servedBy is an engine with its loop.
type servedBy struct {
	Engine poster
	Loop   *loop.Loop
	Track  *trace.Track // nil: nothing is traced
}

// servedConfig is how rings are served, and where failures are reported.
type servedConfig struct {
	By       []servedBy
	Settings *config.Config
	Say      func(text string)
	Note     func(text string) // for texts that a user need not see
	Log      *shmlog.Log
}

// served are rings that proxies serve.
type served struct {
	rings     []*queue.Ring
	consumers []*loop.Consumer
	reports   *reports
	quiets    ringQuiets
}

// serve spreads rings over the engines. device: kernels are the producers.
func serve(c servedConfig, rings []*queue.Ring, device bool) *served {
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
	s := &served{rings: rings, reports: &reports{say: c.Say, note: c.Note, now: time.Now}}
	var wakes []func()
	for i, by := range c.By {
		s.consumers = append(s.consumers, loop.NewConsumer(by.Engine, mine[i], locals, s.reports.add))
		wakes = append(wakes, by.Engine.Rouse)
	}
	for i, t := range s.consumers {
		t.Stall(c.Settings.Timeout)
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
func (s *served) Finish() {
	if s == nil {
		return
	}
	for _, c := range s.consumers {
		c.Finish()
	}
}

// Close prints what was only counted.
func (s *served) Close() {
	if s != nil {
		s.reports.close()
	}
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"libshmem/queue"
)

// row is one line of the results.
type row map[string]any

// shape is the number of producers: blocks, and threads of each.
type shape struct{ blocks, threads int }

func (s shape) String() string { return fmt.Sprintf("%dx%d", s.blocks, s.threads) }

// bench is a session: its options, its producers and their memory, and where rows are written.
type bench struct {
	*options
	place    place
	to       []io.Writer
	failures []error

	clock0, clock reading // the first and the latest of the producers' clock
}

// write writes a row to all outputs.
func (b *bench) write(r row) {
	line, err := json.Marshal(r)
	if err != nil {
		b.failures = append(b.failures, err)
		return
	}
	for _, w := range b.to {
		if _, err := w.Write(append(line, '\n')); err != nil {
			b.failures = append(b.failures, err)
		}
	}
}

// figure adds the common fields to a row and writes it.
func (b *bench) figure(r row) {
	r["producer"], r["slots"] = b.producer, b.slots
	r["memory"] = "ordinary"
	if b.place.device != nil {
		r["memory"] = b.memory
	}
	b.write(r)
}

// fail records a missing figure, and writes its row.
func (b *bench) fail(what string, err error) {
	b.failures = append(b.failures, fmt.Errorf("%s: %w", what, err))
	b.figure(row{"metric": "failed", "what": what, "error": err.Error()})
}

// execute runs the consumer named who over the rings until it has taken all operations of the run.
// start makes the producers push, and execute waits until they have ended. It returns an error if
// operations are missing or unknown.
func (b *bench) execute(who string, s *rings, a *run, start func() error) error {
	if a.limit == 0 {
		a.limit = 20e9 // 20 s: a shared machine may stand still for some of them
	}
	a.yields = runtime.NumCPU() <= 4
	runtime.GC() // the collector is off while consuming
	done := make(chan error, 1)
	ready := make(chan struct{})
	go func() { done <- b.consume(who, s, a, ready) }()
	<-ready
	err := start()
	if err != nil {
		s.stop()
	}
	err = errors.Join(err, <-done)
	// A producer that finds its ring stopped gives up, even if the ring has room. So rings are
	// stopped only when the consumer has ended without all operations: producers would wait for it.
	if err != nil || a.gaveUp {
		s.stop()
	}
	err = errors.Join(err, b.place.producer.wait())
	switch {
	case err != nil:
	case a.unknown != 0:
		err = fmt.Errorf("%d of %d operations had a code that there is not", a.unknown, a.consumed)
	case a.gaveUp || a.consumed != a.operations:
		err = fmt.Errorf("%d of %d operations came, and none in %d s", a.consumed, a.operations, a.limit/1e9)
	}
	return err
}

// consume runs one consumer. It closes ready when producers may start.
func (b *bench) consume(who string, s *rings, a *run, ready chan struct{}) (err error) {
	out := newProvider(a)
	defer out.close(a)
	var all []*queue.Ring
	for _, r := range s.all {
		all = append(all, r.Ring)
	}
	switch who {
	case "go":
		close(ready)
		(&consumer{rings: all, out: out}).consume(a)
	case "proxy":
		p, err := newProduct(all, out)
		close(ready)
		if err != nil {
			return err
		}
		err = p.run(a, out)
		return errors.Join(err, p.close())
	case "c":
		// The goroutine never unlocks the thread, so Go ends the thread with it, and no other
		// goroutine runs on a thread that is bound to a core.
		runtime.LockOSThread()
		bound := b.core < 0 || pin(b.core)
		close(ready)
		if !bound {
			return fmt.Errorf("bind the consumer to core %d: the core is not this process's", b.core)
		}
		consumeInC(s.all, a, out)
	default:
		close(ready)
		return fmt.Errorf("select consumer %q: no consumer has this name (use %s)", who, strings.Join(consumers, ", "))
	}
	return nil
}

// order returns the consumers in the order of repetition rep: none is always first.
func (b *bench) order(rep int) []string {
	all := slices.Clone(b.consumers)
	return append(all[rep%len(all):], all[:rep%len(all)]...)
}

// setClock reads the producers' clock twice, 1.5 s apart, so that hostRate is exact. A window of 0
// means that it is CLOCK_MONOTONIC itself.
func (b *bench) setClock() (err error) {
	if b.clock0, err = b.place.producer.clock(); err != nil {
		return err
	}
	if b.clock0.window > 0 {
		time.Sleep(1500 * time.Millisecond)
	}
	return b.readClock()
}

// readClock sets the latest reading.
func (b *bench) readClock() (err error) {
	b.clock, err = b.place.producer.clock()
	return err
}

// hostRate returns the ns of CLOCK_MONOTONIC in one ns of the producers' clock.
func (b *bench) hostRate() float64 {
	if b.clock.own <= b.clock0.own {
		return 1
	}
	return float64(b.clock.host-b.clock0.host) / float64(b.clock.own-b.clock0.own)
}

// host converts a time of the producers' clock to CLOCK_MONOTONIC.
func (b *bench) host(own uint64) uint64 {
	return b.clock.host + uint64(int64(float64(int64(own-b.clock.own))*b.hostRate()))
}

// machine returns the facts on which figures depend.
func machine() row {
	first := func(path, key string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			return "unknown"
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			if rest, ok := strings.CutPrefix(line, key); ok {
				return strings.TrimSpace(strings.TrimLeft(rest, "\t :"))
			}
		}
		return "unknown"
	}
	facts := row{
		"date":        time.Now().UTC().Format(time.DateOnly),
		"cpu":         first("/proc/cpuinfo", "model name"),
		"cores":       runtime.NumCPU(),
		"memory":      first("/proc/meminfo", "MemTotal"),
		"clocksource": first("/sys/devices/system/clocksource/clocksource0/current_clocksource", ""),
		"load_before": strings.Fields(first("/proc/loadavg", "") + " ")[0],
		"go":          runtime.Version(),
		"ring_layout": queue.Version,
	}
	var u syscall.Utsname
	if syscall.Uname(&u) == nil {
		var release []byte
		for _, c := range u.Release {
			if c == 0 {
				break
			}
			release = append(release, byte(c))
		}
		facts["kernel"] = string(release)
	}
	return facts
}

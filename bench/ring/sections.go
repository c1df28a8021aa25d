package main

import (
	"fmt"
	"runtime"
	"slices"
)

// job is one rate to measure.
type job struct {
	what  string // the load's name
	load  int
	shape shape
	rings int
}

// jobs returns the rates to measure. Those of a GPU begin with the shapes for which other libraries
// publish rates.
func (b *bench) jobs() []job {
	if b.place.device == nil {
		jobs := []job{
			{"p", loadP, shape{1, 1}, 1},
			{"burst", loadBurst, shape{1, 1}, 1},
			{"put", loadPut, shape{1, 1}, 1},
			{"p", loadP, shape{2, 1}, 1},
			{"burst", loadBurst, shape{2, 1}, 1},
		}
		// More threads than cores measure the scheduler.
		for _, n := range []int{4, 8, 12} {
			if n < runtime.NumCPU() {
				jobs = append(jobs, job{"p", loadP, shape{n, 1}, 1}, job{"burst", loadBurst, shape{n, 1}, 1}, job{"p", loadP, shape{n, 1}, 4})
			}
		}
		return jobs
	}
	jobs := []job{
		{"p", loadP, shape{1, 1}, 1},
		{"burst", loadBurst, shape{1, 1}, 1},
		{"put", loadPut, shape{1, 1}, 1},
	}
	for _, s := range []shape{{1, 32}, {1, 1024}, {8, 32}, {32, 32}, {132, 256}} {
		jobs = append(jobs, job{"p", loadP, s, 1})
	}
	jobs = append(jobs, job{"put", loadPut, shape{1, 32}, 1}, job{"put", loadPut, shape{32, 32}, 1}, job{"put", loadPut, shape{132, 256}, 1})
	for _, s := range []shape{{32, 32}, {132, 256}} {
		jobs = append(jobs, job{"p", loadP, s, 4}, job{"p", loadP, s, 8})
	}
	return jobs
}

// rates measures the operations a second that a consumer takes. A first, short run gives the rate,
// from which follows how many operations the other runs need.
func (b *bench) rates() error {
	for _, j := range b.jobs() {
		if !b.match.MatchString(fmt.Sprint(j.what, " ", j.shape, " ", j.rings)) {
			continue
		}
		rate := 0.0
		for rep := range b.reps {
			for _, who := range b.order(rep) {
				if who == "proxy" {
					continue
				}
				what := fmt.Sprintf("rate of %s, %v, %d rings, %s", j.what, j.shape, j.rings, who)
				if rate == 0 { // the rate decides how many are pushed
					first, _, err := b.rate(j, who, 20_000)
					if err != nil {
						b.fail(what, err)
						break
					}
					rate = first
				}
				got, a, err := b.rate(j, who, min(float64(b.ops), rate*b.seconds*1e6))
				if err != nil {
					b.fail(what, err)
					continue
				}
				b.figure(row{
					"metric": "rate", "op": j.what, "shape": j.shape.String(), "rings": j.rings, "consumer": who, "rep": rep,
					"value": got, "unit": "M/s", "operations": a.consumed, "seconds": float64(a.last-a.first) / 1e9,
					"batch": float64(a.consumed) / float64(a.batches),
				})
			}
		}
	}
	return nil
}

// rate pushes about as many operations as `about` says, in whole bursts of each thread, and returns
// the rate in millions a second.
func (b *bench) rate(j job, who string, about float64) (rate float64, a *run, err error) {
	threads := j.shape.blocks * j.shape.threads
	each := (uint64(about)/uint64(threads) + burstOps) / burstOps * burstOps
	s, err := b.place.make(j.rings, b.slots, threads)
	if err != nil {
		return 0, nil, err
	}
	defer func() {
		if e := s.close(); err == nil {
			err = e
		}
	}()
	a = &run{operations: uint64(threads) * each}
	err = b.execute(who, s, a, func() error { return b.place.producer.push(j.load, j.shape, each, s.target) })
	if err != nil {
		return 0, nil, err
	}
	if want := expected(j.load, uint64(threads), each, s.target.sources); a.sum != want {
		return 0, nil, fmt.Errorf("the fields of %d operations add up to %#x, not to %#x", a.consumed, a.sum, want)
	}
	// The time starts when the consumer has found the first operations, so it does not include the
	// start of the producers.
	return float64(a.consumed) / float64(a.last-a.first) * 1e3, a, nil
}

// acks measures the time of a push until one thread knows that it has been consumed.
func (b *bench) acks() error {
	kinds := []struct {
		what string
		kind int
		ops  int
	}{{"tail", ackTail, 1}, {"tail, bare", ackBare, 1}, {"quiet", ackQuiet, 2}, {"fetch", ackFetch, 1}}
	for _, k := range kinds {
		for rep := range b.reps {
			for _, who := range b.order(rep) {
				if who == "proxy" && k.kind == ackFetch {
					continue // the proxy refuses these: its heap has no memory to fetch from
				}
				samples, err := b.ack(k.kind, k.ops, who)
				if err != nil {
					b.fail("acknowledged by "+k.what+", "+who, err)
					continue
				}
				slices.Sort(samples)
				at := func(q float64) float64 { return samples[int(q*float64(len(samples)-1))] }
				b.figure(row{
					"metric": "acknowledged", "by": k.what, "consumer": who, "rep": rep, "value": at(0.5), "unit": "us",
					"min": at(0), "p99": at(0.99), "p999": at(0.999), "max": at(1), "samples": len(samples),
				})
			}
		}
	}
	return nil
}

// ack returns how long one thread waits for the acknowledgement of each push, in us. ops is the
// number of operations in the ring for each push: 2 with a quiet.
func (b *bench) ack(kind, ops int, who string) (us []float64, err error) {
	count := int(min(50_000, b.ops))
	s, err := b.place.make(1, b.slots, 1)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := s.close(); err == nil {
			err = e
		}
	}()
	m, err := s.keep(b.place.main((count + 2) * 8))
	if err != nil {
		return nil, err
	}
	a := &run{operations: uint64(count * ops), quiets: uint64(count * (ops - 1))}
	if err := b.execute(who, s, a, func() error { return b.place.producer.ack(kind, count, s.target, uint64(m.Device)) }); err != nil {
		return nil, err
	}
	// Behind the samples, in ticks, are the ticks and the nanoseconds of all together.
	all := words(m, count+2)
	tick := float64(all[count+1]) / float64(all[count]) / 1e3
	for _, ticks := range all[count/100 : count] { // the first ones find cold caches
		us = append(us, float64(ticks)*tick)
	}
	return us, nil
}

// pace measures the delay of operations that arrive at a steady rate, independent of the consumer.
func (b *bench) pace() error {
	for _, rate := range b.options.rates {
		for rep := range b.reps {
			for _, who := range b.order(rep) {
				if err := b.paced(rate, who, rep); err != nil {
					b.fail(fmt.Sprintf("%g M/s, %s", rate, who), err)
				}
			}
		}
	}
	return nil
}

// paced measures one rate, in millions a second, and writes its row.
func (b *bench) paced(rate float64, who string, rep int) (err error) {
	const lead, skip = 30e6, 50e6 // ns before the first operation, and ns that do not count
	s, err := b.place.make(1, b.slots, 1)
	if err != nil {
		return err
	}
	defer func() {
		if e := s.close(); err == nil {
			err = e
		}
	}()
	if err := b.readClock(); err != nil {
		return err
	}
	period := uint64(1e6 / rate) // ps
	count := uint64((b.seconds*1e9 + skip) * rate / 1e3)
	// The start, by the producers' clock: now, converted by the latest reading, and lead.
	own := b.clock.own + uint64(float64(now()-b.clock.host)/b.hostRate()) + lead
	a := &run{operations: count, paced: true, start: b.host(own), rate: b.hostRate(), skip: skip}
	if err := b.execute(who, s, a, func() error { return b.place.producer.paced(own, period, count, s.target) }); err != nil {
		return err
	}
	before, rateBefore := b.clock, b.hostRate()
	if err := b.readClock(); err != nil {
		return err
	}
	drift := int64(b.clock.host) - int64(before.host) - int64(float64(b.clock.own-before.own)*rateBefore)
	d := &a.delays
	r := row{
		"metric": "paced", "rate": rate, "consumer": who, "rep": rep, "unit": "us",
		"p50": d.quantile(0.5) / 1e3, "p99": d.quantile(0.99) / 1e3, "p999": d.quantile(0.999) / 1e3, "max": float64(d.max) / 1e3,
		"mean": float64(d.sum) / float64(d.count) / 1e3, "operations": d.count, "early": d.early,
		"clock_window_ns": b.clock.window, "clock_drift_ns": drift,
	}
	if a.batches > 0 {
		r["batch"] = float64(a.consumed) / float64(a.batches)
	}
	b.figure(r)
	return nil
}

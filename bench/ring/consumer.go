package main

import (
	"libshmem/queue"
)

// batchSize is the number of operations of one ring that are taken before the others are checked;
// BENCH_BATCH in C.
const batchSize = 64

// run is one run: the request, then the results. As struct bench_run.
type run struct {
	operations uint64
	quiets     uint64 // their number
	limit      uint64 // ns without an operation after which it gives up
	paced      bool
	yields     bool   // no core of its own: yield when nothing comes
	start      uint64 // of the schedule, CLOCK_MONOTONIC in ns
	rate       float64
	skip       uint64

	consumed, sum, unknown, batches uint64
	first, last                     uint64
	gaveUp                          bool
	delays                          delays
}

// consumer is one end of rings, in Go.
type consumer struct {
	rings []*queue.Ring
	out   *provider
	ops   [batchSize]queue.Op
}

// batch takes one batch of a ring and returns the number of operations.
func (c *consumer) batch(r *queue.Ring, a *run) int {
	n := r.Read(c.ops[:])
	var sum uint64
	for i := range c.ops[:n] {
		op := &c.ops[i]
		sum += uint64(op.Code) + uint64(op.PE) + op.Dest + uint64(op.Context)
		switch op.Code {
		case queue.CodeP:
			sum += uint64(op.Width) + op.Value
		case queue.CodePut:
			sum += op.Local + op.Length
		case queue.CodeQuiet:
			r.PublishDone(r.Position())
		case queue.CodeAMOWide:
			r.Reply(op.Reply, op.Dest, 0)
		default:
			a.unknown++
		}
		if a.paced {
			c.out.requests[i] = request{
				dest: op.Dest, value: op.Value, pe: op.PE, context: op.Context, code: uint8(op.Code), width: op.Width,
			}
		}
	}
	if n == 0 {
		return 0
	}
	a.sum += sum
	if a.paced {
		c.out.post(n)
	}
	r.Publish()
	return n
}

// consume runs until all operations have arrived, or too much time has passed since the last.
func (c *consumer) consume(a *run) {
	since, seen, idle := now(), a.consumed, 0
	for a.consumed < a.operations {
		found := 0
		for _, r := range c.rings {
			n := c.batch(r, a)
			found += n
			if n != 0 {
				a.batches++
			}
		}
		if found != 0 {
			if a.consumed == 0 {
				a.first = now()
			}
			a.consumed += uint64(found)
			continue
		}
		if idle++; idle >= 1024 {
			idle = 0
			if a.yields {
				yield()
			}
			if t := now(); a.consumed != seen {
				since, seen = t, a.consumed
			} else if t-since > a.limit {
				a.gaveUp = true
				break
			}
		}
	}
	a.last = now()
}

package main

import (
	"libshmem/queue"
)

// batchSize is the number of operations of one ring that are taken before the others are checked;
// BENCH_BATCH in C.
const batchSize = 64

// run is one run of a consumer: the request, then the results. struct bench_run has a part of it.
type run struct {
	operations uint64  // that producers push
	quiets     uint64  // how many of them are quiets, which are not posted
	limit      uint64  // ns without an operation after which the consumer gives up
	paced      bool    // steady load: post the operations, to measure their delays
	yields     bool    // the machine has few cores: yield while nothing arrives
	start      uint64  // when the schedule starts, CLOCK_MONOTONIC in ns
	rate       float64 // ns of CLOCK_MONOTONIC in one ns of the producers' clock
	skip       uint64  // ns of the schedule whose operations do not count

	consumed, sum, unknown, batches uint64
	first, last                     uint64 // when the first and the last operation were taken, in ns
	gaveUp                          bool
	delays                          delays
}

// consumer takes the operations of rings, in Go, and posts them to a provider.
type consumer struct {
	rings []*queue.Ring
	out   *provider
	ops   [batchSize]queue.Op
}

// batch takes up to batchSize operations of a ring, adds up their fields, posts them in a paced
// run, and then publishes the tail. It returns their number.
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

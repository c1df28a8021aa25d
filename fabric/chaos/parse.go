package chaos

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"libshmem/fabric/faults"
)

// Plan lists the faults of a job.
type Plan struct {
	Seed   uint64
	Faults faults.Faults
	Kills  []faults.Fault // PEs whose processes end, as by kill -9, when the time At has passed since Connect
	Panics []faults.Fault // PEs in which the library panics instead, as by a mistake of its own
}

// Usual are the faults of a text that has only a seed: half of all packets are late by up to a
// millisecond, so that an order that was only luck does not last.
var Usual = faults.Faults{Reorder: 0.5, Delay: time.Millisecond, Late: 0.1, Again: 0.02}

// Parse reads a seed and the words that change Usual, as in
//
//	17,reorder=0.8,delay=5ms,late=0,again=0.1,drop=0.01,drop-peer=3@2s,panic=1@1s
//
// reorder, late, again and drop are shares from 0 to 1: of packets that others may overtake, of
// completions that are late, of calls that are refused, and of packets that are as late as if they
// had been lost and sent again. delay is the most that a packet is late. drop-peer kills a PE, and
// panic has the library panic in one.
func Parse(text string) (Plan, error) {
	number, words, _ := strings.Cut(text, ",")
	seed, err := strconv.ParseUint(number, 0, 64)
	if err != nil {
		return Plan{}, fmt.Errorf("%q is not a seed (write a number from 0 to 2^64-1, then words as reorder=0.5,delay=1ms)", number)
	}
	p := Plan{Seed: seed, Faults: Usual}
	// A simulated network has more words, for faults that a real one cannot be made to have.
	err = faults.Read(words, []faults.Word{
		{Name: "reorder", To: &p.Faults.Reorder},
		{Name: "delay", To: &p.Faults.Delay},
		{Name: "late", To: &p.Faults.Late},
		{Name: "again", To: &p.Faults.Again},
		{Name: "drop", To: &p.Faults.Drop},
		{Name: "drop-peer", To: faults.Peer(&p.Kills)},
		{Name: "panic", To: faults.Peer(&p.Panics)},
	})
	if err != nil {
		return Plan{}, err
	}
	return p, nil
}

// Check returns an error if the plan names a PE that a job of `pes` PEs does not have.
func (p *Plan) Check(pes int) error {
	for word, kills := range map[string][]faults.Fault{"drop-peer": p.Kills, "panic": p.Panics} {
		for _, k := range kills {
			if k.Host >= pes {
				return fmt.Errorf("%s=%d: there is no PE %d, the job has %d (use 0 to %d)", word, k.Host, k.Host, pes, pes-1)
			}
		}
	}
	return nil
}

package chaos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"libshmem"
	"libshmem/fabric/sim"
)

// Plan lists the faults of a job.
type Plan struct {
	Seed   uint64
	Faults sim.Faults
	Kills  []Kill
}

// Kill ends the process of a PE, as kill -9 would.
type Kill struct {
	PE    libshmem.PE
	After time.Duration // since its endpoint was connected
}

// Usual are the faults that a text without words stands for: half of all packets are late by up to
// a millisecond, so that an order that was only luck does not last.
var Usual = sim.Faults{Reorder: 0.5, Delay: sim.Millisecond, Late: 0.1, Again: 0.02}

// known are the words; a simulated network has more, for faults that a real one cannot be made to
// have.
var known = []string{"reorder", "delay", "late", "again", "drop", "drop-peer"}

// Parse reads a seed and the words that change Usual, as in
//
//	17,reorder=0.8,delay=5ms,late=0,again=0.1,drop=0.01,drop-peer=3@2s
//
// reorder, late, again and drop are shares from 0 to 1: of packets that others may overtake, of
// completions that come late, of calls that are refused, and of packets that take as long as a
// packet that is lost and sent again; delay is the most that a packet is late. drop-peer kills a
// PE.
func Parse(text string) (Plan, error) {
	number, words, _ := strings.Cut(text, ",")
	seed, err := strconv.ParseUint(number, 0, 64)
	if err != nil {
		return Plan{}, fmt.Errorf("%q is no seed (write a number from 0 to 2^64-1, then words as reorder=0.5,delay=1ms)", number)
	}
	for _, word := range strings.Split(words, ",") {
		name, _, _ := strings.Cut(word, "=")
		if word != "" && !slices.Contains(known, name) {
			return Plan{}, fmt.Errorf("%s: there is no such word (there are %s)", word, strings.Join(known, ", "))
		}
	}
	p := Plan{Seed: seed, Faults: Usual}
	named, faults, err := sim.ParseFaults(words)
	if err != nil {
		return Plan{}, err
	}
	for _, word := range strings.Split(words, ",") {
		switch name, _, _ := strings.Cut(word, "="); name {
		case "reorder":
			p.Faults.Reorder = named.Reorder
		case "delay":
			p.Faults.Delay = named.Delay
		case "late":
			p.Faults.Late = named.Late
		case "again":
			p.Faults.Again = named.Again
		case "drop":
			p.Faults.Drop = named.Drop
		}
	}
	for _, f := range faults {
		p.Kills = append(p.Kills, Kill{libshmem.PE(f.Host), time.Duration(f.At)})
	}
	return p, nil
}

// Check refuses a plan that a job of this many PEs cannot carry out.
func (p *Plan) Check(pes int) error {
	for _, k := range p.Kills {
		if !k.PE.In(pes) {
			return fmt.Errorf("drop-peer=%d: there is no PE %d, the job has %d (use 0 to %d)", k.PE, k.PE, pes, pes-1)
		}
	}
	return nil
}

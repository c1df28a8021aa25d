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
	Panics []Kill // the library panics there instead, as by a mistake of its own
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
var known = []string{"reorder", "delay", "late", "again", "drop", "drop-peer", "panic"}

// Parse reads a seed and the words that change Usual, as in
//
//	17,reorder=0.8,delay=5ms,late=0,again=0.1,drop=0.01,drop-peer=3@2s,panic=1@1s
//
// reorder, late, again and drop are shares from 0 to 1: of packets that others may overtake, of
// completions that come late, of calls that are refused, and of packets that take as long as a
// packet that is lost and sent again; delay is the most that a packet is late. drop-peer kills a
// PE, and panic has the library panic in one.
func Parse(text string) (Plan, error) {
	number, words, _ := strings.Cut(text, ",")
	seed, err := strconv.ParseUint(number, 0, 64)
	if err != nil {
		return Plan{}, fmt.Errorf("%q is no seed (write a number from 0 to 2^64-1, then words as reorder=0.5,delay=1ms)", number)
	}
	var others, panics []string
	for _, word := range strings.Split(words, ",") {
		name, value, _ := strings.Cut(word, "=")
		if word != "" && !slices.Contains(known, name) {
			return Plan{}, fmt.Errorf("%s: there is no such word (there are %s)", word, strings.Join(known, ", "))
		}
		if name == "panic" {
			panics = append(panics, "drop-peer="+value) // no simulated network has it
		} else {
			others = append(others, word)
		}
	}
	p := Plan{Seed: seed, Faults: Usual}
	named, faults, err := sim.ParseFaults(strings.Join(others, ","))
	if err != nil {
		return Plan{}, err
	}
	if p.Panics, err = kills(panics); err != nil {
		return Plan{}, fmt.Errorf("panic: %w", err)
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
	p.Kills = killsOf(faults)
	return p, nil
}

func kills(words []string) ([]Kill, error) {
	_, faults, err := sim.ParseFaults(strings.Join(words, ","))
	return killsOf(faults), err
}

func killsOf(faults []sim.Fault) (all []Kill) {
	for _, f := range faults {
		all = append(all, Kill{libshmem.PE(f.Host), f.At})
	}
	return all
}

// Check refuses a plan that a job of this many PEs cannot carry out.
func (p *Plan) Check(pes int) error {
	for word, kills := range map[string][]Kill{"drop-peer": p.Kills, "panic": p.Panics} {
		for _, k := range kills {
			if !k.PE.In(pes) {
				return fmt.Errorf("%s=%d: there is no PE %d, the job has %d (use 0 to %d)", word, k.PE, k.PE, pes, pes-1)
			}
		}
	}
	return nil
}

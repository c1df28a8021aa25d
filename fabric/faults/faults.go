// Package faults decides what goes wrong in a network that is bad on purpose: which packets are
// late, lost or repeated, which calls are refused, and when a peer or a NIC is lost.
//
// It owns the chances, the random numbers drawn for them, which depend only on a seed and on their
// purpose, and the words by which users write both. It neither delays nor loses anything: a
// simulated network (fabric/sim) and a provider around a real one (fabric/chaos) do. No thread runs
// in it.
package faults

import "time"

// Faults are the chances of faults. Shares are from 0 to 1.
type Faults struct {
	Reorder   float64 // share of packets that are late by up to Delay, so that others overtake them
	Delay     time.Duration
	Duplicate float64 // share of packets that arrive again
	Drop      float64 // share of packets that are lost, and sent again after Delay
	Late      float64 // share of completions that are late by up to Delay
	Split     float64 // share of packets whose bytes become visible in two steps
	Again     float64 // share of calls that are refused by ErrAgain
	Storm     float64 // share of the time in which all calls of an endpoint are refused
}

// Fault is the loss of a host, or the loss or the return of one of its NICs, at a given time.
type Fault struct {
	At   time.Duration
	Host int  // number of the host, or of the PE
	NIC  int  // negative: all endpoints of the host are lost
	Up   bool // the NIC works again
}

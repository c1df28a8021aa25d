package network

import (
	"fmt"
	"strings"
)

// Wire is the time that a message between nodes takes, in nanoseconds, for the model by which
// collective calls choose an algorithm (capi/front/model.h). Nothing is measured at init: PEs that
// measured different figures would choose different algorithms, and wait for ever. All PEs have the
// same provider, and so the same figures.
type Wire struct {
	Latency uint32 // until a small message has arrived
	Post    uint32 // until the sender can send the next, if it also receives one
	KiB     uint32 // in addition, for each KiB
	Send    uint32 // percent of Post and KiB that a sender takes which receives nothing
	Receive uint32 // percent of them that a receiver takes which sends nothing
}

// wires has the figures of the providers, in nanoseconds, by the beginning of their names; the last
// entry is for tcp and all others. The figures of tcp are from a 16-core Xeon, between network
// namespaces: two PEs that exchange 64 bytes take 7 us, and four 23; a host sends 256 KiB to three
// others in 61 us, and 2 MiB pass through four in 606. A processor sends and receives there, and a
// NIC on the other networks, whose figures are of the models of fabric/sim.
var wires = []struct {
	name string
	wire Wire
}{
	{"efa", Wire{15_000, 500, 82, 100, 0}},
	{"verbs", Wire{2_500, 300, 41, 100, 0}},
	{"cxi", Wire{2_500, 300, 41, 100, 0}},
	{"", Wire{2_000, 6_000, 400, 36, 40}},
}

// String describes the figures in microseconds, for the log.
func (w Wire) String() string {
	us := func(ns uint32) float64 { return float64(ns) / 1000 }
	return fmt.Sprintf("a message takes %.4g us, each post %.4g and a KiB %.4g", us(w.Latency), us(w.Post), us(w.KiB))
}

// Wire returns the figures of the provider, by which collectives choose their algorithms.
func (nw *Network) Wire() Wire { return wireOf(nw.Engine.Caps().Provider) }

// wireOf returns the figures of a provider, found by the beginning of its name; the last row is for
// all others.
func wireOf(provider string) Wire {
	for _, w := range wires[:len(wires)-1] {
		if strings.HasPrefix(provider, w.name) {
			return w.wire
		}
	}
	return wires[len(wires)-1].wire
}

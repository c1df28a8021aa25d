package network

import "strings"

// Wire is what a message between nodes takes, in nanoseconds, for the model by which collective
// calls choose an algorithm (capi/front/model.h). Nothing is measured at init: PEs that measured
// different figures would choose different algorithms, and wait for ever. All PEs have the same
// provider, and so the same figures.
type Wire struct {
	Latency uint32 // until a small message has come
	Post    uint32 // of the sender, until it can send the next
	KiB     uint32 // and for each KiB
}

// The figures are those of a small and of a large message: of tcp between two namespaces of a
// 16-core Xeon (an exchange of two PEs takes 8 us, of four 23), of EFA, verbs and CXI those of the models of fabric/sim.
var wires = []struct {
	name string
	wire Wire
}{
	{"efa", Wire{15_000, 500, 82}},
	{"verbs", Wire{2_500, 300, 41}},
	{"cxi", Wire{2_500, 300, 41}},
	{"", Wire{2_000, 6_000, 400}},
}

// Wire returns the figures of the provider for messages.
func (nw *Network) Wire() Wire { return wireOf(nw.Engine.Caps().Provider) }

func wireOf(provider string) Wire {
	for _, w := range wires[:len(wires)-1] {
		if strings.HasPrefix(provider, w.name) {
			return w.wire
		}
	}
	return wires[len(wires)-1].wire
}

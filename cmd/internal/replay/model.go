package replay

import (
	"fmt"
	"slices"
	"strings"

	"libshmem/fabric/faults"
	"libshmem/fabric/sim"
	"libshmem/runtime/shmerr"
)

// Model is the hardware that a replay assumes.
type Model struct {
	sim.Model

	// The processor time of each call that uses the network, of each message and each one-sided
	// operation that is posted to the NIC, and of each completion.
	Call, Message, OneSided, Completed sim.Time

	// The processor time at the origin and at the target, in nanoseconds for each byte of a
	// one-sided operation: on a network without RDMA processors copy the bytes. The bytes of a
	// message are part of its cost.
	Byte float64

	// The processor time from the moment when the proxy of a PE is woken until it sleeps again. It
	// is used if proxies share the processors of the threads that compute.
	Wake sim.Time
}

// copyTime returns the time in which a processor copies bytes.
func (m *Model) copyTime(bytes uint64) sim.Time { return sim.Time(m.Byte * float64(bytes)) }

// zeroCosts makes all work of processors for the network free, to find out what that work costs.
func (m *Model) zeroCosts() {
	m.Call, m.Message, m.OneSided, m.Completed, m.Byte, m.Wake = 0, 0, 0, 0, 0, 0
}

// onNode is the assumed time of an operation between PEs of one host: onNode nanoseconds, and one
// more for every onNodeBytes bytes. It is used if a call has no recorded time, or one that is
// longer than `longest` plus a nanosecond for each byte.
const onNode, onNodeBytes, longest = 100, 10, 10_000

// names maps the name of a model to its simulated network, the same as in the tests.
var names = map[string]func() sim.Model{"efa": sim.EFA, "efa-direct": sim.EFADirect, "verbs": sim.Verbs, "tcp": sim.TCP}

// Names returns the names of all models.
func Names() []string {
	var all []string
	for n := range names {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// Named returns the model with a name, without the faults that the network of the tests simulates.
// The processor times are assumptions unless Fit replaces them: 300 ns for an operation, as in the
// tests of rates, but 2,500 ns over tcp, where it is a call of the kernel, which copies each byte,
// at 5 GB/s. A call that uses the network takes 30 ns; several calls may share a message
// (capi/core/core.c).
func Named(name string) (Model, error) {
	f, ok := names[name]
	if !ok {
		return Model{}, shmerr.Causef(shmerr.ErrArgument, "there is no model %q (there are %s)", name, strings.Join(Names(), ", "))
	}
	m := Model{Model: f(), Call: 30, Message: 300, OneSided: 300, Completed: 200, Wake: 50 * sim.Microsecond}
	m.Faults = faults.Faults{}
	if name == "tcp" {
		m.Message, m.OneSided, m.Completed = 2500, 2500, 1500
		m.Byte = 0.2
	}
	return m, nil
}

// String describes the model in words.
func (m *Model) String() string {
	wire := "bandwidth without limit"
	if m.Bandwidth > 0 {
		wire = fmt.Sprintf("%.3g Gb/s a NIC", float64(m.Bandwidth)/1e9)
	}
	return fmt.Sprintf("%s: %.3g us from NIC to NIC, %s, %d ns of a processor for a call, %d for a message, %d for a one-sided operation and %.3g for each KiB of it at both ends, %d for a completion and %.3g us each time a proxy is woken that has no processor of its own",
		m.Name, float64(m.Latency)/1e3, wire, m.Call, m.Message, m.OneSided, 1024*m.Byte, m.Completed, float64(m.Wake)/1e3)
}

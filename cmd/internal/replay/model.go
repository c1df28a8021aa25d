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

	// The time of a processor for each call that goes to the network, each message and each
	// one-sided operation that is handed to the NIC, and each completion.
	Call, Message, OneSided, Completed sim.Time

	// The time of a processor at each end, in nanoseconds for each byte of a one-sided operation: a
	// network without RDMA copies. The bytes of a message are part of its cost.
	Byte float64

	// The time of a processor each time that the proxy of a PE is woken, until it sleeps again. It
	// counts where proxies share the processors of the threads that compute.
	Wake sim.Time
}

// copied is the time in which a processor copies bytes.
func (m *Model) copied(bytes uint64) sim.Time { return sim.Time(m.Byte * float64(bytes)) }

// free sets the costs of the processor to 0.
func (m *Model) free() { m.Call, m.Message, m.OneSided, m.Completed, m.Byte, m.Wake = 0, 0, 0, 0, 0, 0 }

// onNode is the assumed time of an operation between PEs of one host: so many nanoseconds, and so
// many bytes each nanosecond. It is used where a call has no recorded time of its own, or one of
// more than `longest` and one byte each nanosecond.
const onNode, onNodeBytes, longest = 100, 10, 10_000

// names has the simulated network of each model. Its promises, packets and wires are those of the
// tests.
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

// Named returns the model of a name. Faults are left out: a prediction is of a good day. The times
// of the processor are assumptions where Fit does not replace them: 300 ns for an operation, as in
// the tests of rates, but 2,500 ns over tcp, where it is a call of the kernel, which copies each
// byte, at 5 GB/s. A call takes 30 ns; many share a message (capi/core/core.c).
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

func (m *Model) String() string {
	wire := "bandwidth without limit"
	if m.Bandwidth > 0 {
		wire = fmt.Sprintf("%.3g Gb/s a NIC", float64(m.Bandwidth)/1e9)
	}
	return fmt.Sprintf("%s: %.3g us from NIC to NIC, %s, %d ns of a processor for a call, %d for a message, %d for a one-sided operation and %.3g for each KiB of it at both ends, %d for a completion and %.3g us each time a proxy is woken that has no processor of its own",
		m.Name, float64(m.Latency)/1e3, wire, m.Call, m.Message, m.OneSided, 1024*m.Byte, m.Completed, float64(m.Wake)/1e3)
}

// Package pathmap has the path map of a job: by which path each PE reaches the heap of each other
// PE, from calls of the host and from kernels. It prints the map as text. It chooses no path and
// communicates with no PE: each PE reports its own paths, and runtime/topo finds the PEs that share
// a host.
package pathmap

import (
	"fmt"

	"libshmem"
	"libshmem/runtime/shmerr"
	"libshmem/runtime/topo"
)

// Path is how operations reach a heap, as the letter that the map prints.
type Path byte

// The paths. A kernel submits an operation that its GPU cannot execute itself to a ring, and the
// proxy uses the path.
const (
	Own     Path = '.' // the heap is the PE's own
	Memory  Path = 'm' // loads and stores of the CPU, in the memory file of the host
	Direct  Path = 'g' // loads and stores of the GPU
	Copy    Path = 'c' // a copy engine of the GPU
	Network Path = 'n'
	None    Path = '-' // the PE runs no kernels
)

// Row is one PE's report of its paths to the other PEs.
type Row struct {
	Name     string   // name of the PE's host
	Host     string   // a letter for the Path to each PE of its host, in their order, for calls of the host
	Kernels  string   // the same for kernels; "": the PE runs none
	Heap     string   // the memory of its heap, a word of SHMEM_HEAP
	GPU      string   // PCI address of its GPU; "": none
	Provider string   // libfabric provider; "": the job needs no network
	NICs     string   // names of its NICs, separated by commas
	Eager    string   // how the network sends puts with an eager token, in few words; "": like any put with a signal
	Reached  string   // how the network reaches its heap in GPU memory; "": the heap is in main memory
	Why      []string // reasons, in few words, why paths within its host are not the shortest
}

// Map is the path map of a job.
type Map struct {
	nodes *topo.Nodes
	rows  []Row
}

// New makes the map from the rows that all PEs have reported, and returns an error if a row does
// not fit the nodes.
func New(nodes *topo.Nodes, rows []Row) (*Map, error) {
	refuse := func(object, format string, args ...any) error {
		return &shmerr.Error{Op: "read", Object: "the ways of " + object, Cause: shmerr.Causef(shmerr.ErrVersion, format, args...),
			Remedy: "start every PE with the same version of the library"}
	}
	pes := 0
	for _, members := range nodes.Members {
		pes += len(members)
	}
	if len(rows) != pes {
		return nil, refuse(fmt.Sprintf("%d PEs", pes), "%d have reported them", len(rows))
	}
	for pe, r := range libshmem.ByPE(rows) {
		if n := len(nodes.Peers(pe)); len(r.Host) != n || len(r.Kernels) != n && r.Kernels != "" {
			return nil, refuse(fmt.Sprintf("PE %d", pe), "it has %d and %d to the %d PEs of its host", len(r.Host), len(r.Kernels), n)
		}
	}
	return &Map{nodes, rows}, nil
}

// Row returns the report of a PE.
func (m *Map) Row(pe libshmem.PE) Row { return m.rows[pe] }

// Host returns the path of calls that one PE makes to the heap of another.
func (m *Map) Host(from, to libshmem.PE) Path { return m.path(m.rows[from].Host, from, to) }

// Kernels returns the path of operations that kernels of one PE make on the heap of another.
func (m *Map) Kernels(from, to libshmem.PE) Path {
	if m.rows[from].Kernels == "" {
		return None
	}
	return m.path(m.rows[from].Kernels, from, to)
}

// path returns the path from one PE to another: Network between hosts, else the letter that the PE
// has reported. letters has one for each PE of the host.
func (m *Map) path(letters string, from, to libshmem.PE) Path {
	if m.nodes.Node(from) != m.nodes.Node(to) {
		return Network
	}
	return Path(letters[m.nodes.Rank(to)])
}

package topo

import (
	"fmt"
	"slices"
	"strings"

	"libshmem/runtime/shmerr"
)

// NIC is a NIC that PEs may use, as libfabric names it.
type NIC struct {
	Name string
	PCI  string // its address; "" if libfabric does not report it
}

// Process is a PE of the job on this machine.
type Process struct {
	GPU  string // the PCI address of the PE's GPU; "": it has none
	CPUs Set    // the processors that it may use
}

// Request describes a choice of NICs for PEs. All processes of the host that make the same request
// get the same plan.
type Request struct {
	NICs []NIC     // in their order
	PEs  []Process // in the order of the job
	All  bool      // the user has named the NICs, so each is to be used by some PE
	// Together assigns all NICs to each PE, and InTurn one NIC to each PE, round robin. A Mapping
	// comes before both. Without any of the three, the distances decide.
	Together, InTurn bool
	Mapping          Mapping
}

// Pick is a NIC that the plan assigns to a PE.
type Pick struct {
	NIC   int    // index in the Request
	Class Class  // the distance from the PE's GPU, or else from its processors
	Why   string // the reason, for messages
}

// Plan decides which NICs each PE uses, and returns them by PE: those of a mapping, all for every
// PE (Together), round robin (InTurn), or the nearest ones. Without NICs, no PE uses any.
func (m *Machine) Plan(r Request) ([][]Pick, error) {
	p := &plan{m: m, Request: &r, picks: make([][]Pick, len(r.PEs))}
	for _, n := range r.NICs {
		var place Place
		if d := m.Find(n.PCI, n.Name); d != nil {
			place = d.Place
		}
		p.places = append(p.places, place)
	}
	p.findGPUs()
	switch {
	case len(r.NICs) == 0:
	case len(r.Mapping) > 0:
		return p.picks, p.assignMapped()
	case r.Together:
		for pe := range r.PEs {
			for n := range r.NICs {
				p.addPick(pe, n, "named in SHMEM_NIC_LIST, for every PE")
			}
		}
	case r.InTurn:
		p.inTurn()
	default:
		p.byNearness()
	}
	return p.picks, nil
}

// plan is the state of a call of Plan.
type plan struct {
	*Request
	m      *Machine
	places []Place // of the NICs
	gpus   []Place // of the machine's GPUs, then of GPUs of PEs that the machine's description lacks
	gpu    []int   // by PE: the index of its GPU in gpus; -1: none
	picks  [][]Pick
}

// findGPUs numbers all GPUs of the machine, those of other jobs, too, so that jobs on one machine
// distribute the NICs in the same way. A PE's GPU that the topology lacks gets a further number.
func (p *plan) findGPUs() {
	var known []string
	for _, d := range p.m.Of(GPU) {
		known, p.gpus = append(known, d.PCI), append(p.gpus, d.Place)
	}
	for _, pe := range p.PEs {
		i := -1
		if pe.GPU != "" {
			if i = slices.Index(known, address(pe.GPU)); i < 0 {
				i = len(known)
				known, p.gpus = append(known, address(pe.GPU)), append(p.gpus, Place{})
			}
		}
		p.gpu = append(p.gpu, i)
	}
}

// number returns the index of a PE in a mapping for `counted` PEs, or in a round robin over
// `counted` NICs. If the job has `counted` PEs on this host, or the PE has no GPU, the result is
// the PE's index among the job's PEs on this host. Otherwise the job is one of several on this
// host, each with some of the GPUs, or it does not use all GPUs: then the result is the index of
// the PE's GPU, and further PEs on that GPU have indices after those of all GPUs.
func (p *plan) number(pe, counted int) int {
	if counted == len(p.PEs) || p.gpu[pe] < 0 {
		return pe
	}
	n := p.gpu[pe]
	for before := range pe {
		if p.gpu[before] == p.gpu[pe] {
			n += len(p.gpus)
		}
	}
	return n
}

// place returns the place of a PE: that of its GPU, or otherwise of its processors.
func (p *plan) place(pe int) Place {
	if g := p.gpu[pe]; g >= 0 {
		return p.gpus[g]
	}
	return Place{CPUs: p.PEs[pe].CPUs}
}

// addPick adds a NIC to the NICs that a PE uses, with the reason.
func (p *plan) addPick(pe, nic int, why string) {
	p.picks[pe] = append(p.picks[pe], Pick{nic, p.m.Distance(p.place(pe), p.places[nic]), why})
}

// assignMapped assigns the NICs that SHMEM_NIC_PE_MAPPING names for each PE of the host.
func (p *plan) assignMapped() error {
	for pe := range p.PEs {
		n := p.number(pe, p.Mapping.PEs())
		for _, name := range p.Mapping.At(n).Names {
			nic := slices.IndexFunc(p.NICs, func(n NIC) bool { return SameName(n.Name, name) })
			if nic < 0 {
				return p.unknown(name)
			}
			p.addPick(pe, nic, fmt.Sprintf("SHMEM_NIC_PE_MAPPING for PE %d of the host", n%p.Mapping.PEs()))
		}
	}
	return nil
}

// unknown returns the error for a NIC in the Mapping that the request does not have.
func (p *plan) unknown(name string) error {
	var names []string
	for _, n := range p.NICs {
		names = append(names, n.Name)
	}
	return &shmerr.Error{
		Op: "choose", Object: "NIC",
		Cause:  shmerr.Causef(shmerr.ErrSetting, "SHMEM_NIC_PE_MAPPING names %q; the NICs that can be used together are %s", name, strings.Join(names, ", ")),
		Remedy: "name one of them, or unset SHMEM_NIC_PE_MAPPING to choose by nearness",
	}
}

// inTurn assigns one NIC to each PE, round robin by the PE's number on the host.
func (p *plan) inTurn() {
	for pe := range p.PEs {
		n := p.number(pe, len(p.NICs))
		p.addPick(pe, n%len(p.NICs), fmt.Sprintf("in turn, number %d of the host", n))
	}
}

// byNearness assigns NICs to PEs by distance: first to all GPUs of the machine, and then the NICs
// of each GPU to its PEs. PEs without a GPU share all NICs among themselves, as if there were no
// GPUs.
func (p *plan) byNearness() {
	var withoutGPU []int
	byGPU := make([][]int, len(p.gpus)) // the PEs of each GPU
	for pe, g := range p.gpu {
		if g < 0 {
			withoutGPU = append(withoutGPU, pe)
		} else {
			byGPU[g] = append(byGPU[g], pe)
		}
	}
	all := make([]int, len(p.NICs))
	for i := range all {
		all[i] = i
	}
	p.shareAmong(withoutGPU, all, p.All, "PEs", nil)
	if len(withoutGPU) == len(p.PEs) {
		return
	}
	shares := p.m.Share(p.gpus, p.places, p.All)
	why := p.explain(p.gpus, all, shares, "GPUs")
	for g, pes := range byGPU {
		p.shareAmong(pes, shares[g], true, "PEs on the GPU", why[g])
	}
}

// shareAmong shares NICs among PEs; all says that each NIC is to be used. noun is the word for
// these PEs in reasons. If before is not nil, these PEs have one GPU: then before[n] is the reason
// why the NIC nics[n] was assigned to that GPU, and the reason of a PE begins with it.
func (p *plan) shareAmong(pes, nics []int, all bool, noun string, before []string) {
	var users, places []Place
	for _, pe := range pes {
		users = append(users, p.place(pe))
	}
	for _, n := range nics {
		places = append(places, p.places[n])
	}
	shares := p.m.Share(users, places, all)
	why := p.explain(users, nics, shares, noun)
	for i, pe := range pes {
		for k, n := range shares[i] {
			reason := why[i][k]
			if before != nil {
				// A PE that is alone on its GPU gets all NICs of the GPU.
				if reason = before[n]; len(pes) > 1 {
					reason += fmt.Sprintf("; of %d %s: %s", len(pes), noun, why[i][k])
				}
			}
			p.addPick(pe, nics[n], reason)
		}
	}
}

// explain returns, for each PE or GPU in users, why Share has assigned each of its NICs to it.
// shares is the result of Share: indices into nics. noun is the plural word for the PEs or GPUs in
// these reasons.
func (p *plan) explain(users []Place, nics []int, shares [][]int, noun string) [][]string {
	count := make([]int, len(nics)) // users of each NIC
	for _, share := range shares {
		for _, n := range share {
			count[n]++
		}
	}
	why := make([][]string, len(users))
	for u, share := range shares {
		nearest := OtherSocket
		alike := map[Class]int{} // how many NICs are at each distance
		for _, n := range nics {
			c := p.m.Distance(users[u], p.places[n])
			nearest = min(nearest, c)
			alike[c]++
		}
		for _, n := range share {
			c := p.m.Distance(users[u], p.places[nics[n]])
			var reason string
			switch {
			case c > nearest && slices.ContainsFunc(share, func(o int) bool { return p.m.Distance(users[u], p.places[nics[o]]) < c }):
				// Share adds a farther NIC to a nearer one only if all NICs are to be used.
				reason = "named in the settings, and no nearer to another PE or GPU"
			case c > nearest:
				reason = "nearer ones are taken"
			case len(nics) == 1:
				reason = "the only one"
			case alike[c] == 1:
				reason = "the nearest"
			default:
				reason = fmt.Sprintf("one of %d that are as near", alike[c])
			}
			switch {
			case count[n] > 1:
				reason += fmt.Sprintf(", shared by %d: there are %d for %d %s", count[n], len(nics), len(users), noun)
			case len(users) > 1:
				reason += ", for it alone"
			}
			why[u] = append(why[u], reason)
		}
	}
	return why
}

// Candidates returns the NICs that a job would probably use, for a machine on which libfabric does
// not run: RDMA NICs, or network interfaces if there are none; of these the ones on the fastest
// links.
func (m *Machine) Candidates() []NIC {
	devices := m.Of(RDMA)
	if len(devices) == 0 {
		devices = m.Of(Ethernet)
	}
	fastest := 0.0
	for _, d := range devices {
		fastest = max(fastest, d.Speed)
	}
	var nics []NIC
	for _, d := range devices {
		if d.Speed >= fastest*0.99 { // a difference of less than 1% does not count
			nics = append(nics, NIC{d.Name(), d.PCI})
		}
	}
	slices.SortStableFunc(nics, func(a, b NIC) int { return Natural(a.Name, b.Name) })
	return nics
}

// Everybody returns an example of the PEs of a machine, to print a plan without a job: one on each
// GPU, or one on each NUMA node if there is no GPU.
func (m *Machine) Everybody() []Process {
	var pes []Process
	for _, d := range m.Of(GPU) {
		pes = append(pes, Process{GPU: d.PCI, CPUs: d.CPUs})
	}
	for _, n := range m.Nodes {
		if len(m.Of(GPU)) == 0 {
			pes = append(pes, Process{CPUs: n.CPUs})
		}
	}
	if len(pes) == 0 {
		pes = append(pes, Process{CPUs: m.CPUs})
	}
	return pes
}

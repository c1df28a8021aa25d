package topo

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Machine is the topology that decides which NIC is near which GPU or process.
type Machine struct {
	Name     string // of the product; "" where it is not known
	Source   string // the source of the description, for messages
	CPUs     Set    // all processors
	Packages []Set  // the processors of each socket
	Nodes    []Node // the NUMA nodes, by number
	Devices  []Device
}

// Node is a NUMA node.
type Node struct {
	Number int
	CPUs   Set
}

// Kind is the use of a device.
type Kind uint8

// The kinds of devices that this package distinguishes.
const (
	GPU  Kind = iota + 1
	RDMA      // a NIC that programs drive themselves: EFA, InfiniBand, Slingshot
	Ethernet
)

// Device is a GPU or a NIC.
type Device struct {
	Kind  Kind
	PCI   string   // the PCI address, 0000:17:00.0; "" if it is not a PCI device
	Names []string // the system's names, the RDMA ones first
	Speed float64  // of the PCI link in GB/s; 0: not known
	Place
}

// Name returns the first of the device's names, or its PCI address if it has none.
func (d *Device) Name() string {
	if len(d.Names) > 0 {
		return d.Names[0]
	}
	return d.PCI
}

// Place is the location of a device in a machine, or of a process, by the processors that it may
// use.
type Place struct {
	CPUs    Set      // the processors near a device, or of a process; empty: not known
	Bridges []string // the PCI bridges from the root complex to a device; nil for a process
}

// address returns a PCI address in the kernel's form: small letters, and a domain of four digits.
// Drivers write the domain with eight digits, or use capital letters.
func address(pci string) string {
	pci = strings.ToLower(strings.TrimSpace(pci))
	domain, rest, ok := strings.Cut(pci, ":")
	if v, err := strconv.ParseUint(domain, 16, 32); ok && err == nil {
		domain = strconv.FormatUint(v, 16)
		return strings.Repeat("0", max(0, 4-len(domain))) + domain + ":" + rest
	}
	return pci
}

// Find returns the device with a PCI address, or else the one with a name; nil if there is none.
// Both may be empty. libfabric appends the kind of endpoint to names of EFA (rdmap16s27-rdm), which
// Find ignores.
func (m *Machine) Find(pci, name string) *Device {
	if pci != "" {
		pci = address(pci)
		for i := range m.Devices {
			if d := &m.Devices[i]; d.PCI == pci {
				return d
			}
		}
	}
	for _, n := range []string{name, beforeDash(name)} {
		for i := range m.Devices {
			if d := &m.Devices[i]; n != "" && slices.Contains(d.Names, n) {
				return d
			}
		}
	}
	return nil
}

// SameName reports whether name, as a user writes it, names the NIC with libfabric's name nic.
// libfabric appends the kind of endpoint to names of EFA (rdmap16s27-rdm), which the user may leave
// out.
func SameName(nic, name string) bool {
	return nic == name || strings.HasPrefix(nic, name+"-")
}

// beforeDash returns a name up to its last dash; "" if it has none.
func beforeDash(name string) string {
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		return name[:i]
	}
	return ""
}

// Of lists the devices of a kind in the order of their PCI addresses, in which nvidia-smi numbers
// GPUs.
func (m *Machine) Of(kind Kind) []*Device {
	var list []*Device
	for i := range m.Devices {
		if d := &m.Devices[i]; d.Kind == kind {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b *Device) int { return cmp.Compare(a.PCI, b.PCI) })
	return list
}

// Only removes all GPUs but those with these addresses: a container shows all PCI devices of its
// machine, and may use some. An empty list removes none.
func (m *Machine) Only(gpus []string) {
	if len(gpus) == 0 {
		return
	}
	m.Devices = slices.DeleteFunc(m.Devices, func(d Device) bool {
		return d.Kind == GPU && !slices.ContainsFunc(gpus, func(a string) bool { return address(a) == d.PCI })
	})
}

// Near returns the NUMA node that contains the processors of a place; nil if the place is on
// several nodes or not known, or if the machine has only one node.
func (m *Machine) Near(p Place) *Node {
	if len(m.Nodes) < 2 || p.CPUs == "" {
		return nil
	}
	for i := range m.Nodes {
		if p.CPUs.Within(m.Nodes[i].CPUs) {
			return &m.Nodes[i]
		}
	}
	return nil
}

// Natural compares names with numbers in them, for sorting: rdmap2 comes before rdmap10. Of two
// equal numbers the one with fewer leading zeros comes first.
func Natural(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			va, vb := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if d := cmp.Or(cmp.Compare(len(va), len(vb)), cmp.Compare(va, vb), cmp.Compare(na, nb)); d != 0 {
				return d
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns the number of digits at the start of a text.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

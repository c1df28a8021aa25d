package topo

// Class is the distance of a NIC from a GPU or a process, the nearest first. The short names are
// those of nvidia-smi topo, which has none for SameSocket.
type Class uint8

// The classes.
const (
	SameSwitch   Class = iota // PIX: one PCI switch leads to both, or they are one card
	SameRootPort              // PXB: several switches, and the processor is not on the path
	SameRoot                  // PHB: the path is through a root complex of the processor
	SameNode                  // NODE: from one root complex of a NUMA node to another
	SameSocket                // SOC: from one NUMA node of a socket to another
	OtherSocket               // SYS: from socket to socket, or the distance is not known
	classes
)

// classNames has the short name of each Class, that of nvidia-smi topo if it has one, and its text.
var classNames = [classes]struct{ short, text string }{
	{"PIX", "same switch"}, {"PXB", "same root port, several switches between"}, {"PHB", "same root complex"},
	{"NODE", "same NUMA node"}, {"SOC", "same socket, other NUMA node"}, {"SYS", "other socket, or not known"},
}

// Short returns the name of nvidia-smi topo, or SOC.
func (c Class) Short() string { return classNames[c].short }

// String returns the words for the class in messages.
func (c Class) String() string { return classNames[c].text }

// Distance returns the class of the distance between two places of this machine. The distance is
// the same in both directions. Places form a tree: of the distances between three places, the two
// greatest are equal.
func (m *Machine) Distance(a, b Place) Class {
	if len(a.Bridges) > 0 && len(b.Bridges) > 0 && a.Bridges[0] == b.Bridges[0] {
		switch {
		case len(a.Bridges) < 2 || len(b.Bridges) < 2 || a.Bridges[1] != b.Bridges[1]:
			return SameRoot
		case switchOf(a.Bridges) == switchOf(b.Bridges):
			return SameSwitch
		}
		return SameRootPort
	}
	if a.CPUs == "" || b.CPUs == "" {
		return OtherSocket
	}
	if len(m.Nodes) > 1 {
		if n := m.Near(a); n != nil && b.CPUs.Within(n.CPUs) {
			return SameNode
		}
	}
	for _, p := range m.Packages {
		if a.CPUs.Within(p) && b.CPUs.Within(p) {
			if len(m.Nodes) > 1 && (m.Near(a) != nil || m.Near(b) != nil) {
				return SameSocket
			}
			return SameNode // the description has no NUMA nodes within the socket
		}
	}
	if len(m.Packages) == 0 && len(m.Nodes) < 2 {
		return SameNode
	}
	return OtherSocket
}

// switchOf returns the bridge that represents the switch of a device. A switch has two levels of
// bridges, the port to the processor and a port for each device. So switchOf returns the bridge
// above the device's own port, unless that bridge is the root complex. bridges begins with the root
// complex and has at least one more; without a switch that is the root port.
func switchOf(bridges []string) string { return bridges[max(1, len(bridges)-2)] }

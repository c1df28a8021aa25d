package topo

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// NICNode is the NUMA node that a NIC is attached to, by the name that its
// libfabric domain has: an interface, an RDMA device, or such a device with the
// endpoint type behind a dash (EFA). -1: the machine does not say, or has one
// node only. root stands before /sys; it is empty but in tests.
func NICNode(root, domain string) int {
	names := []string{domain}
	if i := strings.LastIndexByte(domain, '-'); i > 0 {
		names = append(names, domain[:i])
	}
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, "/.") {
			continue
		}
		for _, class := range []string{"net", "infiniband", "cxi"} {
			if node, ok := readNode(filepath.Join(root, "/sys/class", class, name, "device/numa_node")); ok {
				return node
			}
		}
	}
	return -1
}

// PCINode is the NUMA node of a PCI device, by its address, such as
// 0000:17:00.0. -1 as NICNode.
func PCINode(root, address string) int {
	if node, ok := readNode(filepath.Join(root, "/sys/bus/pci/devices", strings.ToLower(filepath.Base(address)), "numa_node")); ok {
		return node
	}
	return -1
}

func readNode(file string) (int, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	node, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return node, err == nil
}

// NodeCPUs lists the processors of a NUMA node; nil when there is no such node.
func NodeCPUs(root string, node int) []int {
	if node < 0 {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, "/sys/devices/system/node", "node"+strconv.Itoa(node), "cpulist"))
	if err != nil {
		return nil
	}
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), ",") {
		first, last, ranged := strings.Cut(part, "-")
		a, err := strconv.Atoi(first)
		if err != nil {
			continue // an empty list: a node of memory only
		}
		b := a
		if ranged {
			if b, err = strconv.Atoi(last); err != nil {
				continue
			}
		}
		for ; a <= b; a++ {
			cpus = append(cpus, a)
		}
	}
	return cpus
}

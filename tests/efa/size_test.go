package efa

import (
	"fmt"
	"strings"

	loads "libshmem/tests/need"
)

// D1 and D9: the demands of a job's size on a queue, and the number of posted receives.
var sizeNeeds = []need{
	{name: "D1: 32 engines, efa", nic: "version=1.22", test: manyEngines(32)},
	{name: "D1: 33 engines, efa", nic: "version=1.22", test: manyEngines(33)},
	{name: "D1: 32 engines, efa-direct", nic: "version=2.6", test: manyEngines(32)},
	{name: "D1: 33 engines, efa-direct", nic: "version=2.6", test: manyEngines(33)},
	{name: "D1: 64 engines", nic: "version=2.6", test: manyEngines(64)},
	{name: "D1: 128 engines", nic: "version=2.6", test: manyEngines(128)},
	{name: "D1: 256 engines", nic: "version=2.6", test: manyEngines(256), long: loads.Left("engines")},
	{name: "D1: 5 PEs, the device grants 4096 entries", nic: "version=2.6 max_cq=4096", test: everyByte(5, 1, "")},
	{name: "D1: 5 PEs, the device of one grants 4096 entries", nic: "version=2.6", test: everyByte(5, 1, "max_cq=4096")},
	{name: "D1: 17 PEs, the device grants 16384 entries", nic: "version=2.6 max_cq=16384", test: everyByte(17, 1, "")},
	{name: "D1: the log tells the window", nic: "version=2.6", test: tellsWindow},
	{name: "jobs: 8 PEs, 1 NIC, efa", nic: "version=1.22", test: everyByte(8, 1, ""), long: loads.Left("engines")},
	{name: "jobs: 8 PEs, 4 NICs, efa", nic: "version=1.22 nics=4", test: everyByte(8, 4, "")},
	{name: "jobs: 8 PEs, 1 NIC, efa-direct", nic: "version=2.6", test: everyByte(8, 1, "")},
	{name: "jobs: 8 PEs, 4 NICs, efa-direct", nic: "version=2.6 nics=4", test: everyByte(8, 4, ""), long: loads.Left("engines")},
	{name: "jobs: 33 PEs, 1 NIC, efa", nic: "version=1.22", test: everyByte(33, 1, ""), long: loads.Left("engines")},
	{name: "jobs: 33 PEs, 1 NIC, efa-direct", nic: "version=2.6", test: everyByte(33, 1, "")},
	{name: "jobs: 33 PEs, 4 NICs, efa", nic: "version=1.22 nics=4", test: everyByte(33, 4, ""), long: true},
	{name: "jobs: 33 PEs, 4 NICs, efa-direct", nic: "version=2.6 nics=4", test: everyByte(33, 4, ""), long: true},
	{name: "D9: receives, efa-direct", nic: "version=2.6", test: receives(1, 1024)},
	{name: "D9: receives, efa", nic: "version=1.22", test: receives(1, 64)},
	{name: "D9: receives of 32 engines", nic: "version=2.6", test: receives(32, 512)},
	{name: "D9: receives, the device grants 4096 entries", nic: "version=2.6 max_cq=4096", test: receives(2, 1024)},
	{name: "D9: 9 engines at one, the device grants 4096 entries", nic: "version=2.6 max_cq=4096", test: rush(9, 256, 1024)},
	{name: "D9: 32 engines at one", nic: "version=2.6", test: rush(32, 1024, 512)},
}

// everyByte is a job of an all-to-all that checks every byte, with a number of PEs and NICs for
// each. PE 1 may have its own word in FAKE_NIC.
func everyByte(pes, nics int, own string) func(*place) error {
	return func(p *place) error {
		var names []string
		for i := range nics {
			names = append(names, fmt.Sprintf("rdmap%ds6-rdm", 16*i))
		}
		argv := []string{p.compile("testdata/alltoall.c"), "1"}
		if own != "" {
			argv = append(p.differs(1, "FAKE_NIC='"+p.nic+" "+own+"'"), argv...)
		}
		mapping := fmt.Sprintf("SHMEM_NIC_PE_MAPPING=%s:1:%d", strings.Join(names, "+"), pes)
		out, err := p.job(pes, []string{mapping}, argv...)
		if err := ends(out, err, pes); err != nil {
			return err
		}
		return p.queues(pes * nics)
	}
}

// tellsWindow is a job in which the device of PE 1 grants a smaller queue than the others: all use
// the window that fits it, and report it.
func tellsWindow(p *place) error {
	argv := append(p.differs(1, "FAKE_NIC='"+p.nic+" max_cq=4096'"), p.compile("testdata/alltoall.c"), "1")
	out, err := p.job(5, []string{"SHMEM_LOG_LEVEL=debug"}, argv...)
	if err := ends(out, err, 5); err != nil {
		return err
	}
	const line = "each of 5 PEs may have 512 numbered writes in flight to each other PE: that is the room at PE 1\n"
	if n := strings.Count(out, line); n != 5 {
		return fmt.Errorf("%d of 5 PEs tell the window", n)
	}
	return nil
}

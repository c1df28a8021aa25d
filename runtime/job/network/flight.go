package network

import (
	"fmt"

	"libshmem"
	"libshmem/runtime/proxy/flight"
)

// flights caps the PEs whose events a report contains that is not about a single PE.
const flights = 3

// Flight returns the flight recorder's events with the PE `of`, as lines to print below a report.
// There are none for a PE of this node. With -1 it chooses PEs with operations under way, and those
// with the latest events.
func (nw *Network) Flight(of int) (lines []string) {
	if nw == nil || of >= 0 && nw.Nodes.Node(libshmem.PE(of)) == nw.Nodes.Node(nw.Me) {
		return nil
	}
	for i, e := range nw.Engines {
		name := ""
		if len(nw.Engines) > 1 {
			name = fmt.Sprintf(" by endpoint %d", i)
		}
		pes := []libshmem.PE{libshmem.PE(of)}
		var events [][]flight.Recorded
		locked := e.TryWithLock(lockTimeout, func() {
			if of < 0 {
				pes = e.Report.Latest(flights)
			}
			for _, pe := range pes {
				events = append(events, e.Report.Events(pe))
			}
		})
		if !locked {
			lines = append(lines, fmt.Sprintf("last events%s: cannot be read, another thread has the lock", name))
		}
		for i, all := range events {
			if len(all) > 0 {
				lines = append(lines, fmt.Sprintf("last events with PE %d%s, times before this report:", pes[i], name))
				lines = append(lines, flight.Lines(all)...)
			}
		}
	}
	return lines
}

package job

// The counts of a PE and its engines are added up here, and printed at the end of a job. The counts
// themselves are in the status page and in the engines, their names in runtime/stats. Any goroutine
// may read them.

import (
	"fmt"
	"strings"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/layout"
	"libshmem/runtime/stats"
	"libshmem/runtime/statuspage"
)

// Counters holds the counts of this PE and its engines.
type Counters struct {
	PEs         int                                         // of the job
	Live        *statuspage.PE                              // in the status page of this PE
	StatusPages func() []*proxy.EndpointPage                // the page of each engine
	CountOf     func(pe libshmem.PE) [layout.Counted]uint64 // the engines' counts of their work with a PE
}

// All returns what this PE and its engines have counted so far.
func (c *Counters) All() stats.PE {
	return stats.Collect(c.Live, c.StatusPages())
}

// allPEs stands for the sum of a counter over all PEs.
const allPEs = -1

// One returns one counter of this PE, for its work with one other PE or with all of them (allPEs).
// number is the counter's index in stats.Counters. One returns false if there is no such counter,
// or if it is not counted separately for each PE.
func (c *Counters) One(number int, pe libshmem.PE) (value uint64, ok bool) {
	if number < 0 || number >= len(stats.Counters) || pe < allPEs || int(pe) >= c.PEs {
		return 0, false
	}
	if pe == allPEs {
		all := c.All()
		return all.Values[number], true
	}
	if stats.Counters[number].Scope != stats.Peer {
		return 0, false
	}
	return c.CountOf(pe)[number], true
}

// NICs returns the traffic of each NIC of this PE.
func (c *Counters) NICs() []fabric.RailCount { return c.All().NICs }

// countsPrinting selects how the counts of a job are printed.
type countsPrinting struct {
	Me       libshmem.PE
	All      bool   // each PE's counts, and not only the table of the job
	Hosts    int    // of the job
	Provider string // of the network; "": there is none
	// Gather is an allgather: it returns the bytes of every PE.
	Gather func(mine []byte) ([][]byte, error)
}

// Print returns the text with the counts of this PE, if each PE is to print its own, and on PE 0
// the table of the job. It is collective. After an error the text has what was written before.
func (c *Counters) Print(p countsPrinting) (string, error) {
	mine := c.All()
	var b strings.Builder
	if p.All {
		if err := stats.One(&b, fmt.Sprintf("PE %d counted", p.Me), &mine); err != nil {
			return "", err
		}
	}
	all, err := p.Gather(mine.Encode())
	if err == nil && p.Me == 0 {
		err = c.table(&b, &p, all)
	}
	return b.String(), err
}

// table writes the table of the job's counters to b, from the encoded counts of all PEs.
func (c *Counters) table(b *strings.Builder, p *countsPrinting, all [][]byte) error {
	var rows []stats.Row
	for pe, encoded := range all {
		r, err := stats.Decode(encoded)
		if err != nil {
			return fmt.Errorf("PE %d: %w", pe, err)
		}
		rows = append(rows, r)
	}
	hosts := "1 host"
	if p.Hosts != 1 {
		hosts = fmt.Sprintf("%d hosts", p.Hosts)
	}
	title := fmt.Sprintf("%d PEs on %s counted", c.PEs, hosts)
	if p.Provider != "" {
		title += ", over " + p.Provider
	}
	if !p.All {
		title += " (SHMEM_STATS=all prints each PE's)"
	}
	return stats.Job(b, title, rows)
}

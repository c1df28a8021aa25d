package job

import (
	"errors"
	"fmt"
	"strings"

	"libshmem/fabric"
	"libshmem/runtime/config"
	"libshmem/runtime/stats"
	"libshmem/runtime/statuspage"
)

// openPage makes the status page of this PE.
func (j *Job) openPage() error {
	page, pe, err := statuspage.NewPE(j.Me, j.NPEs, len(j.Nodes.Members))
	if err != nil {
		return err
	}
	j.page, j.Live = page, pe
	return nil
}

// Counters returns what this PE and its engines have counted so far.
func (j *Job) Counters() stats.PE {
	return stats.Collect(j.Live, j.Network.Shown())
}

// AllPEs asks for a counter of all PEs together.
const AllPEs = -1

// Counter returns one counter of this PE, for its work with one other PE or with all of them. It
// returns false if there is no such counter, or if it is not kept for each PE.
func (j *Job) Counter(number, pe int) (value uint64, ok bool) {
	if number < 0 || number >= len(stats.Counters) || pe < AllPEs || pe >= j.NPEs {
		return 0, false
	}
	c := stats.Counters[number]
	if pe == AllPEs {
		all := j.Counters()
		return all.Values[number], true
	}
	if c.Scope != stats.Peer {
		return 0, false
	}
	return j.Network.CountOf(pe)[number], true
}

// NICs returns what each NIC of this PE has carried.
func (j *Job) NICs() []fabric.RailCount { return j.Counters().NICs }

// tell prints what SHMEM_STATS asks for, when the program has ended its work. All PEs call it,
// because the table of the job contains the counts of each.
func (j *Job) tell() error {
	if !j.tells {
		return nil
	}
	mine := j.Counters()
	var b strings.Builder
	if j.Config.Stats == config.StatsAll {
		if err := stats.One(&b, fmt.Sprintf("PE %d counted", j.Me), &mine); err != nil {
			return err
		}
	}
	all, err := j.boot.Allgather(mine.Encode())
	if err == nil && j.Me == 0 {
		err = j.tellAll(&b, all)
	}
	if b.Len() > 0 {
		err = errors.Join(err, j.log.Print(b.String()))
	}
	if err != nil {
		return fmt.Errorf("print the counters of the job: %w", err)
	}
	return nil
}

func (j *Job) tellAll(b *strings.Builder, all [][]byte) error {
	var rows []stats.Row
	for pe, encoded := range all {
		r, err := stats.Decode(encoded)
		if err != nil {
			return fmt.Errorf("PE %d: %w", pe, err)
		}
		rows = append(rows, r)
	}
	hosts := "1 host"
	if n := len(j.Nodes.Members); n != 1 {
		hosts = fmt.Sprintf("%d hosts", n)
	}
	title := fmt.Sprintf("%d PEs on %s counted", j.NPEs, hosts)
	if j.Network != nil {
		title += ", over " + j.Network.Provider()
	}
	if j.Config.Stats != config.StatsAll {
		title += " (SHMEM_STATS=all prints each PE's)"
	}
	return stats.Job(b, title, rows)
}

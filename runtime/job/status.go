package job

import (
	"errors"
	"fmt"

	"libshmem/runtime/config"
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

// printStats prints the counters of the job, as SHMEM_STATS says, when the program has ended its
// work. It is collective, because the table of the job contains the counts of each PE.
func (j *Job) printStats() error {
	if !j.JobInfo.Stats {
		return nil
	}
	p := countsPrinting{Me: j.Me, All: j.Settings.Stats == config.StatsAll, Hosts: len(j.Nodes.Members), Gather: j.Boot.Allgather}
	if j.Network != nil {
		p.Provider = j.Network.Provider()
	}
	text, err := j.Counters.Print(p)
	if text != "" {
		err = errors.Join(err, j.Log.Print(text))
	}
	if err != nil {
		return fmt.Errorf("print the counters of the job: %w", err)
	}
	return nil
}

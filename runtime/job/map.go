package job

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"libshmem/runtime/config"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/pathmap"
)

// wantsMap reports whether this PE's settings want the path map of the job to be printed. The peer
// info of each PE has the result, and all PEs call Map if one of them wants it.
func (j *Job) wantsMap() bool { return j.Log.Enabled("pe", config.LogDebug) }

// Map gathers the path by which each PE reaches each other PE. It is collective, and is called when
// the job is open.
func (j *Job) Map() (*pathmap.Map, error) {
	mine, err := meet.Encode(j.paths())
	if err != nil {
		return nil, err
	}
	all, err := j.Boot.Allgather(mine)
	if err != nil {
		return nil, err
	}
	rows, err := meet.DecodeAll[pathmap.Row](all)
	if err != nil {
		return nil, err
	}
	return pathmap.New(j.Nodes, rows)
}

// printMap prints the path map, if a PE wants it. It is collective then.
func (j *Job) printMap() error {
	if j.JobInfo.MapPrinter == meet.NoMapPrinter {
		return nil
	}
	m, err := j.Map()
	if err != nil || int(j.Me) != j.JobInfo.MapPrinter {
		return err
	}
	var b strings.Builder
	if err := m.Print(&b); err != nil {
		return err
	}
	return j.Log.Print(b.String())
}

// paths returns this PE's row of the path map: how callers on the CPU and kernels reach each PE of
// the node, by letters, what the network uses, and why faster paths are closed.
func (j *Job) paths() pathmap.Row {
	name, _ := os.Hostname() // "" if it is not known
	r := pathmap.Row{Name: name, Heap: j.heap.String(), GPU: j.Place.GPU}
	if j.Network != nil {
		r.Provider, r.NICs, r.Reached = j.Network.Provider(), j.Engine.Caps().Domain, j.Network.GPUPath()
		switch tile := j.Network.Tile(j.Me); {
		case tile > 0:
			r.Eager = "in tiles of " + strconv.Itoa(tile)
		case j.Network.Eager().Notified > 0:
			r.Eager = "with notifications"
		}
	}
	addReason := func(why string) {
		if why != "" && !slices.Contains(r.Why, why) {
			r.Why = append(r.Why, why)
		}
	}
	var host, kernels []byte
	for _, pe := range j.Nodes.Peers(j.Me) {
		path, why := j.Heaps.HostPath(pe)
		host = append(host, byte(path))
		addReason(why)
		if j.GPU != nil {
			path, why = j.Heaps.KernelPath(pe)
			kernels = append(kernels, byte(path))
			addReason(why)
		}
	}
	r.Host, r.Kernels = string(host), string(kernels)
	return r
}

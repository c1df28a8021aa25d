package job

import (
	"fmt"
	"slices"

	"libshmem/fabric"
	"libshmem/runtime/job/registration"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/gpustage"
)

// nicEnd is an endpoint whose NIC may reach the user heap in GPU memory.
type nicEnd struct {
	*proxy.Engine
	*gpustage.Stage
}

var _ registration.Registrant = nicEnd{}

// useStage gives an engine its GPU stage. It moves this PE's GPU memory by m; if m is nil, it moves
// only that of other PEs.
func (j *Job) useStage(i int, m gpustage.Memory) error {
	e := j.Engines[i]
	// All engines together pin as much memory as one would.
	s, err := gpustage.New(e.Host(), m, gpustage.Config{Chunks: max(2, gpustage.Chunks/j.proxies)})
	if err != nil {
		return err
	}
	e.Use(s)
	j.stages[i] = s
	return nil
}

// connect gives an engine, and its GPU stage, the endpoints of all PEs.
func (j *Job) connect(i int, infos [][]endpointInfo) ([]proxy.Endpoint, error) {
	job := j.boot.Secret().Number(fmt.Sprintf("messages of endpoint %d", i))
	ends, stages := make([]proxy.Endpoint, len(infos)), make([]gpustage.Endpoint, len(infos))
	for pe, of := range infos {
		c := &of[i]
		ends[pe] = proxy.Endpoint{Addr: c.Addr, Job: job, Base: c.Base, Key: c.Key, Window: c.Window}
		stages[pe] = gpustage.Endpoint{Device: c.Device, Atomics: c.Atomics, Extents: c.Extents, Flushes: c.Flushes}
	}
	if j.stages[i] == nil && slices.ContainsFunc(stages, func(s gpustage.Endpoint) bool { return s.Device }) {
		if err := j.useStage(i, nil); err != nil {
			return nil, err
		}
	}
	if err := j.Engines[i].Connect(ends); err != nil {
		return nil, err
	}
	if s := j.stages[i]; s != nil {
		s.Connect(stages)
		j.mapPeers(s)
	}
	return ends, nil
}

// mapPeers lets copies reach the heaps of this host that are mapped here.
func (j *Job) mapPeers(s *gpustage.Stage) {
	for _, pe := range j.Nodes.Peers(j.Me) {
		if j.Heaps.Copies(pe) {
			s.Map(fabric.PE(pe), j.Heaps.Mapped(pe))
		}
	}
}

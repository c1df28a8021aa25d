package network

import (
	"fmt"
	"slices"

	"libshmem/fabric"
	"libshmem/runtime/job/meet"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/gpustage"
	"libshmem/runtime/proxy/gpustage/stream"
)

// nicEndpoint is an endpoint whose NIC may reach the user heap in GPU memory, as the registry needs
// it: an engine and its GPU stage.
type nicEndpoint struct {
	e *proxy.Engine
	s *gpustage.Stage
}

// Caps returns what the engine's endpoint promises and supports.
func (n *nicEndpoint) Caps() fabric.Caps { return n.e.Caps() }

// Locked calls f under the engine's lock.
func (n *nicEndpoint) Locked(f func()) { n.e.WithLock(f) }

// FlushBy sets the function by which the GPU stage makes bytes visible that NICs have written.
func (n *nicEndpoint) FlushBy(f func() error) { n.s.FlushBy(f) }

// UnregisterHeap ends the endpoint's registrations of the user heap.
func (n *nicEndpoint) UnregisterHeap() error { return n.s.UnregisterHeap() }

// RegisterHeap registers a part of the user heap, from an offset on, with the endpoint's NIC.
func (n *nicEndpoint) RegisterHeap(offset uint64, loan gpustage.Loan, m fabric.GPUMemory) error {
	return n.s.RegisterHeap(offset, loan, m)
}

// useStage makes the GPU stage of engine i. The stage moves this PE's GPU memory with m; if m is
// nil, it moves only bytes to and from GPU memory of other PEs.
func (nw *Network) useStage(i int, m stream.Memory) error {
	e := nw.Engines[i]
	// The chunks are divided among the engines: together they pin as much memory as one would.
	s, err := gpustage.New(e.Host(), m, gpustage.Config{Chunks: max(2, gpustage.Chunks/nw.JobInfo.Proxies)})
	if err != nil {
		return err
	}
	e.Use(s)
	nw.stages[i] = s
	return nil
}

// connect connects engine i, and its GPU stage, to the endpoints of all PEs. If another PE's heap
// is in GPU memory, an engine without a stage gets one. The keys of its messages come from the
// job's secret.
func (nw *Network) connect(i int, infos [][]meet.EndpointInfo) ([]proxy.Endpoint, error) {
	job := nw.Boot.Secret().Number(fmt.Sprintf("messages of endpoint %d", i))
	seal := nw.sealKey(i)
	ends, stages := make([]proxy.Endpoint, len(infos)), make([]gpustage.Endpoint, len(infos))
	for pe, of := range infos {
		c := &of[i]
		ends[pe] = proxy.Endpoint{Addr: c.Addr, Job: job, Seal: seal, Base: c.Base, Key: c.Key, Window: c.Window}
		stages[pe] = gpustage.Endpoint{Device: c.Device, Atomics: c.Atomics, Extents: c.Extents, Flushes: c.Flushes}
	}
	if nw.stages[i] == nil && slices.ContainsFunc(stages, func(s gpustage.Endpoint) bool { return s.Device }) {
		if err := nw.useStage(i, nil); err != nil { // nil: it moves no GPU memory of this PE
			return nil, err
		}
	}
	if err := nw.Engines[i].Connect(ends); err != nil {
		return nil, err
	}
	if s := nw.stages[i]; s != nil {
		s.Connect(stages)
		nw.mapPeers(s)
	}
	return ends, nil
}

// sealKey returns the key for the seals, the message authentication codes, of an endpoint's
// messages. Only messages over sockets have seals, because another process may change their bytes.
// A seal takes 20 ns, and a message over sockets 1 us and more.
func (nw *Network) sealKey(i int) (key [2]uint64) {
	if !fabric.OverSockets(nw.Engines[i].Caps().Provider) {
		return key
	}
	return nw.Boot.Secret().SealKey(fmt.Sprintf("seals of endpoint %d", i))
}

// mapPeers tells a GPU stage the addresses of those heaps of this host that it reaches by copies
// between GPUs, not over the network.
func (nw *Network) mapPeers(s *gpustage.Stage) {
	for _, pe := range nw.Nodes.Peers(nw.Me) {
		if nw.Heaps.Copies(pe) {
			s.Map(pe, nw.Heaps.Mapped(pe))
		}
	}
}

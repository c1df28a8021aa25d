package core

/*
#include <stdlib.h>
#include "core.h"
*/
import "C"

import (
	"unsafe"

	"libshmem"
	"libshmem/runtime/config"
	"libshmem/runtime/job"
	_ "libshmem/runtime/proxy/fastpath" // so that go build compiles this package again when fastpath.h changes
)

// fill publishes a job to the front, by its members of struct shmemi_state. n_pes is set last,
// because the fast path checks only that: until then every call takes the slow path, which refuses
// it.
func fill(s *State, j *job.Job) {
	peers := j.Nodes.Peers(j.Me)
	control := j.Heaps.Of(j.Me) // where this PE's user heap begins; offsets of j.Layout are below it

	s.myPE = int32(j.Me)
	s.heapBase = uintptr(j.Heaps.Own())
	s.heapSize = j.Settings.SymmetricSize
	s.peerBase = basesInC(j, peers, j.Heaps.Of)
	s.nearBase = basesInC(j, peers, j.Heaps.Near)
	s.fastBase = s.nearBase
	if j.GPU != nil {
		s.gpu = 1
		s.mappedBase = basesInC(j, peers, j.Heaps.Mapped)
		setDriver(j)
	}
	if j.Network.CopiesInOwnContext() {
		s.copiesApart = 1
	}
	if j.GPU != nil && !j.Settings.DisableP2P {
		s.p2p = 1
	}
	// Buffers that may be in GPU memory, full checks, and ranges for a profiler need the slow path:
	// without an address in fastBase every access takes it.
	if j.GPU != nil || j.Settings.Checks == config.ChecksFull || !j.Ranges.FastPath() {
		s.fastBase = basesInC(j, nil, nil)
	}
	if j.Ranges.FastOrder() {
		s.fastOrder = 1
	}
	if j.Heaps.GrowTogether() {
		s.growsTogether = 1
	}
	if j.JobInfo.Crowded {
		s.crowded = 1
	}
	if j.JobInfo.NodeCrowded {
		s.nodeCrowded = 1
	}
	if j.Settings.Bind != config.BindOff {
		s.moves = 1
	}
	s.checks = uint32(j.Settings.Checks)
	s.live = j.Live
	s.nodePEs = uint32(len(peers))
	s.nodeRank = uint32(j.Nodes.Rank(j.Me))
	s.nodeMembers = pesInC(peers)
	leaders := j.Nodes.Leaders()
	s.nNodes = uint32(len(leaders))
	s.nodeLeaders = pesInC(leaders)
	s.node = uint32(j.Nodes.Node(j.Me))
	s.nodeOf = nodesInC(j)
	s.gpuFirst = pesInC(j.GPUFirst)
	s.teamsOffset = j.Layout.TeamsOffset
	s.teamSize = j.Layout.TeamSize
	s.agreeSize = j.Layout.AgreeSize
	s.notifyOffset = j.Layout.NotifyOffset
	s.notifyCount = uint32(j.Settings.NotifyCount)
	s.eagerCounters = uint32(j.Layout.EagerCounters)
	s.notifyStores = (*uint64)(j.Producers.Counters())
	s.teamInitOffset = j.Layout.TeamInitOffset
	mail := &j.Layout.Mail
	s.activeOffset, s.creditsOffset, s.sendsOffset = mail.Active, mail.Credits, mail.Sends
	s.landingsOffset, s.mailboxesOffset, s.mailboxSize = mail.Landings, mail.Boxes, uint32(mail.Ring)
	s.maxTeams = uint32(j.Layout.Teams)
	s.archiveTeams = uint32(j.Settings.ArchiveTeams)
	s.timeoutNs = uint64(j.Settings.Timeout)
	s.inboxOffset = j.Layout.InboxOffset
	s.inbox = unsafe.Add(control, -int(j.Layout.InboxOffset))
	s.scratch = unsafe.Add(control, -int(j.Layout.ScratchOffset))
	s.scratchSize = j.Layout.ScratchSize
	s.columnsOffset = j.Layout.ColumnsOffset
	if j.Engine != nil {
		s.networked = 1
		s.netChunk = j.Engine.PutMax()
		eager := j.Network.Eager()
		s.netTiles, s.netMessage, s.netNotified = tilesInC(j), uint32(eager.Message), eager.Notified
		if j.Network.Ordered() {
			s.netOrdered = 1
		}
		if j.Network.SignalsInOrder() {
			s.netSignals = 1
		}
		wire := j.Network.Wire()
		s.collectives = uint32(j.JobInfo.Collectives)
		s.wireLatency, s.wirePost, s.wireKib = wire.Latency, wire.Post, wire.KiB
		s.wireSend, s.wireReceive = wire.Send, wire.Receive
		n := j.Engine.Native()
		C.shmemi_core_set_fastpath(s.c(), &C.struct_shmemi_native{
			self: n.Self, poll: (*[0]byte)(n.Poll), recv: (*[0]byte)(n.Recv), inject: (*[0]byte)(n.Inject),
		}, (*C.struct_shmemi_fastpath)(unsafe.Pointer(j.Engine.State)))
	}
	fillFile(s, j)
	fillStatics(s, j)
	fillLost(s, j)
	s.nPEs = uint32(j.NPEs)
}

// empty resets the state at finalize, and frees the tables that fill has allocated. It sets to 0
// the members that are also read outside a job, and the members that fill sets only for some jobs:
// the next job of the process would find the values of this one.
func empty(s *State) {
	s.nPEs, s.notifyCount, s.heapSize, s.reportRequestFD, s.uncounted, s.kernelRings = 0, 0, 0, 0, 0, 0
	s.gpu, s.copiesApart, s.p2p, s.fastOrder, s.growsTogether = 0, 0, 0, 0, 0
	s.crowded, s.nodeCrowded, s.moves = 0, 0, 0
	s.networked, s.netChunk, s.netMessage, s.netNotified, s.netOrdered, s.netSignals = 0, 0, 0, 0, 0, 0
	s.collectives, s.wireLatency, s.wirePost, s.wireKib, s.wireSend, s.wireReceive = 0, 0, 0, 0, 0, 0
	if s.fastBase != s.nearBase {
		C.free(unsafe.Pointer(s.fastBase))
	}
	emptyLost(s)
	C.free(unsafe.Pointer(s.nearBase))
	C.free(unsafe.Pointer(s.mappedBase))
	C.free(unsafe.Pointer(s.peerBase))
	C.free(unsafe.Pointer(s.nodeMembers))
	C.free(unsafe.Pointer(s.nodeLeaders))
	C.free(unsafe.Pointer(s.nodeOf))
	C.free(unsafe.Pointer(s.gpuFirst))
	C.free(unsafe.Pointer(s.netTiles))
	s.fastBase, s.nearBase, s.mappedBase, s.peerBase = nil, nil, nil, nil
	s.nodeMembers, s.nodeLeaders, s.nodeOf, s.gpuFirst, s.netTiles = nil, nil, nil, nil, nil
}

// basesInC returns a table in C memory, by PE, of the addresses that `where` returns for the peers;
// nil for PEs that are no peers. empty frees this and the tables below.
func basesInC(j *job.Job, peers []libshmem.PE, where func(libshmem.PE) unsafe.Pointer) *unsafe.Pointer {
	table := (*unsafe.Pointer)(C.calloc(C.size_t(j.NPEs), C.size_t(unsafe.Sizeof(uintptr(0)))))
	all := unsafe.Slice(table, j.NPEs)
	for _, p := range peers {
		all[p] = where(p)
	}
	return table
}

// nodesInC returns a table in C memory with the number of each PE's node.
func nodesInC(j *job.Job) *int32 {
	list := (*int32)(C.calloc(C.size_t(j.NPEs), 4))
	for i := range unsafe.Slice(list, j.NPEs) {
		unsafe.Slice(list, j.NPEs)[i] = int32(j.Nodes.Node(libshmem.PE(i)))
	}
	return list
}

// tilesInC returns a table in C memory, by PE, of the largest tile of an eager transfer, in bytes,
// that the network to the PE makes visible all at once; 0 if it does so for none.
func tilesInC(j *job.Job) *uint16 {
	list := (*uint16)(C.calloc(C.size_t(j.NPEs), 2))
	for i := range unsafe.Slice(list, j.NPEs) {
		unsafe.Slice(list, j.NPEs)[i] = uint16(j.Network.Tile(libshmem.PE(i)))
	}
	return list
}

// pesInC copies a list of PEs to C memory.
func pesInC(pes []libshmem.PE) *int32 {
	list := (*int32)(C.calloc(C.size_t(len(pes)), 4))
	for i, p := range pes {
		unsafe.Slice(list, len(pes))[i] = int32(p)
	}
	return list
}

// c returns the state under its C type; the two types have the same layout.
func (s *State) c() *C.struct_shmemi_state { return (*C.struct_shmemi_state)(unsafe.Pointer(s)) }

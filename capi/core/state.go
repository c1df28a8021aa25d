package main

/*
#include <stdlib.h>
#include "core.h"
*/
import "C"

import (
	"unsafe"

	"libshmem/runtime/config"
	"libshmem/runtime/pe"
	_ "libshmem/runtime/proxy/express" // has this package compiled anew when express.h changes
	"libshmem/runtime/topo"
)

// How long a caller spins, yields and then sleeps. A turn of spinning costs
// about 15 ns, one of yielding 300 ns: with a processor for every PE the
// phases last some 3 us and 600 us. With more PEs than processors spinning
// only keeps the awaited PE from running (8000 us a barrier instead of 3.4).
//
// A poll of the network takes some 0.3 us of system calls. With a processor for
// every PE the first phase lasts some 30 us of such polls, so that the answer to a
// message finds the caller polling, not in a yield that takes as long as a poll;
// with fewer processors it ends as early as without a network.
const (
	spinAlone    = 200
	spinCrowded  = 20
	pollAlone    = 2
	pollCrowded  = 8
	yieldAlone   = 2000
	yieldCrowded = 1000
)

// fill publishes a job to the front. n_pes comes last: it is what opens the
// fast path.
func fill(s *C.struct_shmemi_state, j *pe.Job) {
	peers := j.Nodes.Peers(j.Me)
	control := j.HeapOf(j.Me)

	s.my_pe = C.int32_t(j.Me)
	s.heap_base = C.uintptr_t(uintptr(j.UserHeap()))
	s.heap_size = C.size_t(j.Config.SymmetricSize)
	s.peer_base = bases(j, peers, j.HeapOf)
	s.near_base = bases(j, peers, j.Near)
	s.fast_base = s.near_base
	if j.HasGPU() {
		s.gpu = 1
		s.mapped_base = bases(j, peers, j.Mapped)
		moveBy(j)
	}
	if j.CopiesApart() {
		s.copies_apart = 1
	}
	if j.HasGPU() && !j.Config.DisableP2P {
		s.p2p = 1
	}
	if j.HasGPU() || j.Config.Checks == config.ChecksFull || !j.FastPath() {
		s.fast_base = bases(j, nil, nil)
	}
	if j.FastOrder() {
		s.unseen = 1
	}
	if j.GrowsTogether() {
		s.grows_together = 1
	}
	s.spin, s.yields, s.poll = spinAlone, yieldAlone, pollAlone
	if j.Sharing > topo.CPUs() {
		s.spin, s.yields, s.poll = spinCrowded, yieldCrowded, pollCrowded
	}
	s.checks = C.uint32_t(j.Config.Checks)
	s.live = (*C.struct_shmemi_live)(j.LivePage())
	s.node_pes = C.uint32_t(len(peers))
	s.node_rank = C.uint32_t(j.Nodes.Rank(j.Me))
	s.node_members = numbers(peers)
	leaders := j.Nodes.Leaders()
	s.n_nodes = C.uint32_t(len(leaders))
	s.node_leaders = numbers(leaders)
	s.node = C.uint32_t(j.Nodes.Node(j.Me))
	s.node_of = nodes(j)
	s.teams_offset = C.size_t(j.Layout.TeamsOffset)
	s.team_size = C.size_t(j.Layout.TeamSize)
	s.agree_size = C.size_t(j.Layout.AgreeSize)
	s.max_teams = C.uint32_t(j.Layout.Teams)
	s.timeout_ns = C.uint64_t(j.Config.Timeout)
	s.inbox_offset = C.size_t(j.Layout.InboxOffset)
	s.inbox = (*C.uint64_t)(unsafe.Add(control, -int(j.Layout.InboxOffset)))
	s.scratch = (*C.char)(unsafe.Add(control, -int(j.Layout.ScratchOffset)))
	s.scratch_size = C.size_t(j.Layout.ScratchSize)
	if j.Engine != nil {
		s.networked = 1
		s.net_chunk = C.size_t(j.Engine.PutMax())
		n := j.Engine.Native()
		C.shmemi_core_serve(s, &C.struct_shmemi_native{
			self: n.Self, poll: (*[0]byte)(n.Poll), recv: (*[0]byte)(n.Recv), inject: (*[0]byte)(n.Inject),
		}, (*C.struct_shmemi_express)(unsafe.Pointer(j.Engine.Express)))
	}
	fillFile(s, j)
	fillStatics(s, j)
	fillLost(s, j)
	s.n_pes = C.uint32_t(j.NPEs)
}

// empty takes back what fill allocated.
func empty(s *C.struct_shmemi_state) {
	s.n_pes, s.unseen, s.ask_fd, s.heap_size, s.networked, s.gpu, s.copies_apart, s.p2p, s.grows_together, s.kernel_rings = 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
	if s.fast_base != s.near_base {
		C.free(unsafe.Pointer(s.fast_base))
	}
	emptyLost(s)
	C.free(unsafe.Pointer(s.near_base))
	C.free(unsafe.Pointer(s.mapped_base))
	C.free(unsafe.Pointer(s.peer_base))
	C.free(unsafe.Pointer(s.node_members))
	C.free(unsafe.Pointer(s.node_leaders))
	C.free(unsafe.Pointer(s.node_of))
	s.fast_base, s.near_base, s.mapped_base, s.peer_base = nil, nil, nil, nil
	s.node_members, s.node_leaders, s.node_of = nil, nil, nil
}

// bases is a table of where the peers' memory is in this process; nil for PEs
// elsewhere.
func bases(j *pe.Job, peers []topo.PE, where func(topo.PE) unsafe.Pointer) **C.char {
	table := (**C.char)(C.calloc(C.size_t(j.NPEs), C.size_t(unsafe.Sizeof(uintptr(0)))))
	all := unsafe.Slice(table, j.NPEs)
	for _, p := range peers {
		all[p] = (*C.char)(where(p))
	}
	return table
}

// nodes is the number of each PE's node.
func nodes(j *pe.Job) *C.int32_t {
	list := (*C.int32_t)(C.calloc(C.size_t(j.NPEs), 4))
	for i := range unsafe.Slice(list, j.NPEs) {
		unsafe.Slice(list, j.NPEs)[i] = C.int32_t(j.Nodes.Node(topo.PE(i)))
	}
	return list
}

func numbers(pes []topo.PE) *C.int32_t {
	list := (*C.int32_t)(C.calloc(C.size_t(len(pes)), 4))
	for i, p := range pes {
		unsafe.Slice(list, len(pes))[i] = C.int32_t(p)
	}
	return list
}

// The answers of the engine are handed to C as they are.
var (
	_ = [1]byte{}[config.RangeInit-C.SHMEMI_RANGE_INIT]
	_ = [1]byte{}[config.RangeMemOrder-C.SHMEMI_RANGE_MEMORDER]
	_ = [1]byte{}[config.RangeProxy-C.SHMEMI_RANGE_PROXY]
	_ = [1]byte{}[pe.ControlOffset-C.sizeof_struct_shmemi_ctl]
	_ = [1]byte{}[pe.DirectPEs-C.SHMEMI_DIRECT_PES]
	_ = [1]byte{}[pe.Slot-C.SHMEMI_SLOT]
	_ = [1]byte{}[pe.TeamSlot-C.SHMEMI_TEAM_SLOT]
	_ = [1]byte{}[pe.Gone-C.SHMEMI_DOING_GONE]
	_ = [1]byte{}[pe.Deep-C.SHMEMI_DOING_DEEP]
)

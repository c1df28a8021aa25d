package replay

import (
	"slices"

	"libshmem"
	"libshmem/cmd/internal/replay/program"
	"libshmem/fabric"
	"libshmem/fabric/sim"
	"libshmem/runtime/job/area"
	"libshmem/runtime/proxy"
	"libshmem/runtime/proxy/collective"
)

// message identifies a message of a collective: its team, its sender, its target, and its number.
type message struct {
	team, from, to int
	count          uint64
}

// entry records when a PE entered a collective.
type entry struct {
	at sim.Time
	pe int
}

// group is a team as a thread sees it in one call.
type group struct {
	*thread
	last    *entry // the latest entry of which this PE knows; messages pass it on
	team    int
	members []int
	me      int   // this PE's rank in the team
	leaders []int // the first rank of each host
	near    []int // the ranks of this host
	host    int   // this host, in leaders
}

// group returns a team as this thread sees it in one collective: its members, which of them are on
// this host, and the first one of each host.
func (t *thread) group(team int) group {
	g := group{thread: t, team: team, members: t.m.job.Teams[team], last: &entry{t.m.now, t.PE}}
	g.me = slices.Index(g.members, t.PE)
	last := -1
	for rank, pe := range g.members {
		host := t.m.pes[pe].host
		if host != last {
			g.leaders = append(g.leaders, rank)
		}
		if last = host; host == t.pe.host {
			g.near = append(g.near, rank)
			g.host = len(g.leaders) - 1
		}
	}
	return g
}

// send sends a message with `bytes` bytes to a member. It returns true, because package collective
// demands a result. A later quiet waits for the message only if the engine has not copied its bytes
// when it was posted (Pending).
func (g group) send(rank int, bytes uint64) bool {
	m, p, pe := g.m, g.pe, g.members[rank]
	p.counts[g.team][rank]++
	count := p.counts[g.team][rank]
	m.sent[message{g.team, g.PE, pe, count}] = *g.last
	at := m.inbox(g.team, g.me)
	if m.sameHost(pe, g.PE) {
		g.sleep(onNode + sim.Time(bytes/onNodeBytes))
		m.pes[pe].store(at, count)
		return true
	}
	e := p.Engine
	g.place, g.engine = len(p.contexts), e // the default context, whose place in dirty is the last
	for ; bytes > maxData; bytes -= maxData {
		g.post(func() proxy.Status {
			return e.Put(libshmem.PE(pe), p.offset(m.bytes()), g.source(), maxData, nil)
		})
		p.dirty[g.place] = true
	}
	st := g.post(func() proxy.Status {
		if bytes == 0 { // only the count of 8 bytes: nothing is compared (0) or fetched (nil)
			return e.AMO(libshmem.PE(pe), p.offset(at), fabric.OpSet, 8, count, 0, nil, nil)
		}
		return e.PutSignal(libshmem.PE(pe), p.offset(m.bytes()), g.source(), bytes, p.offset(at), count, fabric.OpSet, nil)
	})
	p.dirty[g.place] = p.dirty[g.place] || st == proxy.Pending
	return true
}

// await waits for the next message of a member, and counts how long that PE was late. It returns
// true, because package collective demands a result.
func (g group) await(rank int) bool {
	m, p, start := g.m, g.pe, g.m.now
	p.seen[g.team][rank]++
	want, at := p.seen[g.team][rank], m.inbox(g.team, rank)
	g.until(func() bool { return p.word(at) >= want })
	key := message{g.team, g.members[rank], g.PE, want}
	came := m.sent[key]
	delete(m.sent, key)
	late := max(start, came.at)
	if m.result.countWait(g.PE, came.pe, late-start, m.now-late); came.at > g.last.at {
		*g.last = came
	}
	return true
}

// message sends a message without bytes to a member: the member only has to know that this PE has
// come so far.
func (g group) message(rank int) bool { return g.send(rank, 0) }

// syncMembers replays the sync of a team (shmemi_sync_members): the first member of each host waits
// for the other members there, syncs with the first members of the other hosts, and releases the
// members of its host.
func (g group) syncMembers() {
	if leader := g.near[0]; g.me != leader {
		g.message(leader)
		g.await(leader)
		return
	}
	for _, rank := range g.near[1:] {
		g.await(rank)
	}
	c := collective.Member{
		Me: g.host, N: len(g.leaders),
		Message: func(host int) bool { return g.message(g.leaders[host]) },
		Await:   func(host int) bool { return g.await(g.leaders[host]) },
	}
	c.Meet()
	for _, rank := range g.near[1:] {
		g.message(rank)
	}
}

// asMember returns the team as package collective needs it, with each member as a node of its own.
// Its messages have `bytes` bytes.
func (g group) asMember(bytes uint64) collective.Member {
	return collective.Member{
		Me: g.me, N: len(g.members), Message: func(rank int) bool { return g.send(rank, bytes) }, Await: g.await,
	}
}

// exchange sends `bytes` bytes to the other members and waits for theirs, in the order of a small
// reduction.
func (g group) exchange(bytes uint64) {
	collective.Exchange(g.me, len(g.members), area.DirectPEs,
		func(rank, _ int) bool { return g.send(rank, bytes) }, func(rank, _ int) bool { return g.await(rank) })
}

// quietAll waits for all operations that this PE has posted, as a barrier does before it lets the
// other members continue.
func (g group) quietAll() { g.quiet(g.pe.Engine, len(g.pe.contexts)) }

// collective replays a collective with the messages that the library (capi/front) sends for it. The
// quiet of a barrier comes first; a member's own work in an allocation or split is the recorded
// one.
func (t *thread) collective(o *program.Op) {
	g := t.group(o.Team)
	world := len(t.pe.contexts)
	switch o.Kind {
	case program.Barrier:
		t.quiet(t.pe.Engine, world)
		g.syncMembers()
	case program.Sync:
		g.syncMembers()
	case program.Exchange:
		t.sleep(sim.Time(o.Work))
		g.last.at = t.m.now // the others wait for the end of this PE's work
		g.exchange(8)       // a word of each member
	case program.Reduce:
		g.reduce(o.Bytes)
	case program.Scan:
		c := g.asMember(o.Bytes)
		c.Prefix()
		g.syncMembers()
	case program.Broadcast:
		g.broadcast(o)
	case program.Collect:
		c := g.asMember(8) // the sizes, a word each
		c.Prefix()
		g.syncMembers()
		g.allToAll(o.Bytes)
	case program.Gather, program.AllToAll:
		g.allToAll(o.Bytes)
	}
	if o.Team == 0 && (o.Kind == program.Barrier || o.Kind == program.Sync) {
		t.m.result.countBarrier(t, o)
	}
}

// allToAll sends `bytes` bytes to each member, waits until they are sent, and waits for those of
// each.
func (g group) allToAll(bytes uint64) {
	for i := 1; i < len(g.members); i++ {
		g.send((g.me+i)%len(g.members), bytes)
	}
	g.quietAll()
	for i := 1; i < len(g.members); i++ {
		g.await((g.me + len(g.members) - i) % len(g.members))
	}
}

// reduce replays shmemi_coll_reduce. A small reduction is an exchange. A large one is always
// replayed as a reduction by blocks (capi/front/reduce.c): each member reduces one share of the
// elements. The library's other methods, such as reductions in columns, have no counterpart here.
func (g group) reduce(bytes uint64) {
	slot := uint64(area.Slot)
	if g.team > 0 {
		slot = area.TeamSlot
	}
	n := len(g.members)
	if bytes <= slot {
		g.exchange(bytes)
		return
	}
	others := func(f func(rank int)) {
		for i := 1; i < n; i++ {
			f((g.me + i) % n)
		}
	}
	share := bytes / uint64(n)
	others(func(rank int) { g.send(rank, share) })
	others(func(rank int) { g.await(rank) })
	others(func(rank int) { g.message(rank) })
	others(func(rank int) {
		g.await(rank)
		g.send(rank, share)
	})
	others(func(rank int) { g.await(rank) })
	g.quietAll()
}

// pullSize is the smallest size of a broadcast at which the PEs of a host read the bytes from its
// first PE (capi/front/coll.c).
const pullSize = 32 << 10

// broadcast replays a broadcast: the root sends its bytes to one member of each other host, the
// first there, which passes them on to the members of its host.
func (g group) broadcast(o *program.Op) {
	root := max(0, slices.Index(g.members, o.Peer))
	rootHost := g.m.pes[g.members[root]].host
	switch {
	case g.me == root:
		for i := 1; i < len(g.leaders); i++ {
			rank := g.leaders[(g.host+i)%len(g.leaders)]
			g.send(rank, o.Bytes)
		}
		g.passOn(o.Bytes)
		g.quietAll()
	case g.pe.host == rootHost:
		g.receive(root, o.Bytes)
	case g.me == g.near[0]:
		g.await(root)
		g.passOn(o.Bytes)
	default:
		g.receive(g.near[0], o.Bytes)
	}
}

// passOn sends the bytes of a broadcast to the other members of the host. Large ones are not sent:
// the members read them, after a message without bytes.
func (g group) passOn(bytes uint64) {
	if bytes >= pullSize {
		bytes = 0
	}
	for _, rank := range g.near {
		if rank != g.me {
			g.send(rank, bytes)
		}
	}
}

// receive waits for the message of a broadcast, and takes the time to read large bytes from the
// memory of the sender, which is on this host.
func (g group) receive(from int, bytes uint64) {
	if g.await(from); bytes >= pullSize {
		g.sleep(onNode + sim.Time(bytes/onNodeBytes))
	}
}

// Package area divides the internal area of a PE's slice of symmetric memory: the control page, and
// below it the front's space for collectives, teams and statics. It owns the offsets. The memory is
// read and written by C alone, except for the words on which threads sleep.
package area

import (
	"math/bits"
	"unsafe"

	"libshmem/queue"
)

// The internal area of a slice ends where the user heap begins:
//
//	| statics | mailboxes | team init | notification counters | columns | teams | scratch | inbox | control page | user heap ...
//
// so that every part is at the same negative offset on every PE.
const (
	inboxWord   = 8
	counterWord = 8

	// Each team has an area of its own, and most of the areas are never touched. There are as many
	// as fit teamMemory, but not fewer or more than these bounds.
	teamMemory                = 16 << 20
	FewestTeams, maxTeamAreas = 15, 512

	// scratchBuffers is the number of scratch buffers, which small reductions use alternately: a PE
	// may be one reduction ahead of another.
	scratchBuffers = 2
)

// Layout has the offsets of the parts of the internal area, in bytes below the user heap, and their
// sizes.
type Layout struct {
	InboxOffset    uint64 // words that count the messages of each PE, and cache lines (inboxSize)
	ScratchOffset  uint64 // buffers for small reductions of all PEs
	ScratchSize    uint64
	TeamsOffset    uint64
	TeamSize       uint64 // the area of one team: a word for each PE, lines, scratch, agreements
	AgreeSize      uint64 // the agreements in it
	Teams          uint64 // number of areas; one more is for the agreements of all PEs
	ColumnsOffset  uint64 // rounds of reductions between hosts: of the world, then of teams, first the wide ones
	NotifyOffset   uint64 // notification counters: of the program, then of eager transfers
	EagerCounters  int    // how many of the notification counters are for eager transfers
	TeamInitOffset uint64 // messages between PEs that form a team from an id (capi/front/team_init.c)
	Mail           Mail   // two-sided messages
	StaticsOffset  uint64 // of the program's statics, whole pages
	Internal       uint64 // the whole area
}

// Mail has the offsets of the memory for two-sided messages (abi/mailbox.h), in bytes below the
// user heap.
type Mail struct {
	Active   uint64 // a bit for each PE that has sent a message
	Credits  uint64 // a word for each receiver
	Sends    uint64 // words of long messages that the PE sends
	Landings uint64 // words of long messages that the PE receives, and the bounce buffers (landings) for their bytes
	Boxes    uint64 // a mailbox for each sender
	Ring     uint64 // bytes of a mailbox's ring; a record may extend beyond the end of the ring
}

// newMail returns the layout of the memory for two-sided messages of a job of n PEs. Offsets are
// bytes below the user heap: the part above this memory reaches down to the offset `above`. The
// rings of all mailboxes together have at most `memory` bytes, but each has at least the least size
// of a ring.
func newMail(n int, memory, above uint64) Mail {
	m := Mail{Ring: mailLeast}
	for m.Ring < mailMost && m.Ring*2*uint64(n) <= memory {
		m.Ring *= 2
	}
	m.Active = above + RoundUp(RoundUp(uint64(n), 64)/8, cacheLine)
	m.Credits = m.Active + RoundUp(uint64(n)*8, cacheLine)
	m.Sends = m.Credits + mailSends*mailSendBytes
	m.Landings = RoundUp(m.Sends+landings*(cacheLine+landingBytes), Page)
	// A record may begin in the last cache line of a ring, and end beyond it.
	m.Boxes = RoundUp(m.Landings+uint64(n)*(m.Ring+Longest(m.Ring)-cacheLine), Page)
	return m
}

// Longest returns the bytes of the longest record in a mailbox with a ring of `ring` bytes.
func Longest(ring uint64) uint64 { return min(max(ring/4, cacheLine), MailRecord) }

// contributions returns the number of contributions to a small reduction of n PEs that one of them
// may receive: one from each PE if all write to each other, else one in each step and two for the
// PEs beyond a power of two (capi/front/exchange.c).
func contributions(n int) int {
	if n <= DirectPEs {
		return n
	}
	return bits.Len(uint(n)) - 1 + 2
}

// teamContributions returns the same number for a team of n PEs, where the PEs never all write to
// each other: one contribution in each step, and two for the PEs beyond a power of two.
func teamContributions(n int) int { return bits.Len(uint(n)) - 1 + 2 }

// KnownLosses returns the offset, from the user heap, of one word for each PE. In the word of a PE,
// this PE shows to the others that it knows that PE to be lost. They are the words for messages in
// the last area, which belongs to no team.
func (l *Layout) KnownLosses() int64 { return int64(l.TeamSize*l.Teams) - int64(l.TeamsOffset) }

// agreeSize returns the size of the memory in which n PEs of a team agree, for example on the slot
// of a new team (capi/front/agree.c): a word for each PE, and two records, used alternately. A
// record has a stamp, the PE's contribution and the result that it has accepted. Each of these two
// is a struct shmemi_common: a word of flags, a bit for each slot of a team, and a bit for each PE.
func agreeSize(n int) uint64 {
	const flags, slots = 8, 1024 / 8 // bytes: of the word of flags, and of the bits for slots of teams
	common := flags + slots + RoundUp(uint64(n), 64)/8
	return RoundUp(uint64(n)*inboxWord, cacheLine) + 2*RoundUp(8+2*common, cacheLine)
}

// inboxSize returns the size of the words that count the messages of a team of n PEs, and of the
// team's cache lines after them (capi/front/lines.c).
func inboxSize(n int) uint64 { return RoundUp(uint64(n)*inboxWord, cacheLine) + linesBytes }

// columnsSize is the size of the buffers for the rounds of reductions between hosts. There each PE
// reduces a share of the elements with those members of other nodes that have the same rank on their
// nodes, its column, and does so in rounds. For each round a PE has one buffer for the elements that
// it sends, and one for those that it receives (capi/front/columns.c).
const columnsSize = 2 * ColumnRounds * (WorldRound + WideTeams*TeamRound + NarrowTeams*NarrowRound)

// Rounds returns where the buffers for the rounds of reductions between hosts begin, in bytes below
// the user heap, and their size.
func (l *Layout) Rounds() (offset, size uint64) { return l.ColumnsOffset, columnsSize }

// teamInitSize returns the size of the messages with which n PEs form a team from an id
// (capi/front/team_init.c): a word for each PE, a reply with a list of PEs, and the proposal of
// each PE.
func teamInitSize(n int) uint64 {
	const reply, proposal = 64, 144 // bytes of the structs of these names in team_init.c
	return RoundUp(uint64(n)*inboxWord, cacheLine) + RoundUp(reply+uint64(n)*4, cacheLine) + RoundUp(uint64(n)*proposal, cacheLine)
}

// EagerCounters returns how many notification counters for eager transfers follow the `program`
// counters of the program. 16 bits of a write name a counter, and 0 names none, which bounds the
// number of both together.
func EagerCounters(program int) int { return min(queue.EagerCounters, queue.MostCounters-program) }

// New divides the internal area for n PEs, each with `statics` bytes of statics, `counters`
// notification counters for the program, and `messages` bytes of memory for messages.
func New(n int, statics uint64, counters int, messages uint64) Layout {
	l := Layout{ScratchSize: scratchBuffers * Slot * uint64(contributions(n))}
	l.InboxOffset = Page + inboxSize(n)
	l.ScratchOffset = l.InboxOffset + l.ScratchSize
	l.AgreeSize = agreeSize(n)
	l.TeamSize = inboxSize(n) + scratchBuffers*TeamSlot*uint64(teamContributions(n)) + l.AgreeSize
	l.Teams = min(max(teamMemory/l.TeamSize, FewestTeams), maxTeamAreas)
	l.TeamsOffset = l.ScratchOffset + (l.Teams+1)*l.TeamSize
	l.EagerCounters = EagerCounters(counters)
	l.ColumnsOffset = RoundUp(l.TeamsOffset, Page) + columnsSize
	l.NotifyOffset = l.ColumnsOffset + RoundUp(uint64(counters+l.EagerCounters)*counterWord, cacheLine)
	l.TeamInitOffset = l.NotifyOffset + teamInitSize(n)
	l.Mail = newMail(n, messages, l.TeamInitOffset)
	l.StaticsOffset = l.Mail.Boxes + RoundUp(statics, Page)
	l.Internal = l.StaticsOffset
	return l
}

// RoundUp returns the least multiple of a unit that is not less than n.
func RoundUp(n, unit uint64) uint64 { return (n + unit - 1) / unit * unit }

// Words returns the words of a PE's control page on which its threads sleep and by which they are
// woken. end is the end of the PE's internal area, where its user heap begins.
func Words(end unsafe.Pointer) (sleepers, wakes *uint32) {
	page := (*control)(unsafe.Add(end, -int(unsafe.Sizeof(control{}))))
	return &page.sleepers, &page.wakes
}

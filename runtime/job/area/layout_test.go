package area

import (
	"testing"

	"libshmem/queue"
)

const mail = 4 << 20 // bytes for messages

func TestLayout(t *testing.T) {
	for n := 1; n <= 100_000; n++ {
		l := New(n, 0, 4096, mail)
		pes := uint64(n)
		// From the user heap downwards: control page, inbox, scratch.
		inboxEnd := l.InboxOffset - pes*inboxWord
		scratchEnd := l.ScratchOffset - l.ScratchSize
		switch {
		case inboxEnd < Page:
			t.Errorf("%d PEs: the inbox ends %d bytes below the heap, in the control page", n, inboxEnd)
		case scratchEnd < l.InboxOffset:
			t.Errorf("%d PEs: scratch ends %d bytes below the heap, in the inbox that begins at %d", n, scratchEnd, l.InboxOffset)
		case l.TeamsOffset-(l.Teams+1)*l.TeamSize < l.ScratchOffset:
			t.Errorf("%d PEs: the teams end %d bytes below the heap, in the scratch that begins at %d", n, l.TeamsOffset-(l.Teams+1)*l.TeamSize, l.ScratchOffset)
		case l.ColumnsOffset-columnsSize < l.TeamsOffset:
			t.Errorf("%d PEs: the columns end %d bytes below the heap, in the teams that begin at %d", n, l.ColumnsOffset-columnsSize, l.TeamsOffset)
		case l.EagerCounters != queue.EagerCounters || l.NotifyOffset-uint64(4096+l.EagerCounters)*counterWord < l.ColumnsOffset:
			t.Errorf("%d PEs: 4096 and %d notification counters below %d bytes below the heap, and the columns begin at %d", n, l.EagerCounters, l.NotifyOffset, l.ColumnsOffset)
		case l.TeamInitOffset-teamInitSize(n) < l.NotifyOffset:
			t.Errorf("%d PEs: the team init area ends %d bytes below the heap, in the notification counters that begin at %d", n, l.TeamInitOffset-teamInitSize(n), l.NotifyOffset)
		case l.TeamInitOffset-teamInitSize(n) < l.TeamsOffset:
			t.Errorf("%d PEs: the team init area ends %d bytes below the heap, in the teams that begin at %d", n, l.TeamInitOffset-teamInitSize(n), l.TeamsOffset)
		case l.Mail.Active-(pes+7)/8 < l.TeamInitOffset:
			t.Errorf("%d PEs: the bits of senders end %d bytes below the heap, in the team init area that begins at %d", n, l.Mail.Active-(pes+7)/8, l.TeamInitOffset)
		case l.Mail.Credits-8*pes < l.Mail.Active || l.Mail.Sends-mailSends*mailSendBytes < l.Mail.Credits ||
			l.Mail.Landings-landings*(cacheLine+landingBytes) < l.Mail.Sends || l.Mail.Boxes-pes*(l.Mail.Ring+Longest(l.Mail.Ring)-cacheLine) < l.Mail.Landings:
			t.Errorf("%d PEs: parts of the messages' area overlap: %+v", n, l.Mail)
		case l.Internal < l.Mail.Boxes:
			t.Errorf("%d PEs: the teams begin %d bytes below the heap, outside the area of %d", n, l.TeamsOffset, l.Internal)
		case l.Internal%Page != 0:
			t.Errorf("%d PEs: %d bytes are no pages", n, l.Internal)
		case l.InboxOffset%cacheLine != 0 || l.ScratchOffset%cacheLine != 0 || l.TeamsOffset%cacheLine != 0 || l.TeamSize%cacheLine != 0:
			t.Errorf("%d PEs: inbox at %d and scratch at %d share cache lines", n, l.InboxOffset, l.ScratchOffset)
		case n > 1 && New(n-1, 0, 4096, mail).InboxOffset > l.InboxOffset:
			t.Errorf("%d PEs: the inbox is smaller than for one PE fewer", n)
		}
		if t.Failed() {
			return
		}
	}
}

func TestLayoutSizes(t *testing.T) {
	for _, test := range []struct{ n, slots, internal int }{
		{1, 1, 4096 + 4096 + 4096},
		{16, 16, 4096 + 4096 + 2*16*Slot},
		{17, 4 + 2, 4096 + 4096 + 2*6*Slot},
		{31, 4 + 2, 4096 + 4096 + 2*6*Slot},
		{1000, 9 + 2, 4096 + 8192 + 2*11*Slot},
		{100_000, 16 + 2, 4096 + 802_816 + 2*18*Slot},
	} {
		l := New(test.n, 0, 4096, mail)
		if got := int(l.ScratchSize) / scratchBuffers / Slot; got != test.slots {
			t.Errorf("%d PEs: %d slots, want %d", test.n, got, test.slots)
		}
		most := RoundUp(uint64(test.internal)+linesBytes, Page)
		if got := RoundUp(l.ScratchOffset, Page); got > most {
			t.Errorf("%d PEs: %d bytes, want at most %d", test.n, got, most)
		}
	}
}

// TestTeams: there are hundreds of teams if they cost little memory, and there is always one.
func TestTeams(t *testing.T) {
	for _, test := range []struct{ n, teams int }{{1, 512}, {8, 512}, {300, 512}, {1000, 400}, {10_000, 80}, {1_000_000, 12}} {
		l := New(test.n, 0, 4096, mail)
		if int(l.Teams) < test.teams || l.Teams > maxTeamAreas {
			t.Errorf("%d PEs: %d teams, want at least %d", test.n, l.Teams, test.teams)
		}
	}
}

// TestEagerCounters: both kinds of counters together are as many as a write can name.
func TestEagerCounters(t *testing.T) {
	for _, test := range []struct{ program, want int }{{1, 4096}, {4096, 4096}, {61439, 4096}, {61440, 4095}, {65535, 0}} {
		if got := EagerCounters(test.program); got != test.want {
			t.Errorf("behind %d counters of the program: %d, want %d", test.program, got, test.want)
		}
	}
}

// The area is whole pages, below everything else of the internal area, and the offsets
// of the rest do not depend on it.
func TestLayoutOfStatics(t *testing.T) {
	without := New(8, 0, 4096, mail)
	with := New(8, 3*Page, 4096, mail)
	if with.StaticsOffset%Page != 0 || with.StaticsOffset-without.Internal != 3*Page {
		t.Errorf("with %+v, without %+v", with, without)
	}
	if with.Internal != with.StaticsOffset || with.TeamsOffset != without.TeamsOffset || with.InboxOffset != without.InboxOffset {
		t.Errorf("with %+v, without %+v", with, without)
	}
}

// TestMail: the mailboxes of all senders fit the memory that the setting gives, unless there are so
// many PEs that the smallest do not.
func TestMail(t *testing.T) {
	for _, test := range []struct {
		n            int
		memory, ring uint64
	}{
		{1, mail, mailMost}, {64, mail, mailMost}, {65, mail, mailMost / 2}, {256, mail, 16 << 10}, {1000, mail, 4 << 10},
		{4096, mail, 1024}, {10_000, mail, 256}, {100_000, mail, mailLeast}, {2, 4096, 2048}, {2, 1 << 40, mailMost},
	} {
		l := New(test.n, 0, 4096, test.memory)
		if l.Mail.Ring != test.ring {
			t.Errorf("%d PEs with %d bytes: rings of %d, want %d", test.n, test.memory, l.Mail.Ring, test.ring)
		}
		if l.Mail.Ring > mailLeast && uint64(test.n)*l.Mail.Ring > test.memory {
			t.Errorf("%d PEs: rings of %d are more than %d bytes", test.n, l.Mail.Ring, test.memory)
		}
		if pes := uint64(test.n); test.memory == mail && l.Mail.Boxes-l.Mail.Active > max(8<<20, 256*pes) {
			t.Errorf("%d PEs: %d bytes for messages", test.n, l.Mail.Boxes-l.Mail.Active)
		}
		if l.Mail.Boxes%Page != 0 || l.Mail.Landings%Page != 0 || Longest(l.Mail.Ring)%cacheLine != 0 {
			t.Errorf("%d PEs: %+v is not aligned", test.n, l.Mail)
		}
	}
}

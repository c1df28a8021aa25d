package watch

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/job/area"
	"libshmem/runtime/job/meet"
)

// Peers has the sources from which a Watch knows the other PEs, and the function for the end of the
// job.
type Peers struct {
	*meet.Self
	Processes []meet.Process // of every PE
	// Activity returns the activity of a PE of this node, as the PE has noted it, or "". nil:
	// nothing is known.
	Activity func(libshmem.PE, area.How) string
	Driver   func(now time.Time) string          // calls and work that the GPU's driver does not complete, or "". nil: there is none
	Network  Network                             // nil if all PEs share memory
	EndJob   func(pe libshmem.PE, reason string) // ends the job, because a PE has ended
}

// Network is the network's view of other PEs. locked is false if the call did nothing, because
// another thread held the engine's lock for too long.
type Network interface {
	// PeerStatus describes the operations under way with a PE; with always, also when nothing is
	// remarkable. silent reports whether the PE has not replied to the last Probe, or the
	// provider's queue was too full to send it.
	PeerStatus(pe libshmem.PE, always bool) (text string, silent, locked bool)
	// Probe sends requests to PEs: those in alive reply that they live, those in doing also reply
	// with what they do.
	Probe(doing, alive []libshmem.PE)
	// Ping sends a PE a message, so that the network notices if the PE is gone. sent is false if
	// the provider's queue was full.
	Ping(pe libshmem.PE) (sent, locked bool)
	// Socket returns where a PE listens, if the provider has sockets.
	Socket(pe libshmem.PE) (netip.AddrPort, bool)
}

// peers is what this PE knows of the other PEs, for reports of waits.
type peers struct {
	Peers

	mu      sync.Mutex
	replies map[libshmem.PE]activityReply // the last activity reply of each PE
	reasons map[libshmem.PE]string        // how the PEs that are lost have ended
}

// activityReply is the activity reply of a PE on another node: its current call, without (short)
// and with (deep) what the PEs do for which the call waits.
type activityReply struct {
	short, deep string
	at          time.Time
}

// separator stands between the short and the deep text of an activity reply.
const separator = "\x00"

// maxReply is the most bytes of an activity reply.
const maxReply = 1024

// of returns the activity of a PE of this node, as the PE has noted it: with how 0 its current call,
// with area.Deep also what the PEs do for which the call waits, with area.Gone how it has ended.
func (l *peers) of(pe libshmem.PE, how area.How) string {
	if l.Activity == nil {
		return ""
	}
	return l.Activity(pe, how)
}

// Reason describes how a lost PE has ended. It continues a sentence that begins with the PE.
func (l *peers) Reason(pe libshmem.PE) string { return cmp.Or(l.lost(pe), "is lost") }

// lost returns how a lost PE has ended; "" if the PE is not lost.
func (l *peers) lost(pe libshmem.PE) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reasons[pe]
}

// note stores how a PE has ended. It returns false if that is known already.
func (l *peers) note(pe libshmem.PE, reason string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reasons[pe] != "" {
		return false
	}
	if l.reasons == nil {
		l.reasons = map[libshmem.PE]string{}
	}
	l.reasons[pe] = reason
	return true
}

// far reports whether a PE is on another node, where this PE sees neither its memory nor its
// process.
func (l *peers) far(pe libshmem.PE) bool { return l.Nodes.Node(pe) != l.Nodes.Node(l.Me) }

// StoreActivity stores a PE's reply to a request for its activity: a short text and a long one. An
// engine calls it and holds its lock.
func (l *peers) StoreActivity(pe libshmem.PE, text string) {
	short, deep, _ := strings.Cut(text, separator)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.replies == nil {
		l.replies = map[libshmem.PE]activityReply{}
	}
	l.replies[pe] = activityReply{short, deep, time.Now()}
}

// OwnActivity returns this PE's activity reply to another PE. An engine calls it and holds its
// lock.
func (l *peers) OwnActivity() string {
	text := l.of(l.Me, 0) + separator + l.of(l.Me, area.Deep)
	return text[:min(len(text), maxReply)]
}

// An activity reply that is older than stale is reported with its age.
const stale = 1500 * time.Millisecond

// lastReply returns the last activity reply of a PE of another node, the long text if how has
// area.Deep, with its age if it is old; "" if there is none.
func (l *peers) lastReply(pe libshmem.PE, how area.How) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.replies[pe]
	if !ok {
		return ""
	}
	text := s.short
	if how&area.Deep != 0 {
		text = s.deep
	}
	if age := time.Since(s.at); text != "" && age > stale {
		text += fmt.Sprintf(", as of %.1f s ago", age.Seconds())
	}
	return text
}

// inquire requests from the launcher how the late PEs have ended, and other PEs whose processes
// this PE has seen end: at most `explained` of those, the number that one report names.
func (l *peers) inquire(late []libshmem.PE) {
	b, ok := l.Boot.(bootstrap.Inquirer)
	if !ok {
		return
	}
	all := slices.Clone(late)
	for pe := range libshmem.PE(len(l.Processes)) {
		p := &l.Processes[pe]
		if len(all) >= len(late)+explained || !p.Visible() || slices.Contains(all, pe) {
			continue
		}
		if gone, _ := p.Condition(); gone && b.Outcome(pe) == "" {
			all = append(all, pe)
		}
	}
	if len(all) > 0 {
		b.Inquire(all)
	}
}

// launcherOutcome returns how a PE has ended, as the launcher has reported it, or "".
func (l *peers) launcherOutcome(pe libshmem.PE) string {
	if b, ok := l.Boot.(bootstrap.Inquirer); ok {
		return b.Outcome(pe)
	}
	return ""
}

// about describes a PE without the view of the network. Each entry continues a sentence whose
// subject is the PE. With always, an entry describes the PE's activity, too, in which how selects
// the short or the deep text; without, a PE that is neither lost, ended nor stopped has no entry.
func (l *peers) about(pe libshmem.PE, always bool, how area.How) []string {
	if lost := l.lost(pe); lost != "" {
		return []string{lost}
	}
	var gone, stopped bool
	p := &l.Processes[pe]
	if p.Visible() {
		gone, stopped = p.Condition()
	}
	if gone {
		return []string{l.end(pe)}
	}
	var what []string
	if stopped {
		what = append(what, fmt.Sprintf("is stopped by a signal or a debugger (process %d)", p.ID))
	}
	if !always {
		return what
	}
	says := ""
	if outcome := l.launcherOutcome(pe); outcome != "" && !p.Visible() {
		says = outcome
	} else if l.far(pe) {
		says = l.lastReply(pe, how)
	} else {
		says = l.of(pe, how)
	}
	if says != "" {
		what = append(what, says)
	}
	return what
}

// end describes how the process of a PE has ended: by the launcher's report, or by the note that
// the PE left in its control page.
func (l *peers) end(pe libshmem.PE) string {
	if outcome := l.launcherOutcome(pe); outcome != "" {
		return outcome
	}
	if !l.far(pe) {
		if how := l.of(pe, area.Gone); how != "" {
			return how
		}
	}
	return fmt.Sprintf("has ended (its process, %d, is gone, and its status is not known)", l.Processes[pe].ID)
}

// Absent returns the first of the PEs `of` whose process has ended with status 0 before finalize. It
// returns false if the launcher knows of none. A PE that ends in another way ends the job.
func (l *peers) Absent(of []libshmem.PE) (libshmem.PE, bool) {
	b, ok := l.Boot.(bootstrap.Inquirer)
	for _, pe := range of {
		if ok && b.Absent(pe) {
			return pe, true
		}
	}
	return 0, false
}

// names reports whether a text names a PE: it has "PE 1", and not only as a part of "PE 12".
func names(text string, pe libshmem.PE) bool {
	name := fmt.Sprintf("PE %d", pe)
	for {
		_, rest, found := strings.Cut(text, name)
		if !found || rest == "" || rest[0] < '0' || rest[0] > '9' {
			return found
		}
		text = rest
	}
}

// Late describes the activity of the PEs for which a wait waits. late has the first of the late
// PEs, and all is the number of all late PEs. The text is shorter than that of Explanation, and
// needs no lock of the network. Other PEs include it in their own texts, so it would grow without
// end if PEs wait for each other in a circle: for a PE whose text names this one, Late has only the
// short text.
func (l *peers) Late(late []libshmem.PE, all int) string {
	var said []string
	for _, pe := range late {
		what := l.about(pe, true, area.Deep)
		if slices.ContainsFunc(what, func(s string) bool { return names(s, l.Me) }) {
			what = l.about(pe, true, 0)
		}
		if len(what) > 0 {
			said = append(said, fmt.Sprintf("PE %d %s", pe, strings.Join(what, ", ")))
		}
	}
	if all > len(late) {
		said = append(said, fmt.Sprintf("and %d more PEs have not come", all-len(late)))
	}
	return strings.Join(said, "; ")
}

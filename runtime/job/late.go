package job

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/job/area"
	"libshmem/runtime/topo"
)

// late is what this PE knows about the PEs that it waits for.
type late struct {
	doing func(topo.PE, area.How) string // Options.Doing

	mu   sync.Mutex
	said map[topo.PE]saying
}

// saying is the answer of a PE of another node to the question what it does.
type saying struct {
	short, deep string
	at          time.Time
}

// separator stands between the short and the deep text in a message.
const separator = "\x00"

// mostSaid bounds the bytes of an answer.
const mostSaid = 1024

// of returns what a PE of this node does, as the PE has noted it.
func (l *late) of(pe topo.PE, how area.How) string {
	if l.doing == nil {
		return ""
	}
	return l.doing(pe, how)
}

// hears stores the answer of a PE. The engine's lock is held.
func (l *late) hears(pe fabric.PE, text string) {
	short, deep, _ := strings.Cut(text, separator)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said == nil {
		l.said = map[topo.PE]saying{}
	}
	l.said[topo.PE(pe)] = saying{short, deep, time.Now()}
}

// says returns this PE's answer to another PE. The engine's lock is held.
func (j *Job) says() string {
	text := j.late.of(j.Me, 0) + separator + j.late.of(j.Me, area.Deep)
	return text[:min(len(text), mostSaid)]
}

// stale is the age from which on an answer is shown with its age.
const stale = 1500 * time.Millisecond

// told returns the last answer of a PE of another node, or "".
func (l *late) told(pe topo.PE, how area.How) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.said[pe]
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

// inquire asks the launcher for the fates of the given PEs, and of other PEs whose processes have
// ended, as many as one report names.
func (j *Job) inquire(late []topo.PE) {
	b, ok := j.boot.(bootstrap.Inquirer)
	if !ok {
		return
	}
	all := slices.Clone(late)
	for pe := range topo.PE(len(j.processes)) {
		p := &j.processes[pe]
		if len(all) >= len(late)+explained || !p.Visible() || slices.Contains(all, pe) {
			continue
		}
		if gone, _ := p.Condition(); gone && b.Fate(pe) == "" {
			all = append(all, pe)
		}
	}
	if len(all) > 0 {
		b.Inquire(all)
	}
}

// fate returns the launcher's word on what became of a PE, or "".
func (j *Job) fate(pe topo.PE) string {
	if b, ok := j.boot.(bootstrap.Inquirer); ok {
		return b.Fate(pe)
	}
	return ""
}

// about returns what is known of a PE without the network, each entry the end of a sentence about
// the PE. With asked it also says what the PE does when nothing is remarkable.
func (j *Job) about(pe topo.PE, asked bool, how area.How) []string {
	j.watch.mu.Lock()
	lost := j.watch.fates[pe]
	j.watch.mu.Unlock()
	if lost != "" {
		return []string{lost}
	}
	var gone, stopped bool
	p := &j.processes[pe]
	if p.Visible() {
		gone, stopped = p.Condition()
	}
	if gone {
		return []string{j.end(pe)}
	}
	var what []string
	if stopped {
		what = append(what, fmt.Sprintf("is stopped by a signal or a debugger (process %d)", p.ID))
	}
	if !asked {
		return what
	}
	says := ""
	if fate := j.fate(pe); fate != "" && !p.Visible() {
		says = fate
	} else if j.HeapIsFar(pe) {
		says = j.late.told(pe, how)
	} else {
		says = j.late.of(pe, how)
	}
	if says != "" {
		what = append(what, says)
	}
	return what
}

// end says how a process has ended: by the word of the launcher, or by the PE's own note.
func (j *Job) end(pe topo.PE) string {
	if fate := j.fate(pe); fate != "" {
		return fate
	}
	if !j.HeapIsFar(pe) {
		if how := j.late.of(pe, area.Gone); how != "" {
			return how
		}
	}
	return fmt.Sprintf("has ended (its process, %d, is gone, and its status is not known)", j.processes[pe].ID)
}

// names reports whether a text names a PE.
func names(text string, pe topo.PE) bool {
	name := fmt.Sprintf("PE %d", pe)
	for {
		_, rest, found := strings.Cut(text, name)
		if !found || rest == "" || rest[0] < '0' || rest[0] > '9' {
			return found
		}
		text = rest
	}
}

// Late says what the PEs do that a wait is for. late are the first of all late PEs. It has fewer
// words than Explanation, and takes no lock of the network. Other PEs include it in what they show,
// so it would grow without end if PEs wait for each other in a circle: for a PE whose text names
// this one, Late has only the short text.
func (j *Job) Late(late []topo.PE, all int) string {
	var said []string
	for _, pe := range late {
		what := j.about(pe, true, area.Deep)
		if slices.ContainsFunc(what, func(s string) bool { return names(s, j.Me) }) {
			what = j.about(pe, true, 0)
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

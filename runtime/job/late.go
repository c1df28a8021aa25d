package job

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"libshmem/fabric"
	"libshmem/runtime/bootstrap"
	"libshmem/runtime/topo"
)

// late is what this PE knows of PEs that it waits for.
type late struct {
	doing func(topo.PE, How) string // Options.Doing

	mu   sync.Mutex
	said map[topo.PE]saying
}

// saying is what a PE of another node has said that it does.
type saying struct {
	short, deep string
	at          time.Time
}

// separator stands between the short and the deep words in a message.
const separator = "\x00"

// mostSaid is the most bytes of an answer.
const mostSaid = 1024

// of is what a PE of this node does, as it has noted itself.
func (l *late) of(pe topo.PE, how How) string {
	if l.doing == nil {
		return ""
	}
	return l.doing(pe, how)
}

// hears takes what a PE has said, with the engine's lock held.
func (l *late) hears(pe fabric.PE, text string) {
	short, deep, _ := strings.Cut(text, separator)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said == nil {
		l.said = map[topo.PE]saying{}
	}
	l.said[topo.PE(pe)] = saying{short, deep, time.Now()}
}

// says answers a PE that asks what this one does, with the engine's lock held.
func (j *Job) says() string {
	text := j.late.of(j.Me, 0) + separator + j.late.of(j.Me, Deep)
	return text[:min(len(text), mostSaid)]
}

// stale is from which age on an answer says its age.
const stale = 1500 * time.Millisecond

// told is what a PE of another node has said last, or "".
func (l *late) told(pe topo.PE, how How) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.said[pe]
	if !ok {
		return ""
	}
	text := s.short
	if how&Deep != 0 {
		text = s.deep
	}
	if age := time.Since(s.at); text != "" && age > stale {
		text += fmt.Sprintf(", as of %.1f s ago", age.Seconds())
	}
	return text
}

// inquire asks the launcher for the fates of PEs, and of as many others as one report names
// whose processes are seen to have ended.
func (j *Job) inquire(late []topo.PE) {
	b, ok := j.boot.(bootstrap.Inquirer)
	if !ok {
		return
	}
	var all []int
	for _, pe := range late {
		all = append(all, int(pe))
	}
	for pe := range j.processes {
		p := &j.processes[pe]
		if len(all) >= len(late)+explained || !p.visible() || slices.Contains(all, pe) {
			continue
		}
		if gone, _ := p.condition(); gone && b.Fate(pe) == "" {
			all = append(all, pe)
		}
	}
	if len(all) > 0 {
		b.Inquire(all)
	}
}

// fate is what became of a PE by the word of the launcher, or "".
func (j *Job) fate(pe topo.PE) string {
	if b, ok := j.boot.(bootstrap.Inquirer); ok {
		return b.Fate(int(pe))
	}
	return ""
}

// about is what is known of a PE but for the network's part, each entry the end of a sentence
// about the PE. asked: also where nothing is remarkable.
func (j *Job) about(pe topo.PE, asked bool, how How) []string {
	j.watch.mu.Lock()
	lost := j.watch.fates[pe]
	j.watch.mu.Unlock()
	if lost != "" {
		return []string{lost}
	}
	var gone, stopped bool
	p := &j.processes[pe]
	if p.visible() {
		gone, stopped = p.condition()
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
	if fate := j.fate(pe); fate != "" && !p.visible() {
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

// end is how a process has ended: by the word of the launcher, or what the PE has noted itself.
func (j *Job) end(pe topo.PE) string {
	if fate := j.fate(pe); fate != "" {
		return fate
	}
	if !j.HeapIsFar(pe) {
		if how := j.late.of(pe, Gone); how != "" {
			return how
		}
	}
	return fmt.Sprintf("has ended (its process, %d, is gone, and its status is not known)", j.processes[pe].ID)
}

// names tells whether a text speaks of a PE.
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

// Late is what PEs do that a wait is for, which are the first of all late ones, in fewer words
// than Explanation has, and without a lock of the network. Others show it in their turn, so
// where PEs wait for each other in a circle it would grow: of a PE that speaks of this one it
// has the short words.
func (j *Job) Late(late []topo.PE, all int) string {
	var said []string
	for _, pe := range late {
		what := j.about(pe, true, Deep)
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

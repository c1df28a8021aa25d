package tracefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"libshmem/runtime/shmerr"
)

// Trace is the result of a first pass over all files of a job.
type Trace struct {
	Files []*File
	PEs   []*PE // in the order of their numbers
	NPEs  int   // number of PEs of the job: from the heads, or else one more than the highest PE in an event
	// Threads has the name of each thread, "" if the files do not name it.
	Threads map[Thread]string
	// Teams has the members of the teams that the files describe.
	Teams map[int64][]int
}

// Thread is a row of the timeline. Call distinguishes threads of the program from rows of the
// library's own trace (proxies, rings, NICs), which may have the same numbers.
type Thread struct {
	PE     int
	Call   bool // a thread of the program, whose events are calls
	Number int64
}

// File is one file. If the output of a job was rotated, a PE has several files.
type File struct {
	Name        string
	PEs         []int // the PEs of its events and heads
	Calls       int64 // events of the program's calls
	Others      int64 // events of proxies, rings and NICs
	Cut         *Cut  // nil if the file is complete
	heads       map[int]*Head
	first, last int64 // times of the first and last event, on its own clock
	peer        int   // the highest number of another PE in its events
}

// PE is one PE of the job. First and Last are on the clock of PE 0.
type PE struct {
	Head
	Calls, Others int64
	First, Last   int64 // the begin of its first event, and the end of its last one
	Cut           bool  // the writer of one of its files has not written the file's end
	Stolen        int64 // nanoseconds between calls in which its threads could not run
	Traced        int64 // nanoseconds of its threads that made calls, from the first call of each
	// Counted has the number of calls of each function whose calls have no events.
	Counted map[string]int64
	began   bool
}

// span is the time from the first to the last event of a thread in one file, on the file's clock.
type span struct{ first, last int64 }

// maxThreads limits the table of threads.
const maxThreads = 1 << 20

// Scan reads once each named file, and all files of named folders whose names end in .json. It
// calls visit, unless that is nil, for each event, whose times are on the clock of the file.
func Scan(names []string, visit func(*Event)) (*Trace, error) {
	files, err := filesOf(names)
	if err != nil {
		return nil, err
	}
	t := &Trace{Threads: map[Thread]string{}, Teams: map[int64][]int{}}
	pes := map[int]*PE{}
	for _, name := range files {
		f, err := t.scan(name, pes, visit)
		if err != nil {
			return nil, err
		}
		t.Files = append(t.Files, f)
	}
	if err := t.combineFiles(pes); err != nil {
		return nil, err
	}
	return t, nil
}

// filesOf lists the named files, and of named folders all files that end in .json, each file once.
func filesOf(names []string) ([]string, error) {
	var files []string
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || !info.IsDir() {
			files = append(files, name) // if it cannot be read, Open returns the error
			continue
		}
		list, err := os.ReadDir(name)
		if err != nil {
			return nil, &shmerr.Error{Op: "read", Object: name, Cause: err, Remedy: "name the files of a trace"}
		}
		n := len(files)
		for _, e := range list {
			if strings.HasSuffix(e.Name(), ".json") && !e.IsDir() {
				files = append(files, filepath.Join(name, e.Name()))
			}
		}
		if len(files) == n {
			return nil, &shmerr.Error{Op: "read", Object: name, Cause: errors.New("the folder has no file whose name ends in .json"), Remedy: "name the files of a trace"}
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(f string) bool {
		again := seen[filepath.Clean(f)]
		seen[filepath.Clean(f)] = true
		return again
	}), nil
}

// scan reads one file from front to back, passes its events to visit (unless it is nil), and adds
// what the file says about its PEs to pes and to the tables of the trace.
func (t *Trace) scan(name string, pes map[int]*PE, visit func(*Event)) (*File, error) {
	r, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f := &File{Name: name, first: math.MaxInt64, last: math.MinInt64}
	type label struct {
		pe     int
		number int64
	}
	hosts, labels := map[int]string{}, map[label]string{}
	inFile := map[int]bool{} // the PEs of the file
	threads := map[Thread]*span{}
	var e Event
	for {
		err := r.Next(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if visit != nil {
			visit(&e)
		}
		if e.Phase == 'M' {
			switch e.Name {
			case "process_name":
				if _, host, ok := strings.Cut(nameArg(&e), " on "); ok {
					hosts[e.PE] = host
				}
			case "thread_name":
				if len(labels) < maxThreads {
					labels[label{e.PE, e.Thread}] = nameArg(&e)
				}
			case TeamName:
				t.readTeam(&e)
			case CountsName:
				inFile[e.PE] = true
				readCounts(peOf(pes, e.PE), &e)
			}
			continue
		}
		inFile[e.PE] = true
		f.peer = max(f.peer, e.Peer)
		f.first, f.last = min(f.first, e.At), max(f.last, e.End())
		pe := peOf(pes, e.PE)
		if e.Call() {
			f.Calls++
			pe.Calls++
			pe.Stolen += e.Stolen
		} else {
			f.Others++
			pe.Others++
		}
		k := Thread{e.PE, e.Call(), e.Thread}
		s := threads[k]
		if s == nil {
			s = &span{e.At, e.End()}
			if threads[k] = s; len(threads) > maxThreads {
				return nil, r.formatErrorAt(e.Line, "it has more than %d threads", maxThreads)
			}
		}
		s.first, s.last = min(s.first, e.At), max(s.last, e.End())
	}
	f.Cut, f.heads = r.Cut(), r.Heads()
	for k, s := range threads {
		if k.Call {
			peOf(pes, k.PE).Traced += s.last - s.first
		}
		if text := labels[label{k.PE, k.Number}]; text != "" || t.Threads[k] == "" {
			t.Threads[k] = text
		}
	}
	for n := range f.heads {
		inFile[n] = true
	}
	for n := range inFile {
		f.PEs = append(f.PEs, n)
		pe := peOf(pes, n)
		if pe.Host == "" {
			pe.Host = hosts[n]
		}
		pe.Cut = pe.Cut || f.Cut != nil
	}
	slices.Sort(f.PEs)
	return f, nil
}

// peOf returns the PE with number n in the table pes, to which it adds the PE the first time.
func peOf(pes map[int]*PE, n int) *PE {
	pe := pes[n]
	if pe == nil {
		pe = &PE{Head: Head{PE: n}}
		pes[n] = pe
	}
	return pe
}

// maxListedTeams and maxCounted limit tables that are filled from files.
const (
	maxListedTeams = 1 << 16
	maxCounted     = 1 << 14
)

// readTeam stores the members of a team from a metadata event. It ignores events of another form,
// because other writers may use the same name.
func (t *Trace) readTeam(e *Event) {
	var args struct {
		PEs []int `json:"pes"`
	}
	if e.Team != None && len(t.Teams) < maxListedTeams && json.Unmarshal(e.Args, &args) == nil {
		t.Teams[e.Team] = args.PEs
	}
}

// readCounts stores from a metadata event how often the program called functions whose calls are
// not recorded. The writer repeats the event with larger counts, so the largest count is the last
// one.
func readCounts(p *PE, e *Event) {
	var counts map[string]int64
	if len(e.Args) == 0 || json.Unmarshal(e.Args, &counts) != nil {
		return
	}
	if p.Counted == nil {
		p.Counted = map[string]int64{}
	}
	for name, n := range counts {
		if len(p.Counted) < maxCounted {
			p.Counted[name] = max(p.Counted[name], n)
		}
	}
}

// nameArg returns the argument `name` of a metadata event, which names a PE or a thread, or "".
func nameArg(e *Event) string {
	var args struct {
		Name string `json:"name"`
	}
	if len(e.Args) == 0 || json.Unmarshal(e.Args, &args) != nil {
		return ""
	}
	return args.Name
}

// combineFiles ends the scan: it combines the files of each PE, orders the PEs, finds their first
// and last times, and returns an error if the files are of several jobs.
func (t *Trace) combineFiles(pes map[int]*PE) error {
	var job *Head // the first head that names the job
	var where *File
	for _, f := range t.Files {
		for _, n := range f.PEs {
			h := f.heads[n]
			if h == nil {
				continue
			}
			if job != nil && h.NPEs != 0 && h.NPEs != job.NPEs {
				return &shmerr.Error{
					Op: "read", Object: f.Name,
					Cause:  fmt.Errorf("it comes from %s with %d PEs, but %s from %s with %d", h.Program, h.NPEs, where.Name, job.Program, job.NPEs),
					Remedy: "name the files of one job",
				}
			}
			if job == nil && h.NPEs != 0 {
				job, where = h, f
			}
			pes[n].addHead(h)
		}
	}
	if err := t.checkDuplicates(); err != nil {
		return err
	}
	if len(pes) == 0 {
		var names []string
		for _, f := range t.Files {
			names = append(names, f.Name)
		}
		return &shmerr.Error{Op: "read", Object: strings.Join(names, ", "), Cause: errors.New("there is no event"), Remedy: "let the program run until its first call, and record it again"}
	}
	if job != nil {
		t.NPEs = job.NPEs
	} else {
		for _, f := range t.Files {
			t.NPEs = max(t.NPEs, f.peer+1)
		}
	}
	for n, pe := range pes {
		t.PEs = append(t.PEs, pe)
		t.NPEs = max(t.NPEs, n+1)
	}
	slices.SortFunc(t.PEs, func(a, b *PE) int { return a.PE - b.PE })
	for _, f := range t.Files {
		if f.Calls+f.Others == 0 {
			continue
		}
		for _, n := range f.PEs {
			pe := pes[n]
			first, last := pe.Moment(f.first), pe.Moment(f.last)
			if !pe.began {
				pe.First, pe.Last, pe.began = first, last, true
			}
			pe.First, pe.Last = min(pe.First, first), max(pe.Last, last)
		}
	}
	return nil
}

// checkDuplicates returns an error if two files have the same events: a file was named twice, or
// together with the file that shmem-trace merge has made of it.
func (t *Trace) checkDuplicates() error {
	merged := map[int]*File{} // by PE
	for _, f := range t.Files {
		for n, h := range f.heads {
			if h.Merged {
				merged[n] = f
			}
		}
	}
	for i, f := range t.Files {
		for _, n := range f.PEs {
			if g := merged[n]; g != nil && g != f {
				return &shmerr.Error{
					Op: "read", Object: f.Name, Cause: fmt.Errorf("%s, which shmem-trace merge has written, has PE %d, too", g.Name, n),
					Remedy: "name that file alone, or leave it out",
				}
			}
		}
		for _, g := range t.Files[:i] {
			if f.Calls+f.Others > 0 && f.first == g.first && f.last == g.last && f.Calls == g.Calls && slices.Equal(f.PEs, g.PEs) {
				return &shmerr.Error{
					Op: "read", Object: f.Name, Cause: fmt.Errorf("it has the same events as %s", g.Name),
					Remedy: "name each file once",
				}
			}
		}
	}
	return nil
}

// addHead adds the facts of one file about a PE. Each file of a rotated output has the sums of
// losses so far, so the largest counts.
func (p *PE) addHead(h *Head) {
	if p.NPEs == 0 {
		p.NPEs, p.Program, p.Library = h.NPEs, h.Program, h.Library
	}
	if h.Host != "" {
		p.Host = h.Host
	}
	if h.HostID != "" {
		p.HostID = h.HostID
	}
	p.Lost, p.Old = max(p.Lost, h.Lost), max(p.Old, h.Old)
	for _, u := range h.Unseen {
		if !slices.Contains(p.Unseen, u) {
			p.Unseen = append(p.Unseen, u)
		}
	}
	for _, c := range h.Clock {
		i, found := slices.BinarySearchFunc(p.Clock, c.At, func(o Offset, at int64) int {
			switch {
			case o.At < at:
				return -1
			case o.At > at:
				return 1
			}
			return 0
		})
		if !found {
			p.Clock = slices.Insert(p.Clock, i, c)
		}
	}
}

// Missing returns the numbers of the PEs of the job of which no named file has anything.
func (t *Trace) Missing() []int {
	var missing []int
	for n, i := 0, 0; n < t.NPEs; n++ {
		if i < len(t.PEs) && t.PEs[i].PE == n {
			i++
			continue
		}
		missing = append(missing, n)
	}
	return missing
}

// SimulatedHosts returns the number of hosts that shmemrun --hosts has simulated, or 0 if the PEs'
// hosts were real. Simulated hosts share the name of the real one, and differ in their ids.
func (t *Trace) SimulatedHosts() int {
	hosts, ids := map[string]bool{}, map[string]bool{}
	for _, p := range t.PEs {
		hosts[p.Host] = true
		ids[p.Host+" "+p.HostID] = true
	}
	if len(ids) > len(hosts) {
		return len(ids)
	}
	return 0
}

// PE returns the PE with a number, or nil.
func (t *Trace) PE(n int) *PE {
	i, ok := slices.BinarySearchFunc(t.PEs, n, func(p *PE, n int) int { return p.PE - n })
	if !ok {
		return nil
	}
	return t.PEs[i]
}

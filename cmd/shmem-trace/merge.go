package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"libshmem/cmd/internal/manual"
	"libshmem/cmd/internal/tracefile"
)

var mergeCommand = command{
	page: manual.Page{
		Name:    "merge",
		Summary: "join the files of all PEs into one for Perfetto, on one clock",
		Usage:   []string{"shmem-trace merge FILE... [-o FILE]"},
		Text: `Joins the files of all PEs into one, which https://ui.perfetto.dev shows with a
row for each PE and thread. Times are on the clock of PE 0; the command says by
how much they may be wrong.`,
	},
	set: setMerge,
}

// setMerge defines the options of the subcommand merge, and returns the function that executes it:
// it joins the files of all PEs.
func setMerge(fs *pflag.FlagSet) func(files []string, stdout, stderr io.Writer) int {
	name := fs.StringP("output", "o", "all.json", "the `file` to write")
	manual.Files(fs, "output")
	return func(files []string, stdout, stderr io.Writer) int {
		t, err := tracefile.Scan(files, nil) // nil: only the facts about the files, no visit of the events
		if err != nil {
			return fail(stderr, statusError, err)
		}
		var events int64
		if err := writeWhole(*name, t.Files, func(w io.Writer) (err error) {
			events, err = writeMerged(t, w)
			return err
		}); err != nil {
			return fail(stderr, statusError, err)
		}
		printNotes(stderr, t.Notes())
		fmt.Fprintf(stdout, "%s: %d events of %d PEs (open it at https://ui.perfetto.dev)\n", *name, events, len(t.PEs))
		return statusOK
	}
}

// writeMerged writes the events of all PEs to w as one JSON array, and returns how many there are.
func writeMerged(t *tracefile.Trace, w io.Writer) (int64, error) {
	out := &mergedWriter{w: w, rows: assignRows(t), texts: map[string][]byte{}}
	for _, p := range t.PEs {
		if err := out.head(p); err != nil {
			return 0, err
		}
	}
	if err := out.teams(t); err != nil {
		return 0, err
	}
	for _, k := range sortedRows(out.rows) {
		name := t.Threads[k]
		if name == "" {
			name = fmt.Sprintf("calls of thread %d", k.Number)
			if !k.Call {
				name = fmt.Sprintf("row %d", k.Number)
			}
		}
		if err := out.label("thread_name", k.PE, out.rows[k], name); err != nil {
			return 0, err
		}
	}
	m, err := t.Merge()
	if err != nil {
		return 0, err
	}
	defer m.Close()
	var e tracefile.Event
	for n := int64(0); ; n++ {
		switch err := m.Next(&e); {
		case errors.Is(err, io.EOF):
			_, err := io.WriteString(w, "\n]\n")
			return n, err
		case err != nil:
			return n, err
		}
		if err := out.event(&e); err != nil {
			return n, err
		}
	}
}

// assignRows assigns to each row of the timeline a number that is unique within its PE. It is the
// row's number in the files, unless the row is of the library's own trace and a thread with calls
// has the same number.
func assignRows(t *tracefile.Trace) map[tracefile.Thread]int64 {
	rows := map[tracefile.Thread]int64{}
	used := map[[2]int64]bool{}      // by PE and number
	var displaced []tracefile.Thread // rows whose numbers threads with calls have
	for k := range t.Threads {
		if k.Call || !hasCalls(t, k) {
			rows[k] = k.Number
			used[[2]int64{int64(k.PE), k.Number}] = true
		} else {
			displaced = append(displaced, k)
		}
	}
	slices.SortFunc(displaced, compareRows)
	for _, k := range displaced {
		n := int64(1)
		for used[[2]int64{int64(k.PE), n}] {
			n++
		}
		rows[k] = n
		used[[2]int64{int64(k.PE), n}] = true
	}
	return rows
}

// hasCalls reports whether the trace has a thread with calls that has the same PE and number as row
// k.
func hasCalls(t *tracefile.Trace, k tracefile.Thread) bool {
	k.Call = true
	_, ok := t.Threads[k]
	return ok
}

// compareRows orders rows for slices.SortFunc: by PE, then rows with calls before others, then by
// number.
func compareRows(a, b tracefile.Thread) int {
	calls := func(k tracefile.Thread) int {
		if k.Call {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.PE, b.PE), cmp.Compare(calls(a), calls(b)), cmp.Compare(a.Number, b.Number))
}

// sortedRows returns the rows in the order in which the merged file describes them.
func sortedRows(rows map[tracefile.Thread]int64) []tracefile.Thread {
	var list []tracefile.Thread
	for k := range rows {
		list = append(list, k)
	}
	slices.SortFunc(list, compareRows)
	return list
}

// mergedWriter writes the events of all PEs as one JSON array.
type mergedWriter struct {
	w     io.Writer
	rows  map[tracefile.Thread]int64 // of assignRows
	texts map[string][]byte          // names as JSON
	n     int64                      // objects that were written
	buf   []byte                     // memory of the last object
}

// writeObject writes the JSON object b as the next element of the array. b was made in j.buf, and
// its memory is used for the next one.
func (j *mergedWriter) writeObject(b []byte) error {
	j.buf = b
	before := ",\n"
	if j.n++; j.n == 1 {
		before = "[\n"
	}
	if _, err := io.WriteString(j.w, before); err != nil {
		return err
	}
	_, err := j.w.Write(b)
	return err
}

// text returns a string as JSON. It caches the first 4,096, which are mostly names.
func (j *mergedWriter) text(s string) []byte {
	if t, ok := j.texts[s]; ok {
		return t
	}
	t, err := json.Marshal(s)
	if err != nil {
		panic(err) // every string can be written as JSON
	}
	if len(j.texts) < 1<<12 {
		j.texts[s] = t
	}
	return t
}

// headArgs is the head of a PE in a joined file: its times are on the clock of PE 0 now, with the
// remaining error.
type headArgs struct {
	Version int           `json:"version"`
	PE      int           `json:"pe"`
	NPEs    int           `json:"npes,omitempty"`
	Host    string        `json:"host,omitempty"`
	HostID  string        `json:"host_id,omitempty"`
	Program string        `json:"program,omitempty"`
	Library string        `json:"library,omitempty"`
	Clock   []clockOffset `json:"clock,omitempty"`
	Unseen  []string      `json:"unseen,omitempty"`
	Lost    int64         `json:"lost"`
	Old     int64         `json:"discarded"`
	Merged  bool          `json:"merged"`
}

type clockOffset struct {
	At     json.Number `json:"at"`
	Offset int         `json:"offset"` // 0: the times of the file are on the clock of PE 0
	Error  json.Number `json:"error"`
}

// head writes the metadata of a PE: its head, its name, its position in the viewer, and how often
// functions were called whose calls have no events.
func (j *mergedWriter) head(p *tracefile.PE) error {
	args := headArgs{
		Version: tracefile.Version, PE: p.PE, NPEs: p.NPEs, Host: p.Host, HostID: p.HostID, Program: p.Program, Library: p.Library,
		Unseen: p.Unseen, Lost: p.Lost, Old: p.Old, Merged: true,
	}
	for i, c := range p.Clock {
		if i == 0 || i == len(p.Clock)-1 {
			args.Clock = append(args.Clock, clockOffset{
				At: json.Number(appendMicros(nil, p.Moment(c.At))), Error: json.Number(appendMicros(nil, p.ClockError())),
			})
		}
	}
	text, err := json.Marshal(args)
	if err != nil {
		return err
	}
	if err := j.writeObject(fmt.Appendf(j.buf[:0], `{"ph":"M","name":"%s","pid":%d,"tid":0,"args":%s}`, tracefile.HeadName, p.PE, text)); err != nil {
		return err
	}
	name := fmt.Sprintf("PE %d", p.PE)
	if p.Host != "" {
		name += " on " + p.Host
	}
	if err := j.label("process_name", p.PE, 0, name); err != nil {
		return err
	}
	if err := j.writeObject(fmt.Appendf(j.buf[:0], `{"ph":"M","name":"process_sort_index","pid":%d,"tid":0,"args":{"sort_index":%d}}`, p.PE, p.PE)); err != nil {
		return err
	}
	if len(p.Counted) == 0 {
		return nil
	}
	if text, err = json.Marshal(p.Counted); err != nil {
		return err
	}
	return j.writeObject(fmt.Appendf(j.buf[:0], `{"ph":"M","name":"%s","pid":%d,"tid":0,"args":%s}`, tracefile.CountsName, p.PE, text))
}

// teams writes a metadata event for each team, with the PEs of the team.
func (j *mergedWriter) teams(t *tracefile.Trace) error {
	for _, id := range slices.Sorted(maps.Keys(t.Teams)) {
		text, err := json.Marshal(map[string]any{"team": id, "pes": t.Teams[id]})
		if err != nil {
			return err
		}
		if err := j.writeObject(fmt.Appendf(j.buf[:0], `{"ph":"M","name":"%s","pid":%d,"tid":0,"args":%s}`, tracefile.TeamName, t.PEs[0].PE, text)); err != nil {
			return err
		}
	}
	return nil
}

// label writes a metadata event that names a PE (process_name) or one of its rows (thread_name).
func (j *mergedWriter) label(what string, pe int, row int64, name string) error {
	return j.writeObject(fmt.Appendf(j.buf[:0], `{"ph":"M","name":"%s","pid":%d,"tid":%d,"args":{"name":%s}}`, what, pe, row, j.text(name)))
}

// event writes one event, whose time is on the clock of PE 0, with the number of its row.
func (j *mergedWriter) event(e *tracefile.Event) error {
	b := append(j.buf[:0], `{"ph":`...)
	b = append(b, j.text(string(rune(e.Phase)))...)
	b = append(b, `,"name":`...)
	b = append(b, j.text(e.Name)...)
	if e.Category != "" {
		b = append(b, `,"cat":`...)
		b = append(b, j.text(e.Category)...)
	}
	if e.ID != "" {
		id, err := json.Marshal(e.ID)
		if err != nil {
			return err
		}
		b = append(b, `,"id":`...)
		b = append(b, id...)
	}
	b = append(b, `,"pid":`...)
	b = strconv.AppendInt(b, int64(e.PE), 10)
	b = append(b, `,"tid":`...)
	b = strconv.AppendInt(b, j.rows[tracefile.Thread{PE: e.PE, Call: e.Call(), Number: e.Thread}], 10)
	b = append(b, `,"ts":`...)
	b = appendMicros(b, e.At)
	switch e.Phase {
	case 'X':
		b = append(b, `,"dur":`...)
		b = appendMicros(b, e.Length)
	case 'i':
		b = append(b, `,"s":"t"`...)
	}
	if e.Args != nil {
		b = append(b, `,"args":`...)
		b = append(b, e.Args...)
	}
	return j.writeObject(append(b, '}'))
}

// appendMicros appends nanoseconds as microseconds with three decimals, the unit of the format.
func appendMicros(b []byte, n int64) []byte {
	if n < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendInt(b, n/1000, 10)
	rest := n % 1000
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

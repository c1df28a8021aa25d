// Package tracetest reads files in the Trace Event Format as the strictest viewers do, and lists
// the faults of the files. It shares no code with the writer: its rules are those of the format, of
// Perfetto's additions, and of JSON.
//
// The viewers differ in what they accept. Chrome's reads numbers as floating-point numbers of 64
// bits. Perfetto leaves out events of one row that overlap, unless one is inside the other. If a
// name is missing or comes too late, both show a number instead. In this package all of these are
// faults.
package tracetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// An Event is one event of a trace file: a JSON object.
type Event struct {
	Phase    string         `json:"ph"`
	Name     *string        `json:"name"`
	Category string         `json:"cat"`
	ID       string         `json:"id"`
	Scope    string         `json:"s"`
	PID      *int           `json:"pid"`
	TID      *int           `json:"tid"`
	At       json.Number    `json:"ts"`
	Length   json.Number    `json:"dur"`
	Args     map[string]any `json:"args"`
}

// row is the row of the viewer in which an event appears.
type row struct{ pid, tid int }

// span is an event with a length, in nanoseconds.
type span struct {
	name       string
	begin, end int64
}

// Check reads a trace file. It returns its events, and an error that lists all their faults.
func Check(text []byte) ([]Event, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	var all []Event
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("it is no array of events: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the array")
	}
	var wrong []error
	complain := func(i int, format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("event %d: %s", i, fmt.Sprintf(format, args...)))
	}
	named := map[row]bool{}
	processes := map[int]bool{}
	rows := map[row][]span{}
	open := map[string]int64{}
	for i, e := range all {
		if e.Name == nil || *e.Name == "" || e.PID == nil || e.TID == nil {
			complain(i, "it has no name, pid or tid")
			continue
		}
		at := row{*e.PID, *e.TID}
		if e.Phase == "M" {
			label, _ := e.Args["name"].(string)
			switch {
			case label == "" || len(e.Args) != 1 || e.At != "":
				complain(i, "a label is one text, args.name, and has no time")
			case *e.Name == "process_name" && !processes[at.pid]:
				processes[at.pid] = true
			case *e.Name == "thread_name" && !named[at]:
				named[at] = true
			default:
				complain(i, "%s of %v is unknown, or is there twice", *e.Name, at)
			}
			continue
		}
		begin, err := nanoseconds(e.At)
		if err != nil {
			complain(i, "ts: %v", err)
			continue
		}
		if !processes[at.pid] {
			complain(i, "process %d has no name yet", at.pid)
		}
		asynchronous := e.Phase == "b" || e.Phase == "e"
		if (e.ID != "" && e.Category != "") != asynchronous || (e.Length != "") != (e.Phase == "X") || (e.Scope == "t") != (e.Phase == "i") {
			complain(i, "a %s has wrong fields: %+v", e.Phase, e)
			continue
		}
		if !asynchronous && !named[at] {
			complain(i, "thread %d has no name yet", at.tid)
		}
		switch e.Phase {
		case "i":
		case "X":
			length, err := nanoseconds(e.Length)
			if err != nil {
				complain(i, "dur: %v", err)
				continue
			}
			rows[at] = append(rows[at], span{*e.Name, begin, begin + length})
		case "b", "e":
			// Readers that pair these by category, id and name need all three equal.
			key := strings.Join([]string{strconv.Itoa(at.pid), e.Category, e.ID, *e.Name}, "\x00")
			began, isOpen := open[key]
			switch {
			case isOpen == (e.Phase == "b"):
				complain(i, "%s %s begins twice, or ends before it begins", *e.Name, e.ID)
			case isOpen && begin < began:
				complain(i, "%s %s ends %d ns before its begin", *e.Name, e.ID, began-begin)
			}
			if delete(open, key); e.Phase == "b" {
				open[key] = begin
			}
		default:
			complain(i, "phase %q", e.Phase)
		}
	}
	for key := range open {
		wrong = append(wrong, fmt.Errorf("%s begins and does not end", strings.ReplaceAll(key, "\x00", " ")))
	}
	for at, spans := range rows {
		wrong = append(wrong, nested(at, spans)...)
	}
	return all, errors.Join(wrong...)
}

// nanoseconds reads a number of microseconds as nanoseconds. It returns an error if a
// floating-point number of 64 bits does not hold it exactly.
func nanoseconds(n json.Number) (int64, error) {
	whole, rest, _ := strings.Cut(n.String(), ".")
	if len(rest) > 3 {
		return 0, fmt.Errorf("%s is finer than a nanosecond", n)
	}
	exact, err := strconv.ParseInt(whole+rest+strings.Repeat("0", 3-len(rest)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of microseconds", n)
	}
	if exact < 0 {
		return 0, fmt.Errorf("%s is below 0", n)
	}
	if f, err := n.Float64(); err != nil || int64(math.Round(f*1000)) != exact {
		return 0, fmt.Errorf("%s is another number in 64 bits of floating point, %.6f", n, f)
	}
	return exact, nil
}

// nested returns an error for each two spans of one row that overlap without one being inside the
// other.
func nested(at row, spans []span) (wrong []error) {
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.begin != b.begin {
			return int(max(-1, min(1, a.begin-b.begin)))
		}
		return int(max(-1, min(1, b.end-a.end)))
	})
	var enclosing []span // the spans that have begun and not ended, the innermost last
	for _, s := range spans {
		for len(enclosing) > 0 && enclosing[len(enclosing)-1].end <= s.begin {
			enclosing = enclosing[:len(enclosing)-1]
		}
		if n := len(enclosing); n > 0 && s.end > enclosing[n-1].end {
			wrong = append(wrong, fmt.Errorf("thread %d of %d: %s from %d to %d and %s from %d to %d overlap",
				at.tid, at.pid, enclosing[n-1].name, enclosing[n-1].begin, enclosing[n-1].end, s.name, s.begin, s.end))
			continue
		}
		enclosing = append(enclosing, s)
	}
	return wrong
}

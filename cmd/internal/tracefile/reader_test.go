package tracefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

const head = `{"ph":"M","name":"libshmem_trace","args":{"version":1,"pe":3,"npes":8,"host":"h","program":"p","library":"l","clock":[{"at":1.5,"offset":-2,"error":0.25}],"unseen":["shmem_int_p: inline"],"lost":7}}`

const call = `{"ph":"X","name":"shmem_putmem","cat":"shmem","pid":3,"tid":77,"ts":1799999999999.123,"dur":0.75,"args":{"pe":5,"bytes":4096,"team":2,"stolen":1.5}}`

// all reads a text to its end.
func all(t *testing.T, text string) ([]Event, *Reader, error) {
	t.Helper()
	r := NewReader("f.json", iotest.OneByteReader(strings.NewReader(text)))
	var events []Event
	for {
		var e Event
		err := r.Next(&e)
		if errors.Is(err, io.EOF) {
			return events, r, nil
		}
		if err != nil {
			if again := r.Next(&e); again == nil || again.Error() != err.Error() {
				t.Errorf("after %v Next gives %v", err, again)
			}
			return events, r, err
		}
		e.Args = bytes.Clone(e.Args)
		events = append(events, e)
	}
}

func TestReader(t *testing.T) {
	want := Event{
		Phase: 'X', Name: "shmem_putmem", Category: "shmem", PE: 3, Thread: 77, At: 1799999999999123, Length: 750,
		Stolen: 1500, Peer: 5, Bytes: 4096, Team: 2, Args: []byte(`{"pe":5,"bytes":4096,"team":2,"stolen":1.5}`), Line: 3,
	}
	for _, text := range []string{
		"[\n" + head + ",\n" + call + "\n]\n",
		`{"displayTimeUnit":"ns", "traceEvents" : [` + "\n" + head + ",\n" + call + `],"otherData":{"traceEvents":[]}}`,
	} {
		events, r, err := all(t, text)
		if err != nil || len(events) != 2 || r.Cut() != nil {
			t.Fatalf("%d events, %v, cut %v", len(events), err, r.Cut())
		}
		if !reflect.DeepEqual(events[1], want) {
			t.Errorf("read %+v, want %+v", events[1], want)
		}
		wantHead := &Head{
			PE: 3, NPEs: 8, Host: "h", Program: "p", Library: "l", Clock: []Offset{{1500, -2000, 250}},
			Unseen: []string{"shmem_int_p: inline"}, Lost: 7,
		}
		if h := r.Heads()[3]; !reflect.DeepEqual(h, wantHead) {
			t.Errorf("head %+v, want %+v", h, wantHead)
		}
	}
}

// TestHeads has a writer that knows its losses and its second comparison of clocks at the end.
func TestHeads(t *testing.T) {
	_, r, err := all(t, "["+head+`,{"ph":"M","name":"libshmem_trace","pid":3,"args":{"version":1,"pe":3,"clock":[{"at":9,"offset":-1,"error":0.5}],"lost":9}}]`)
	if err != nil {
		t.Fatal(err)
	}
	want := &Head{
		PE: 3, NPEs: 8, Host: "h", Program: "p", Library: "l", Unseen: []string{"shmem_int_p: inline"}, Lost: 9,
		Clock: []Offset{{1500, -2000, 250}, {9000, -1000, 500}},
	}
	if h := r.Heads()[3]; !reflect.DeepEqual(h, want) {
		t.Errorf("head %+v, want %+v", h, want)
	}
}

// TestCut cuts a file at every byte: the events before the cut are read, and the cut is named.
func TestCut(t *testing.T) {
	text := "[\n" + head + ",\n" + call + ",\n" + call + "\n]"
	for n := range len(text) {
		events, r, err := all(t, text[:n])
		if err != nil {
			t.Fatalf("cut at byte %d: %v", n, err)
		}
		if r.Cut() == nil {
			t.Fatalf("cut at byte %d: not noticed", n)
		}
		whole := strings.Count(text[:n], "}}") // each event has this at its end, and nowhere else
		if len(events) != whole || r.Cut().Events != int64(whole) {
			t.Errorf("cut at byte %d: %d events (%s), want %d", n, len(events), r.Cut(), whole)
		}
	}
	_, r, _ := all(t, text[:len(text)-10])
	if got := r.Cut().String(); got != "it ends at line 4, in the middle of the event after event 2" {
		t.Errorf("the cut says %q", got)
	}
	_, r, _ = all(t, "")
	if got := r.Cut().String(); got != "it ends at line 1 before its first event" {
		t.Errorf("the cut says %q", got)
	}
}

func TestRefused(t *testing.T) {
	x := func(members string) string { return "[\n" + call + ",\n{" + members + "}]" }
	for _, c := range []struct{ text, want string }{
		{"#!/bin/sh\n", `f.json line 1: it begins with "#", but a trace begins with [ or {`},
		{"\n\n7", `f.json line 3: it begins with "7"`},
		{`{"name":"x"}`, `f.json line 1: it has no traceEvents`},
		{`{"traceEvents":[],"traceEvents":[]}`, `f.json line 1: it has traceEvents twice`},
		{`{"traceEvents":7}`, `f.json line 1: it has no traceEvents`},
		{`{"a":tru,"traceEvents":[]}`, `f.json line 1: it is not JSON`},
		{"[\n7]", `f.json line 2: "7" is in the place of an event`},
		{"[" + call + "\n" + call, `f.json line 2: "{" is in the place of , or ]`},
		{"[" + call + ",\n]", `f.json line 2: "]" is in the place of an event`},
		{"[]\nx", `f.json line 2: "x" follows the end of the trace`},
		{x(``), `f.json line 3: an event has no ph`},
		{x(`"ph":"XX"`), `f.json line 3: its ph is "\"XX\"", not one letter`},
		{x(`"ph":7`), `f.json line 3: its ph is "7", not a text`},
		{x(`"ph":"X","pid":1,"dur":1`), `f.json line 3: an event of ph X has no ts`},
		{x(`"ph":"X","pid":1,"ts":1`), `f.json line 3: a complete event has no dur`},
		{x(`"ph":"X","ts":1,"dur":1`), `f.json line 3: an event of ph X has no pid`},
		{x(`"ph":"X","ts":"1","dur":1,"pid":1`), `f.json line 3: "\"1\"" is not a time in microseconds`},
		{x(`"ph":"X","ts":1,"dur":-1,"pid":1`), `f.json line 3: its dur is "-1", less than 0`},
		{x(`"ph":"i","ts":1,"pid":-1`), `f.json line 3: its pid is "-1", not the number of a PE`},
		{x(`"ph":"i","ts":1e300,"pid":1`), `f.json line 3: "1e300" is not a time in microseconds`},
		{x(`"ph":"i","ts":99999999999999999999.5,"pid":1`), `is not a time in microseconds`},
		{x(`"ph":"i","ts":1,"pid":1,"args":[]`), `f.json line 3: its args are "[]", not an object`},
		{x(`"ph":"i","ts":1,"pid":1]`), `f.json line 3: it is not JSON`},
		{x(`"ph":"i","ts":01,"pid":1`), `f.json line 3: it is not JSON`},
		{x(`"ph":"M","name":"libshmem_trace"`), `f.json line 3: its head has no args`},
		{x(`"ph":"M","name":"libshmem_trace","args":{"version":1}`), `f.json line 3: its head names no PE`},
		{x(`"ph":"M","name":"libshmem_trace","args":{"pe":1}`), `f.json line 3: its head has no version`},
		{x(`"ph":"M","name":"libshmem_trace","args":{"version":2,"pe":1}`), `f.json line 3: its head has version 2, not 1`},
		{x(`"ph":"M","name":"libshmem_trace","args":{"version":1,"pe":1,"npes":1}`), `f.json line 3: its head has PE 1 of 1 PEs`},
		{x(`"ph":"M","name":"libshmem_trace","pid":2,"args":{"version":1,"pe":1}`), `PE 1 in args and PE 2 in pid`},
		{x(`"ph":"M","name":"libshmem_trace","args":{"version":1,"pe":1,"lost":-1}`), `has -1 lost events`},
		{"[{\"ph\":\"" + strings.Repeat("x", longest), `f.json line 1: an event is longer than 4194304 bytes`},
	} {
		r := NewReader("f.json", strings.NewReader(c.text))
		var e Event
		var err error
		for err == nil {
			err = r.Next(&e)
		}
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) || !strings.HasSuffix(err.Error(), "has written)") {
			t.Errorf("%.80q: %v, want %s", c.text, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.json")); err == nil || !strings.Contains(err.Error(), "none.json: no such file or directory (name the files of a trace)") {
		t.Errorf("a file that is not there: %v", err)
	}
	r, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Next(&Event{}); err == nil || errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
}

func TestMicros(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
	}{
		{"0", 0}, {"1", 1000}, {"0.001", 1}, {"-0.001", -1}, {"1.5e3", 1500000}, {"2591999999999.999", 2591999999999999},
		{"1.23456", 1234}, {"1.2", 1200}, {"1700000000000000.123", 1700000000000000123},
	} {
		if got, err := parseMicros([]byte(c.text)); err != nil || got != c.want {
			t.Errorf("%s: %d, %v, want %d", c.text, got, err, c.want)
		}
	}
}

// TestBounded reads more than the reader may hold.
func TestBounded(t *testing.T) {
	const n = 100_000
	parts := []io.Reader{strings.NewReader("[" + call)}
	for range n / 1000 {
		parts = append(parts, strings.NewReader(strings.Repeat(",\n"+call, 1000)))
	}
	r := NewReader("f.json", io.MultiReader(append(parts, strings.NewReader("]"))...))
	var e Event
	if err := r.Next(&e); err != nil {
		t.Fatal(err)
	}
	if a := testing.AllocsPerRun(1000, func() {
		if err := r.Next(&e); err != nil {
			t.Fatal(err)
		}
	}); a > 0.1 {
		t.Errorf("%v allocations an event", a)
	}
	var err error
	for err == nil {
		err = r.Next(&e)
	}
	if !errors.Is(err, io.EOF) || r.events != n+1 || e.Line != n+1 {
		t.Errorf("%d events up to line %d, %v", r.events, e.Line, err)
	}
	if len(r.buf) != window {
		t.Errorf("the buffer has grown to %d bytes", len(r.buf))
	}
}

// FuzzReader compares the reader with encoding/json.
func FuzzReader(f *testing.F) {
	for _, text := range []string{
		"[\n" + head + ",\n" + call + "]", `{"traceEvents":[` + call + `],"x":[1,"]"]}`, "[" + call, `[{"ph":"i","ts":1e3,"pid":0,"id":"1.2"}]`,
		`[{"ph":"\u0058","name":"\\\"","args":{"pe":[{}],"bytes":"7"},"pid":1,"ts":0,"dur":0}]`, `[{}]`, `{"a":{"b":[]},"traceEvents":[]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		events, r, err := all(t, string(text))
		valid := json.Valid(text)
		if err == nil && r.Cut() == nil && !valid {
			t.Fatalf("read to the end, and it is not JSON")
		}
		if valid && r.Cut() != nil {
			t.Fatalf("valid JSON was cut: %s", r.Cut())
		}
		if err != nil || !valid {
			return
		}
		var list []map[string]any
		if json.Unmarshal(text, &list) != nil {
			var outer map[string]json.RawMessage
			if json.Unmarshal(text, &outer) != nil || json.Unmarshal(outer["traceEvents"], &list) != nil {
				t.Skip()
			}
		}
		if len(list) != len(events) {
			t.Fatalf("%d events, and %d objects", len(events), len(list))
		}
		for i, e := range events {
			name, _ := list[i]["name"].(string)
			at, _ := list[i]["ts"].(float64)
			if e.Name != name || string(e.Phase) != list[i]["ph"] {
				t.Errorf("event %d: %+v, and %v", i, e, list[i])
			}
			if d := float64(e.At)/1000 - at; d > 0.001+1e-9*max(at, -at) || -d > 0.001+1e-9*max(at, -at) {
				t.Errorf("event %d: at %d ns, and %v us", i, e.At, at)
			}
		}
	})
}

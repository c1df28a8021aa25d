package tracefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"libshmem/cmd/internal/tracefile/sample"
)

// write makes files in a folder of the test, and gives their names.
func write(t *testing.T, texts map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// merged reads all events of a trace.
func merged(t *testing.T, trace *Trace) []Event {
	t.Helper()
	m, err := trace.Merge()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var events []Event
	for {
		var e Event
		if err := m.Next(&e); errors.Is(err, io.EOF) {
			return events
		} else if err != nil {
			t.Fatal(err)
		}
		e.Args = append([]byte(nil), e.Args...)
		events = append(events, e)
	}
}

func TestJob(t *testing.T) {
	dir := t.TempDir()
	if _, err := sample.Job(dir); err != nil {
		t.Fatal(err)
	}
	visited := 0
	trace, err := Scan([]string{dir}, func(*Event) { visited++ })
	if err != nil {
		t.Fatal(err)
	}
	if trace.NPEs != 8 || len(trace.PEs) != 8 || len(trace.Missing()) != 0 || len(trace.Threads) != 8 {
		t.Errorf("%d PEs, %d seen, %v missing, threads %v", trace.NPEs, len(trace.PEs), trace.Missing(), trace.Threads)
	}
	a := trace.Alignment()
	if !a.Known || a.Error != 4000 || a.Sentence != "Clocks of PEs agree within 4.00 us." ||
		!reflect.DeepEqual(a.Hosts, []string{"red", "blue"}) {
		t.Errorf("clocks: %+v", a)
	}
	events := merged(t, trace)
	if visited != len(events)+8 {
		t.Errorf("the scan saw %d events, the merge %d and 8 heads", visited, len(events))
	}
	arrived := map[int][]int64{}
	for i, e := range events {
		if i > 0 && e.At < events[i-1].At {
			t.Fatalf("event %d begins at %d, the one before it at %d", i, e.At, events[i-1].At)
		}
		if e.Name == "shmem_barrier_all" {
			arrived[e.PE] = append(arrived[e.PE], e.At)
			if e.Team != 0 {
				t.Errorf("event %d is on team %d", i, e.Team)
			}
		}
	}
	// The clock of host blue is moved back, to the rounding of its offset to 1 ns in each step.
	for b := range sample.Barriers {
		for pe := 1; pe < 8; pe++ {
			want := int64(pe) * sample.Apart
			if b == sample.LateIn && pe == sample.Late {
				want += sample.LateBy
			}
			if got := arrived[pe][b] - arrived[0][b]; got < want-3 || got > want+3 {
				t.Errorf("barrier %d: PE %d arrives %d ns after PE 0, want %d", b, pe, got, want)
			}
		}
	}
}

// TestClock has a clock that gains between two comparisons.
func TestClock(t *testing.T) {
	p := &PE{Head: Head{Clock: []Offset{{1000, -100, 1}, {2000, 100, 3}}}}
	for _, c := range []struct{ at, want int64 }{{0, -100}, {1000, 900}, {1500, 1500}, {1750, 1800}, {2000, 2100}, {9000, 9100}} {
		if got := p.Moment(c.at); got != c.want {
			t.Errorf("%d is %d of PE 0, want %d", c.at, got, c.want)
		}
	}
	if p.ClockError() != 3 {
		t.Errorf("error %d", p.ClockError())
	}
	p = &PE{Head: Head{Clock: []Offset{{-1 << 60, 1 << 60, 0}, {1 << 60, -1 << 60, 0}}}}
	if got := p.Moment(0); got != 0 {
		t.Errorf("in the middle of the largest numbers: %d", got)
	}
}

// TestRotated has a PE whose output is in three files, in an order that their names do not have,
// each with its losses; a PE that was killed; one without a file; and the library's own trace.
func TestRotated(t *testing.T) {
	part := func(lost, from int) string {
		f := sample.Head(0, 4, fmt.Sprintf(`"host":"h","program":"p","unseen":["shmem_g: inline"],"lost":%d,"discarded":%d`, lost, lost/2))
		f.Raw(`{"ph":"M","name":"libshmem_team","pid":0,"tid":0,"args":{"team":9,"pes":[0,2]}}`)
		for i := range 3 {
			f.Call(fmt.Sprint("call", from+i), int64(1000*(from+i)), 10, "")
		}
		f.Raw(fmt.Sprintf(`{"ph":"M","name":"libshmem_counts","pid":0,"tid":0,"args":{"shmem_my_pe":%d}}`, from))
		return f.Text()
	}
	killed := sample.Head(1, 4, `"host":"h","program":"p"`)
	killed.Call("killed", 1500, 20, "")
	dir := write(t, map[string]string{
		"0.json": part(2, 4), "0.1.json": part(4, 7), "0.2.json": part(0, 1),
		"1.json": killed.Text()[:len(killed.Text())-10], "2.json": "",
		"t.3.json": `[{"ph":"M","name":"process_name","pid":3,"tid":0,"args":{"name":"PE 3 on h"}},` +
			`{"ph":"M","name":"thread_name","pid":3,"tid":1,"args":{"name":"endpoint 0"}},` +
			`{"ph":"X","name":"send","pid":3,"tid":1,"ts":2.5,"dur":1,"args":{"to":1,"bytes":8}}]`,
	})
	trace, err := Scan([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range merged(t, trace) {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "call1 call2 send call3 call4 call5 call6 call7 call8 call9" {
		t.Errorf("events %s", got)
	}
	if p := trace.PE(0); p.Lost != 4 || p.Old != 2 || len(p.Unseen) != 1 || p.Counted["shmem_my_pe"] != 7 || !reflect.DeepEqual(trace.Teams[9], []int{0, 2}) || p.Calls != 9 || p.First != 1000 || p.Last != 9010 {
		t.Errorf("PE 0 is %+v", p)
	}
	if got := trace.Missing(); len(got) != 1 || got[0] != 2 {
		t.Errorf("missing: %v", got)
	}
	cuts := map[string]string{}
	for _, f := range trace.Files {
		if f.Cut != nil {
			cuts[filepath.Base(f.Name)] = f.Cut.String()
		}
	}
	if want := map[string]string{"1.json": "it ends at line 3, in the middle of the event after event 1", "2.json": "it ends at line 1 before its first event"}; !reflect.DeepEqual(cuts, want) {
		t.Errorf("cuts %v, want %v", cuts, want)
	}
	if p := trace.PE(3); p.Host != "h" || p.Others != 1 || trace.Threads[Thread{3, false, 1}] != "endpoint 0" {
		t.Errorf("PE 3 is %+v, threads %v", p, trace.Threads)
	}
	if a := trace.Alignment(); !a.Known || a.Error != 0 || a.Sentence != "All PEs are on one host and share its clock." {
		t.Errorf("clocks: %+v", a)
	}
}

func TestScanRefused(t *testing.T) {
	other := sample.Head(1, 2, `"host":"h","program":"q"`)
	dir := write(t, map[string]string{
		"a.json": sample.Head(0, 4, `"host":"h","program":"p"`).Text(), "b.json": other.Text(),
		"c.json": "[" + call + "]", "d.json": "[" + call + "]", "e.json": "", "f.txt": "x",
	})
	in := func(names ...string) []string {
		for i, n := range names {
			names[i] = filepath.Join(dir, n)
		}
		return names
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names []string
		want  string
	}{
		{in("a.json", "b.json"), "b.json: it comes from q with 2 PEs, but " + filepath.Join(dir, "a.json") + " from p with 4 (name the files of one job)"},
		{in("c.json", "d.json"), "d.json: it has the same events as " + filepath.Join(dir, "c.json") + " (name each file once)"},
		{in("e.json"), "e.json: there is no event (let the program run until its first call, and record it again)"},
		{in("empty"), "empty: the folder has no file whose name ends in .json"},
		{in("none"), "none: no such file or directory"},
		{in("f.txt"), `f.txt line 1: it begins with "x"`},
	} {
		if _, err := Scan(c.names, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.names, err, c.want)
		}
	}
	if trace, err := Scan(in("c.json", "./c.json"), nil); err != nil || len(trace.Files) != 1 {
		t.Errorf("a file that is named twice: %v", err)
	}
}

// TestOtherClocks has hosts that have not compared their clocks.
func TestOtherClocks(t *testing.T) {
	dir := write(t, map[string]string{
		"0.json": sample.Head(0, 2, `"host":"red","program":"p"`).Text(), "1.json": sample.Head(1, 2, `"host":"blue","program":"p"`).Text(),
	})
	trace, err := Scan([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := trace.Alignment(); a.Known || !strings.HasPrefix(a.Sentence, "The clocks of blue were not compared with that of PE 0") {
		t.Errorf("clocks: %+v", a)
	}
}

func TestUnits(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Duration(0), "0 ns"}, {Duration(999), "999 ns"}, {Duration(1000), "1.00 us"}, {Duration(10_000_000), "10.0 ms"},
		{Duration(123_456_789), "123 ms"}, {Duration(99_960_000), "100 ms"}, {Duration(-5000), "-5.00 us"}, {Duration(3600e9), "3600 s"},
		{Size(0), "0 B"}, {Size(1023), "1023 B"}, {Size(1024), "1.00 KiB"}, {Size(1 << 20), "1.00 MiB"}, {Size(1023 << 10), "1.00 MiB"}, {Size(1 << 62), "4096 PiB"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

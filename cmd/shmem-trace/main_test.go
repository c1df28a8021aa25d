package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"libshmem/cmd/internal/tracefile"
	"libshmem/cmd/internal/tracefile/sample"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"shmem-trace": main})
}

// TestScripts has the traces of a job with known answers in $WORK/job.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", Setup: func(env *testscript.Env) error {
		dir := filepath.Join(env.WorkDir, "job")
		if err := os.Mkdir(dir, 0o777); err != nil {
			return err
		}
		_, err := sample.Job(dir)
		return err
	}})
}

// TestMerged reads a joined file again: every event is there, on one clock, in a row of its own.
func TestMerged(t *testing.T) {
	dir := t.TempDir()
	calls := sample.Head(0, 2, `"host":"red","program":"p","lost":3,"discarded":1,"unseen":["a \"b\""],"clock":[{"at":1,"offset":-1,"error":0.5}]`)
	calls.Raw(`{"ph":"M","name":"thread_name","pid":0,"tid":1,"args":{"name":"first"}}`)
	calls.Raw(`{"ph":"M","name":"libshmem_team","pid":0,"tid":0,"args":{"team":4,"pes":[0,1]}}`)
	calls.Raw(`{"ph":"M","name":"libshmem_counts","pid":0,"tid":0,"args":{"shmem_my_pe":2}}`)
	calls.CallOf(1, "shmem_int_p", 5000, 100, `"pe":1,"bytes":4,"other":[1,{"a":"}"}]`)
	calls.CallOf(2, "shmem_quiet", 7000, 50, "")
	for name, text := range map[string]string{
		"0.json": calls.Text(), "1.json": sample.Head(1, 2, `"host":"red","program":"p"`).Text(),
		"t.0.json": `[{"ph":"M","name":"thread_name","pid":0,"tid":1,"args":{"name":"endpoint 0"}},
{"ph":"X","name":"send","pid":0,"tid":1,"ts":5.5,"dur":1,"args":{"to":1,"bytes":8}},
{"ph":"b","name":"send","cat":"NIC","id":"0.1","pid":0,"tid":1,"ts":5.6,"args":{}},
{"ph":"e","name":"send","cat":"NIC","id":"0.1","pid":0,"tid":1,"ts":7,"args":{"error":0}},
{"ph":"i","s":"t","name":"the trace ends here: the file is full","pid":0,"tid":1,"ts":8,"args":{}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	all := filepath.Join(t.TempDir(), "all.json")
	var out, errs bytes.Buffer
	if status := run([]string{"merge", dir, "-o", all}, &out, &errs); status != 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	trace, err := tracefile.Scan([]string{all}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := trace.PE(0)
	if p.Calls != 2 || p.Others != 4 || p.Lost != 3 || p.Old != 1 || len(p.Unseen) != 1 || p.Unseen[0] != `a "b"` || p.Host != "red" ||
		p.Counted["shmem_my_pe"] != 2 || len(trace.Teams[4]) != 2 || p.ClockError() != 500 || trace.NPEs != 2 {
		t.Errorf("PE 0 is %+v, teams %v", p, trace.Teams)
	}
	names := map[string]int64{}
	for k, name := range trace.Threads {
		names[name] = k.Number
	}
	if len(names) != 3 || names["first"] != 1 || names["calls of thread 2"] != 2 || names["endpoint 0"] != 3 {
		t.Errorf("rows %v", names)
	}
	m, err := trace.Merge()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var got []string
	for {
		var e tracefile.Event
		if err := m.Next(&e); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(e.Phase)+" "+e.Name+" "+string(appendMicros(nil, e.At))+" "+string(appendMicros(nil, e.Length))+" "+e.ID+" "+string(e.Args))
	}
	want := `X shmem_int_p 4.000 0.100  {"pe":1,"bytes":4,"other":[1,{"a":"}"}]}
X send 4.500 1.000  {"to":1,"bytes":8}
b send 4.600 0.000 0.1 {}
X shmem_quiet 6.000 0.050  {}
e send 6.000 0.000 0.1 {"error":0}
i the trace ends here: the file is full 7.000 0.000  {}`
	if s := strings.Join(got, "\n"); s != want {
		t.Errorf("events\n%s\nwant\n%s", s, want)
	}
	if s := errs.String(); !strings.Contains(s, "t.0.json was not ended by its writer") || !strings.Contains(s, "PE 0 lost events, 2 in all") {
		t.Errorf("it says %s", s)
	}
}

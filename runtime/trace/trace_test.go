package trace

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"libshmem/fabric"
	"libshmem/fabric/fabrictest"
	"libshmem/runtime/shmerr"
	"libshmem/runtime/trace/tracetest"
)

// line is an event, as readers see it.
type line struct {
	Ph, Name, Cat, ID string
	PID, TID          int
	At                float64 `json:"ts"`
	Dur               float64
	Args              map[string]any
}

func read(t *testing.T, name string) []line {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tracetest.Check(b); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	var all []line
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatalf("%v in\n%s", err, b)
	}
	return all
}

func TestName(t *testing.T) {
	for in, want := range map[string]string{"trace.json": "trace.3.json", "/a.b/trace": "/a.b/trace.3", "t.x.json": "t.x.3.json"} {
		if got := Name(in, 3); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestAround(t *testing.T) {
	name := filepath.Join(t.TempDir(), "t.json")
	f, err := Create(name, 3, `a "host"`)
	if err != nil {
		t.Fatal(err)
	}
	inner := new(fabrictest.NIC)
	k := f.Track(1)
	p := Around(inner, 8, k)
	if p.Native() != (fabric.Native{}) {
		t.Error("something may go past the trace")
	}
	if _, ok := p.(fabric.Rails); ok {
		t.Error("one NIC became several")
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	must(p.Write(&fabric.RMA{PE: 5, Len: 4096, Token: 2}))
	must(p.Send(&fabric.Send{To: 1, Len: 8, Inject: true, Token: 2}))
	must(p.Read(&fabric.RMA{PE: 6, Len: 64, Token: 7}))
	must(p.(fabric.Atomics).Atomic(&fabric.AMO{PE: 1, Width: 8, Token: 3}))
	inner.Refuse = fabric.ErrAgain
	if err := p.Send(&fabric.Send{To: 1, Len: 500, Token: 4}); err != fabric.ErrAgain {
		t.Errorf("refused: %v", err)
	}
	inner.Done = []fabric.Completion{{Token: 7, Kind: fabric.KindRead}, {Token: 0, Kind: fabric.KindRecv, Len: 8}, {Token: 2, Kind: fabric.KindWrite, Err: 5}}
	c := make([]fabric.Completion, 4)
	for _, want := range []int{3, 0} {
		if n, err := p.Poll(c); n != want || err != nil {
			t.Errorf("poll: %d, %v", n, err)
		}
	}
	if came, err := p.Wait(time.Second); !came || err != nil {
		t.Errorf("wait: %v, %v", came, err)
	}
	k.Batch(k.Now(), 2, 32, 1)
	k.Copies(k.Now(), "copy out", 64, 458752)
	k.Stores(k.Now(), 3)
	must(p.Close())
	must(p.Close()) // nothing ends twice
	must(f.Close())

	var got []string
	last := 0.0
	for _, l := range read(t, name) {
		if l.PID != 3 {
			t.Errorf("%+v", l)
		}
		if l.Ph == "M" {
			got = append(got, l.Name+" "+l.Args["name"].(string))
			continue
		}
		if age := float64(time.Now().UnixNano()%int64(period))/1000 - l.At; l.At < last-1e6 || age < 0 || age > 3600e6 {
			t.Errorf("at %f after %f", l.At, last)
		}
		last = l.At
		args, err := json.Marshal(l.Args)
		must(err)
		got = append(got, strings.Join([]string{l.Ph, l.Cat, l.ID, l.Name, string(args)}, " "))
	}
	want := `process_name PE 3 on a "host"
thread_name endpoint 1
thread_name proxy 1 asleep
b NIC 3.259 write {"bytes":4096,"to":5}
X   write {"bytes":4096,"to":5}
X   send {"bytes":8,"to":1}
b NIC 3.515 read {"bytes":64,"to":6}
X   read {"bytes":64,"to":6}
b NIC 3.771 atomic {"bytes":8,"to":1}
X   atomic {"bytes":8,"to":1}
X   refused send {"bytes":500,"to":1}
e NIC 3.515 read {"error":0}
e NIC 3.259 write {"error":5}
X   poll {"completions":2,"received":1}
X   sleep {}
X   ring {"left":1,"operations":32,"ring":2}
X   copy out {"bytes":458752,"copies":64}
X   stores {"stores":3}
e NIC 3.771 atomic {"unfinished":1}`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

func TestSeveral(t *testing.T) {
	f, err := Create(filepath.Join(t.TempDir(), "t"), 0, "")
	if err != nil {
		t.Fatal(err)
	}
	p, ok := Around(new(fabrictest.NICs), 1, f.Track(0)).(fabric.Rails)
	if !ok || len(p.Rails()) != 1 {
		t.Error("several NICs became one")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// Where nothing is traced nothing stands before the provider, and nothing is allocated.
func TestOff(t *testing.T) {
	var f *File
	inner := new(fabrictest.NIC)
	k := f.Track(0)
	if Around(inner, 8, k) != fabric.Provider(inner) {
		t.Error("something stands before the provider")
	}
	if n := testing.AllocsPerRun(100, func() { k.Batch(k.Now(), 0, 1, 0) }); n != 0 || !k.Now().IsZero() {
		t.Errorf("%v allocations", n)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestFull(t *testing.T) {
	name := filepath.Join(t.TempDir(), "t.json")
	f, err := Create(name, 0, "h")
	if err != nil {
		t.Fatal(err)
	}
	k := f.Track(0)
	f.limit = 5
	for i := range 10 {
		k.Batch(k.Now(), i, 1, 0)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	all := read(t, name)
	if n := len(all); n != 6 || all[5].Name != "the trace ends here: the file is full" || all[4].Name != "ring" {
		t.Errorf("%d events: %+v", n, all[n-1])
	}
}

func TestBadFile(t *testing.T) {
	_, err := Create(t.TempDir()+"/none/t", 0, "")
	if !errors.Is(err, shmerr.ErrSetting) || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "SHMEM_TRACE") {
		t.Errorf("%v", err)
	}
	f, err := Create("/dev/full", 0, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err == nil || !strings.Contains(err.Error(), "write trace /dev/full: ") || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("%v", err)
	}
}

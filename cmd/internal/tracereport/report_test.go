package tracereport

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"libshmem/cmd/internal/tracefile/sample"
)

// job returns the report of the job with known answers.
func job(t *testing.T) *Report {
	t.Helper()
	dir := t.TempDir()
	if _, err := sample.Job(dir); err != nil {
		t.Fatal(err)
	}
	r, _, err := Make([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(got, want, by int64) bool { return got >= want-by && got <= want+by }

func TestJob(t *testing.T) {
	r := job(t)
	puts := int64(0)
	for pe := range sample.PEs {
		puts += int64(sample.Puts(pe)) * sample.Barriers
		next, after := (pe+1)%sample.PEs, (pe+2)%sample.PEs
		for to := range sample.PEs {
			calls, bytes := int64(0), int64(0)
			if to == next {
				calls = int64(sample.Puts(pe)) * sample.Barriers
				bytes = calls * sample.PutBytes(pe)
			} else if to == after {
				calls, bytes = sample.Barriers, sample.Barriers*sample.Small
			}
			if r.Matrix.Calls[pe][to] != calls || r.Matrix.Bytes[pe][to] != bytes {
				t.Errorf("PE %d and PE %d: %d calls, %d bytes; want %d, %d", pe, to, r.Matrix.Calls[pe][to], r.Matrix.Bytes[pe][to], calls, bytes)
			}
		}
	}
	byName := map[string]Function{}
	for i, f := range r.Functions {
		byName[f.Name] = f
		if i > 0 && f.Ns > r.Functions[i-1].Ns {
			t.Errorf("%s is below %s", f.Name, r.Functions[i-1].Name)
		}
	}
	for name, want := range map[string]Function{
		"shmem_putmem":      {Calls: puts, Ns: 800 * puts, P50: 800, P90: 800, P99: 800, Max: 800},
		"shmem_getmem":      {Calls: 8 * sample.Barriers, Bytes: 8 * sample.Barriers * sample.Small, Ns: 8 * sample.Barriers * 1500, P50: 1500, P90: 1500, P99: 1500, Max: 1500},
		"shmem_barrier_all": {Calls: 8 * sample.Barriers, Max: sample.LateBy + sample.Late*sample.Apart + sample.Leave},
	} {
		got := byName[name]
		if got.Calls != want.Calls || want.Bytes != 0 && got.Bytes != want.Bytes || !near(got.Max, want.Max, 3) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		if want.P50 != 0 && (!near(got.Ns, want.Ns, got.Calls) || !near(got.P50, want.P50, 1) || !near(got.P90, want.P90, 1) || !near(got.P99, want.P99, 1)) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	// 20 barriers, finalize
	if r.Waits.Collectives != sample.Barriers+1 || r.Waits.Start == nil || r.Waits.Start.Function != "shmem_init" || r.Waits.Unmatched != 0 {
		t.Errorf("%d collective calls, %d unmatched", r.Waits.Collectives, r.Waits.Unmatched)
	}
	lost := int64(0)
	for pe := range sample.PEs {
		if pe != sample.Late {
			lost += sample.LateBy + (sample.Late-int64(pe))*sample.Apart
		}
	}
	w := r.Waits.Worst[0]
	if w.Function != "shmem_barrier_all" || w.Number != sample.LateIn+1 || w.Late != sample.Late || w.PEs != 8 || w.Team != 0 ||
		!near(w.ByNs, sample.LateBy-2*sample.Apart, 4) || !near(w.LostNs, lost, 40) {
		t.Errorf("the worst is %+v, want PE %d late by %d, %d lost", w, sample.Late, int64(sample.LateBy-2*sample.Apart), lost)
	}
	if p := r.PEs[sample.Late]; p.Last != 1 || !near(p.CausedNs, lost, 40) {
		t.Errorf("PE %d: %+v, want %d ns caused", sample.Late, p, lost)
	}
	// In the other barriers PE 7 is the last, by 1 us, which is less than the clocks' error.
	if p := r.PEs[7]; p.Last != 0 || !near(p.CausedNs, 19*28*sample.Apart, 1000) {
		t.Errorf("PE 7: %+v, want %d ns caused", p, 19*28*int64(sample.Apart))
	}
	if r.Job.ClockErrorNs != 4000 || r.Job.NPEs != 8 || r.Job.Program != "bin/stencil" || !reflect.DeepEqual(r.Job.Hosts, []string{"red", "blue"}) {
		t.Errorf("job %+v", r.Job)
	}
	sizes := map[int64]int64{}
	for _, s := range r.Sizes {
		sizes[s.From] = s.Calls
	}
	if want := map[int64]int64{64: 160, 1024: (1 + 4 + 7) * 20, 2048: (2 + 5 + 8) * 20, 4096: (3 + 6) * 20}; !reflect.DeepEqual(sizes, want) {
		t.Errorf("sizes %v, want %v", sizes, want)
	}
	text := strings.Join(r.Summary, "\n")
	for _, want := range []string{
		"8 PEs of stencil on 2 hosts made 1,056 calls in ", "The largest part was in shmem_barrier_all: ",
		"was for PE 5 (", "which came last 1 time.", "The worst was call 3 of shmem_barrier_all: PE 5 came 10.0 ms after the one before it",
		"the largest part by PE 5 with the memory of PE 6: 480 KiB", "Waits of PEs on several hosts may each be wrong by 4.00 us.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
}

// make1 makes the report of files by their texts.
func make1(t *testing.T, files ...string) *Report {
	t.Helper()
	dir := t.TempDir()
	for i, text := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ".json")), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, _, err := Make([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func has(t *testing.T, notes []string, want string) {
	t.Helper()
	if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, want) }) {
		t.Errorf("no note says %q: %q", want, notes)
	}
}

// TestBroadcast has PEs that leave before the last one comes: they wait for those before.
func TestBroadcast(t *testing.T) {
	var texts []string
	for pe, c := range [][2]int64{{3000, 100}, {1000, 2500}, {2000, 1500}, {9000, 10}} {
		f := sample.Head(pe, 4, `"host":"h"`)
		f.Call("shmem_broadcastmem", c[0], c[1], `"team":7,"bytes":8`)
		texts = append(texts, f.Text())
	}
	r := make1(t, texts...)
	if want := []Pair{{1, 0, 2000, 1}, {2, 0, 1000, 1}}; !reflect.DeepEqual(r.Waits.Pairs, want) {
		t.Errorf("pairs %+v, want %+v", r.Waits.Pairs, want)
	}
	if w := r.Waits.Worst[0]; w.Late != 3 || w.LostNs != 3000 || w.ByNs != 6000 || w.Team != 7 {
		t.Errorf("worst %+v", w)
	}
}

// TestTeams has two teams whose calls are in a different order on two PEs, a PE that is in one team
// only, and a call that one PE did not reach.
func TestTeams(t *testing.T) {
	var texts []string
	for pe := range 3 {
		f := sample.Head(pe, 3, `"host":"h"`)
		at := int64(1000 * (pe + 1))
		f.Call("shmem_team_sync", at, 5000-at, `"team":3`)
		if pe < 2 {
			f.Call("shmem_team_sync", 6000+at, 5000-at, `"team":4`)
		}
		if pe != 1 {
			f.Call("shmem_barrier_all", 20000+at, 5000-at, "")
		}
		texts = append(texts, f.Text())
	}
	r := make1(t, texts...)
	if r.Waits.Collectives != 3 || r.Waits.Unmatched != 0 || r.Waits.Ns != (2000+1000)+1000+2000 {
		t.Errorf("waits %+v", r.Waits)
	}
	if len(r.Waits.Worst) != 3 || r.Waits.Worst[0].Team != 3 || r.Waits.Worst[0].Late != 2 || r.Waits.Worst[1].Team != 0 || r.Waits.Worst[1].PEs != 2 {
		t.Errorf("worst %+v", r.Waits.Worst)
	}
}

// TestOldest has a PE whose first calls were deleted: the last ones belong together.
func TestOldest(t *testing.T) {
	job := func(members string, cut int) *Report {
		var texts []string
		for pe := range 3 {
			f := sample.Head(pe, 3, `"host":"h",`+members)
			if pe != 1 {
				f = sample.Head(pe, 3, `"host":"h"`)
			}
			f.Raw(`{"ph":"M","name":"libshmem_team","pid":0,"tid":0,"args":{"team":5,"pes":[0,1,2]}}`)
			f.Raw(fmt.Sprintf(`{"ph":"M","name":"libshmem_counts","pid":%d,"tid":0,"args":{"shmem_my_pe":4}}`, pe))
			for b := range 10 {
				at := int64(10000*b + 100*pe)
				if b == 8 && pe == 2 {
					at += 5000
				}
				if pe != 1 || b >= 6 {
					f.Call("shmem_team_sync", at, int64(10000*b+7000)-at, `"team":5`)
				}
			}
			texts = append(texts, f.Text())
		}
		texts[0] = texts[0][:len(texts[0])-cut]
		return make1(t, texts...)
	}
	r := job(`"lost":6,"discarded":6`, 0)
	if w := r.Waits.Worst[0]; w.Number != 9 || w.Late != 2 || w.LostNs != 5200+5100 || w.PEs != 3 || w.callName() != "call 9 of shmem_team_sync of PEs 0-2" {
		t.Errorf("worst %+v (%s)", w, w.callName())
	}
	if r.Waits.Collectives != 10 || r.Waits.Unmatched != 0 || !reflect.DeepEqual(r.Counted, []Count{{"shmem_my_pe", 12}}) {
		t.Errorf("%+v, counted %v", r.Waits, r.Counted)
	}
	has(t, r.Notes, "The files of PE 1 lack the oldest events, 6 in all, which were deleted to keep within the bound of a trace.")
	r = job(`"lost":7,"discarded":6`, 0)
	if r.Waits.Unmatched != 4 || r.Waits.Worst[0].PEs != 2 {
		t.Errorf("with a loss anywhere: %+v", r.Waits)
	}
	r = job(`"lost":6,"discarded":6`, 3)
	if r.Waits.Unmatched != 10 || r.Waits.Worst[0].PEs != 2 {
		t.Errorf("with a PE that was killed: %+v", r.Waits)
	}
}

// TestNotes has all that can be missing.
func TestNotes(t *testing.T) {
	a := sample.Head(0, 4, `"host":"red","unseen":["shmem_int_p: inline in the program"],"lost":0`)
	a.Call("shmem_barrier_all", 1000, 10, "")
	a.Call("shmem_sync", 2000, 10, "")
	b := sample.Head(1, 4, `"host":"blue","lost":12`)
	b.Call("shmem_barrier_all", 9000, 10, "")
	c := sample.Head(2, 4, `"host":"red"`)
	c.Call("shmem_barrier_all", 5000, 10, "")
	text := c.Text()
	r := make1(t, a.Text(), b.Text(), text[:len(text)-4])
	has(t, r.Notes, "There is no file of PE 3, of 4 PEs in all.")
	has(t, r.Notes, "2.json was not ended by its writer, as when a program is killed: it ends at line 3, in the middle of the event after event 1.")
	has(t, r.Notes, "PE 1 lost events, 12 in all, for which there was no room when they came.")
	has(t, r.Notes, "The waits leave out collective calls of PE 1, because")
	has(t, r.Notes, "Not seen on PE 0: shmem_int_p: inline in the program.")
	has(t, r.Notes, "The clocks of blue were not compared with that of PE 0")
	has(t, r.Notes, "1 collective call without a team is left out of the waits.")
	if r.Job.Lost != 12 || r.Job.ClockErrorNs != -1 || r.Waits.Unmatched != 1 || r.Waits.Collectives != 0 {
		t.Errorf("%+v %+v", r.Job, r.Waits)
	}
	c = sample.Head(2, 4, `"host":"red"`)
	c.Call("shmem_barrier_all", 5000, 10, "")
	r = make1(t, a.Text(), c.Text())
	has(t, r.Notes, "PE 0 left call 1 of shmem_barrier_all on team 0 3.99 us before the last PE arrived, which is impossible: the clocks differ by at least that much, or the trace lacks calls of a PE that suspended it.")
	c = sample.Head(2, 4, `"host":"red"`)
	c.Call("shmem_sync_all", 900, 200, "")
	c.Call("shmem_barrier_all", 1200, 200, "")
	r = make1(t, a.Text(), c.Text())
	has(t, r.Notes, "PE 2 called shmem_sync_all on team 0, and PE 0 shmem_barrier_all in its place")
	if r.Waits.Unmatched != 3 {
		t.Errorf("%d calls unmatched, want 3", r.Waits.Unmatched)
	}
}

// TestNetwork has a file of SHMEM_TRACE.
func TestNetwork(t *testing.T) {
	r := make1(t, `[{"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"PE 0 on h"}},
{"ph":"X","name":"send","pid":0,"tid":1,"ts":1,"dur":2.5,"args":{"to":1,"bytes":100}},
{"ph":"X","name":"refused send","pid":0,"tid":1,"ts":4,"dur":1,"args":{"to":1,"bytes":100}},
{"ph":"b","name":"send","cat":"NIC","id":"0.1","pid":0,"tid":1,"ts":4,"args":{}},
{"ph":"X","name":"sleep","pid":0,"tid":2,"ts":5,"dur":95,"args":{}}]`)
	if r.Matrix.Of != "network" || r.Matrix.Bytes[0][1] != 100 || r.Job.NPEs != 2 || len(r.Functions) != 0 || len(r.Network) != 3 || r.Network[0].Name != "sleep" {
		t.Errorf("%+v", r)
	}
	if got := strings.Join(r.Summary, " "); !strings.HasPrefix(got, "1 PE on one host recorded no calls, but the work of their proxies and NICs for 99.0 us.") {
		t.Error(got)
	}
}

// TestCounted has one PE whose calls were only counted, and then no other.
func TestCounted(t *testing.T) {
	a := sample.Head(0, 2, `"host":"h","program":"p"`)
	a.Raw(`{"ph":"M","name":"libshmem_counts","pid":0,"tid":0,"args":{"shmem_quiet":7}}`)
	b := sample.Head(1, 2, `"host":"h","program":"p"`)
	b.Call("shmem_quiet", 5000, 100, "")
	r := make1(t, a.Text(), b.Text())
	if r.Job.BeginNs != 5000 || r.Job.LengthNs != 100 || len(r.PEs) != 2 || r.PEs[0].LengthNs != 0 || !reflect.DeepEqual(r.Counted, []Count{{"shmem_quiet", 7}}) {
		t.Errorf("%+v", r)
	}
	r = make1(t, a.Text())
	if r.Job.LengthNs != 0 || !reflect.DeepEqual(r.Summary, []string{"1 PE of p on one host recorded no calls with their times."}) {
		t.Errorf("%+v", r)
	}
}

// TestBytes has calls whose bytes are moved, and others: only those of the first have a place in
// the matrix.
func TestBytes(t *testing.T) {
	f := sample.Head(0, 2, `"host":"h"`)
	f.Call("shmem_malloc", 0, 1, `"bytes":1000`)
	f.Call("shmem_int_wait_until", 10, 1, `"bytes":4`)
	f.Call("shmem_ptr", 20, 1, `"pe":1`)
	f.Call("shmem_int_p", 30, 1, `"pe":1,"bytes":4`)
	f.Call("shmem_broadcastmem", 40, 1, `"pe":1,"bytes":32,"team":0`)
	r := make1(t, f.Text())
	moved := map[string]int64{}
	for _, row := range r.Functions {
		moved[row.Name] = row.Bytes
	}
	if want := map[string]int64{"shmem_malloc": 0, "shmem_int_wait_until": 0, "shmem_ptr": 0, "shmem_int_p": 4, "shmem_broadcastmem": 32}; !reflect.DeepEqual(moved, want) {
		t.Errorf("bytes by function %v, want %v", moved, want)
	}
	if r.Matrix.Calls[0][1] != 1 || r.Matrix.Bytes[0][1] != 4 || r.PEs[0].Bytes != 36 || len(r.Sizes) != 2 {
		t.Errorf("matrix %v, PE %+v, sizes %v", r.Matrix, r.PEs[0], r.Sizes)
	}
}

// TestHistogram compares percentiles with those of the sorted numbers.
func TestHistogram(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var h histogram
		list := make([]int64, 1+rng.IntN(3000))
		for i := range list {
			list[i] = rng.Int64N(1 << (1 + rng.IntN(62)))
			h.add(list[i])
		}
		slices.Sort(list)
		for _, p := range []int64{1, 50, 90, 99, 100} {
			want := list[(int64(len(list))*p+99)/100-1]
			got := h.percentile(p)
			if off := float64(got-want) / float64(max(want, 1)) * 100; off > ErrorPercent || off < -ErrorPercent {
				t.Errorf("seed %d: p%d is %d, and %d of the numbers: %.2f %% off", seed, p, got, want, off)
			}
		}
		if h.max != list[len(list)-1] {
			t.Errorf("seed %d: max %d", seed, h.max)
		}
	}
	if b := bucket(1<<63 - 1); b != buckets-1 {
		t.Errorf("the largest number is in bucket %d of %d", b, buckets)
	}
	for b := 1; b < buckets; b++ {
		if bucket(middle(b)) != b {
			t.Errorf("the middle of bucket %d, %d, is in bucket %d", b, middle(b), bucket(middle(b)))
		}
	}
}

func TestKinds(t *testing.T) {
	for name, want := range map[string]string{
		"shmem_barrier_all": "collective together world", "pshmem_sync": "collective together", "shmem_team_sync": "collective together",
		"nvshmem_int_sum_reduce": "collective data", "shmem_long_sum_to_all": "collective data", "shmem_broadcast64": "collective data",
		"shmem_fcollectmem": "collective data", "shmem_int_alltoalls": "collective data", "shmem_malloc": "collective together world",
		"nvshmem_float_sum_reducescatter": "collective data", "shmem_team_destroy": "collective", "shmem_init_thread": "collective together world start",
		"shmem_putmem": "", "shmem_info_get_name": "", "shmem_quiet": "", "shmem_my_pe": "", "shmem_team_my_pe": "", "shmemx_putmem_on_stream": "",
		"shmem_int_wait_until": "waits", "shmem_signal_wait_until": "waits", "shmemx_eager_recv": "waits", "nvshmemx_barrier_all_on_stream": "",
	} {
		k := kindOf(name)
		var got []string
		for _, c := range []struct {
			is   bool
			word string
		}{{k.collective, "collective"}, {k.together, "together"}, {k.world, "world"}, {k.start, "start"}, {k.data, "data"}, {k.waits, "waits"}} {
			if c.is {
				got = append(got, c.word)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s is %q, want %q", name, s, want)
		}
	}
}

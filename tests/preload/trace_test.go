package preload

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/runtime/trace/tracetest"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// library are the functions that are asked for by the program's main, in their order.
var sequence = strings.Fields(`shmem_init shmem_my_pe shmem_n_pes shmem_malloc shmem_barrier_all shmem_int_put shmem_fence
	shmem_long_p shmem_long_wait_until shmem_double_get_nbi shmem_quiet shmem_long_atomic_fetch_add shmem_barrier_all shmem_long_g
	shmem_barrier_all shmem_long_sum_to_all shmem_free shmem_finalize`)

// TestSequence: a program's calls are in the trace in their order, with peers and bytes, whether it
// was built against libshmem or against Open MPI's OSHMEM, and its output is as without the shim.
func TestSequence(t *testing.T) {
	lib, dir := shim(t), t.TempDir()
	osh := need.Command(t, "oshrun")
	of := map[string][]string{}
	for _, c := range []struct {
		name     string
		program  string
		launcher []string
	}{
		{"libshmem", program(t, "sequence"), []string{filepath.Join(need.Build(t), "bin", "shmemrun"), "-n", "2"}},
		{"openmpi", filepath.Join(dir, "sequence"), []string{osh, "--allow-run-as-root", "--oversubscribe", "-n", "2"}},
	} {
		if c.name == "openmpi" {
			cc.Run(t, need.Command(t, "oshcc"), "-O1", "testdata/sequence.c", "-o", c.program)
		}
		to := filepath.Join(dir, c.name)
		env := []string{"OMPI_MCA_osc=^rdma"} // with it shmem_finalize of Open MPI 4.1 crashes in any program
		argv := append(c.launcher, c.program)
		plain := sorted(job{env: env}.run(t, argv...))
		env = append(env, "LD_PRELOAD="+lib, "SHMEM_PRELOAD=trace,file="+to)
		if out := sorted(job{env: env}.run(t, argv...)); out != plain || !strings.Contains(out, "reduced to 1") {
			t.Errorf("%s prints\n%s\nand without the shim\n%s", c.name, out, plain)
		}
		for pe := range 2 {
			p := read(t, filepath.Join(to, fmt.Sprintf("%d.json", pe)), true)
			of[c.name] = p.names()
			if !slices.Equal(p.names(), sequence) {
				t.Errorf("%s, PE %d: %q\nand not %q", c.name, pe, p.names(), sequence)
			}
			if p.PE != pe || p.NPEs != 2 || p.Lost != 0 || len(p.Unseen) != 0 || !strings.HasSuffix(p.Program, "sequence") {
				t.Errorf("%s, PE %d: head %+v", c.name, pe, p.head)
			}
			if want := map[string]string{"libshmem": "libshmem.so", "openmpi": "liboshmem.so.40"}[c.name]; filepath.Base(p.Library) != want {
				t.Errorf("%s: library %s", c.name, p.Library)
			}
			if len(p.Clock) != 2 || p.Clock[0].Offset != 0 || p.Clock[1].Error != 0 || p.Clock[1].At <= p.Clock[0].At {
				t.Errorf("%s: clock %+v; the PEs are on one machine", c.name, p.Clock)
			}
			checkCalls(t, p, 1-pe)
		}
	}
}

// TestNvshmem: the calls of a program of NVSHMEM are in the trace; what its library makes of them,
// calls of libshmem.so, is not. Calls within kernels are named as unseen.
func TestNvshmem(t *testing.T) {
	build, dir := need.Build(t), t.TempDir()
	exe := filepath.Join(dir, "nvshmem")
	cc.Source(t, exe, "testdata/nvshmem.c", "-I../../include/nvshmem", "-L"+filepath.Join(build, "lib"), "-lnvshmem_host")
	out := sorted(job{}.run(t, filepath.Join(build, "bin", "shmemrun"), "-n", "2", "--trace", dir, exe))
	if out != "\nPE 0: 3\nPE 1: 3" {
		t.Errorf("output %q", out)
	}
	want := strings.Fields("nvshmem_init nvshmem_my_pe nvshmem_n_pes nvshmem_calloc nvshmem_barrier_all nvshmem_long_p nvshmem_barrier_all nvshmem_long_sum_reduce nvshmem_free nvshmem_finalize")
	for pe := range 2 {
		p := read(t, filepath.Join(dir, fmt.Sprintf("%d.json", pe)), true)
		if !slices.Equal(p.names(), want) || p.NPEs != 2 || !slices.Equal(p.Unseen, []string{"calls within kernels"}) || len(p.Clock) != 0 {
			t.Errorf("PE %d: %q, head %+v", pe, p.names(), p.head)
		}
		if e := p.calls[7]; e.Args.Team == nil || *e.Args.Team != 0 || *e.Args.Bytes != 8 {
			t.Errorf("PE %d: %+v", pe, e.Args)
		}
	}
}

func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// checkCalls looks at the facts of some calls of sequence.c.
func checkCalls(t *testing.T, p part, peer int) {
	t.Helper()
	last := 0.0
	for i, e := range p.calls {
		if e.TS < last || e.Dur < 0 || e.Cat != "shmem" || e.PID != p.PE || e.TID == 0 {
			t.Errorf("call %d: %+v after %f", i, e, last)
		}
		last = e.TS + e.Dur
		pe, bytes, team := -1, uint64(0), uint32(9)
		if e.Args.PE != nil {
			pe = *e.Args.PE
		}
		if e.Args.Bytes != nil {
			bytes = *e.Args.Bytes
		}
		if e.Args.Team != nil {
			team = *e.Args.Team
		}
		want, of := map[string][3]int{
			"shmem_int_put": {peer, 256, 9}, "shmem_long_p": {peer, 8, 9}, "shmem_double_get_nbi": {peer, 512, 9}, "shmem_long_g": {0, 8, 9},
			"shmem_long_atomic_fetch_add": {0, 8, 9}, "shmem_barrier_all": {-1, 0, 0}, "shmem_long_sum_to_all": {-1, 8, 0}, "shmem_malloc": {-1, 256, 9},
		}[e.Name]
		if got := [3]int{pe, int(bytes), int(team)}; of && got != want {
			t.Errorf("%s: pe, bytes and team are %v, and not %v", e.Name, got, want)
		}
	}
}

// own are labels that no viewer knows, and viewers leave out.
var own = regexp.MustCompile(`(?m)^,?\{"ph":"M","name":"libshmem_.*\n`)

// TestViewer: the strictest reader of the format accepts a trace but for the library's own labels,
// and its times are those of SHMEM_TRACE.
func TestViewer(t *testing.T) {
	dir := t.TempDir()
	argv := []string{filepath.Join(need.Build(t), "bin", "shmemrun"), "-n", "2", "--hosts", "2", "--trace", dir, "-x", "SHMEM_TRACE=" + dir + "/net.json", program(t, "sequence")}
	job{}.run(t, argv...)
	for _, name := range []string{"0.json", "1.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tracetest.Check(own.ReplaceAll(text, nil)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	calls, net := read(t, filepath.Join(dir, "1.json"), true).calls, fileOf(t, filepath.Join(dir, "net.1.json"))
	if first, end := calls[0].TS, calls[len(calls)-1].TS+calls[len(calls)-1].Dur; net < first || net > end {
		t.Errorf("the NIC's first operation is at %f, and the calls from %f to %f", net, first, end)
	}
}

// fileOf returns the time of the first event of a file of SHMEM_TRACE.
func fileOf(t *testing.T, file string) float64 {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`"ts":([0-9.]+)`).FindSubmatch(text)
	if at == nil {
		t.Fatalf("%s: no time in it", file)
	}
	var out float64
	if _, err := fmt.Sscan(string(at[1]), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// count counts the calls of a file, the lost ones, and the calls of each thread.
func count(t *testing.T, name string) (seen, lost uint64, by map[string]int) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	by = map[string]int{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := lines.Text()
		if _, rest, found := strings.Cut(line, `"lost":`); found && seen == 0 {
			number, _, _ := strings.Cut(rest, ",")
			_, err = fmt.Sscan(number, &lost)
		}
		if strings.HasPrefix(line, `{"ph":"X"`) {
			_, rest, _ := strings.Cut(line, `"tid":`)
			thread, _, _ := strings.Cut(rest, ",")
			seen++
			by[thread]++
		}
	}
	if err = errors.Join(err, lines.Err()); err != nil {
		t.Fatal(err)
	}
	return seen, lost, by
}

// TestCalls: each call of many is in the trace, or counted as lost.
func TestCalls(t *testing.T) {
	calls, threads := need.Load("preload"), 2
	for _, full := range []string{"", ",full=wait"} {
		dir := t.TempDir()
		single(t, job{}, ",size=16g"+full, dir, program(t, "many"), fmt.Sprint(threads), fmt.Sprint(calls/threads))
		seen, lost, by := count(t, filepath.Join(dir, "0.json"))
		t.Logf("%q: %d calls in the trace, %d lost", full, seen, lost)
		// shmem_init_thread and shmem_finalize are calls, too.
		if seen+lost != uint64(calls)+2 || seen == 0 || len(by) != threads || full != "" && lost != 0 {
			t.Errorf("%q: %d calls in the trace and %d lost of %d; threads %v", full, seen, lost, calls+2, by)
		}
	}
	// A program that leaves the writer time loses nothing.
	p := traced(t, 1, "", program(t, "many"), "4", "10000", "2000")[0]
	if got := len(p.calls) - 2; got != 40000 || p.Lost != 0 {
		t.Errorf("%d calls in the trace and %d lost of 40000", got, p.Lost)
	}
}

// TestCrowd: the calls of each thread are in the trace, however many threads there are.
func TestCrowd(t *testing.T) {
	if need.Left("preload") {
		t.Skip("makes 1,100 threads (TESTS=full)")
	}
	const threads = 1100
	p := traced(t, 1, "", program(t, "crowd"), fmt.Sprint(threads))[0]
	if got, want := len(p.calls), 1+threads+100+1; got != want || p.Lost != 0 {
		t.Errorf("%d calls in the trace of %d, and %d lost", got, want, p.Lost)
	}
}

// TestPattern: calls outside the pattern are counted.
func TestPattern(t *testing.T) {
	p := traced(t, 1, ",calls=*finalize|shmem_init*", program(t, "many"), "3", "1000")[0]
	if !slices.Equal(p.names(), []string{"shmem_init_thread", "shmem_finalize"}) || !reflect.DeepEqual(p.counts, map[string]uint64{"shmem_long_p": 3000}) {
		t.Errorf("%q, counts %v", p.names(), p.counts)
	}
}

// TestBound: a trace keeps within its bytes, in complete files, and says how many events it has
// deleted.
func TestBound(t *testing.T) {
	const calls, bound = 40_000, 1 << 20
	dir := t.TempDir()
	argv := []string{filepath.Join(need.Build(t), "bin", "shmemrun"), "-n", "1", "-x", "LD_PRELOAD=" + shim(t),
		"-x", "SHMEM_PRELOAD=trace,size=1m,file=" + dir, program(t, "many"), "1", fmt.Sprint(calls)}
	if err := os.WriteFile(filepath.Join(dir, "0.3.json"), []byte("of an earlier job"), 0o644); err != nil {
		t.Fatal(err)
	}
	job{}.run(t, argv...)
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	size, seen := int64(0), uint64(0)
	last := 0.0
	for _, name := range []string{"0.3.json", "0.2.json", "0.1.json", "0.json"} { // from the oldest on
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
		p := read(t, filepath.Join(dir, name), true)
		for _, e := range p.calls {
			if e.TS < last {
				t.Fatalf("%s: %+v after %f", name, e, last)
			}
			last = e.TS
		}
		seen += uint64(len(p.calls))
		if name == "0.json" {
			t.Logf("%d bytes; %d in the trace, %d deleted, %d lost with those", size, seen, p.Discarded, p.Lost)
			if seen+p.Lost != calls+2 || p.Discarded == 0 || p.Lost < p.Discarded {
				t.Errorf("%d in the trace, and %d lost, of %d", seen, p.Lost, calls+2)
			}
		}
	}
	if len(files) != 4 || size > bound+4*16384 {
		t.Errorf("%q have %d bytes", files, size)
	}
}

// TestTeams: a team has the number that its other members have, and another one than other teams;
// the peer of a context of a team is a PE of the job.
func TestTeams(t *testing.T) {
	parts := traced(t, 4, "", program(t, "teams"))
	var of, destroyed [4][]uint32
	for pe, p := range parts {
		for _, e := range p.calls {
			switch e.Name {
			case "shmem_team_sync", "shmem_barrier", "shmem_barrier_all":
				of[pe] = append(of[pe], *e.Args.Team)
			case "shmem_team_destroy":
				if e.Args.Team == nil {
					t.Fatalf("PE %d: the record of shmem_team_destroy has no team", pe)
				}
				destroyed[pe] = append(destroyed[pe], *e.Args.Team)
			case "shmem_ctx_long_p":
				if want := 2 + pe%2; *e.Args.PE != want {
					t.Errorf("PE %d: the peer is %d, and not %d", pe, *e.Args.PE, want)
				}
			}
		}
		for id, pes := range p.teams {
			want := []int{pe % 2, pe%2 + 2}
			if id == 0 {
				want = []int{0, 1, 2, 3}
			}
			if !slices.Equal(pes, want) {
				t.Errorf("PE %d: team %d is %v", pe, id, pes)
			}
		}
	}
	for pe := range of {
		// The program destroys the second of two teams first.
		if len(of[pe]) != 5 || !slices.Equal(destroyed[pe], []uint32{of[pe][2], of[pe][1]}) {
			t.Errorf("PE %d: teams %v were destroyed, and %v used", pe, destroyed[pe], of[pe])
		}
	}
	a, b := of[0], of[1]
	if !slices.Equal(a, of[2]) || !slices.Equal(b, of[3]) || len(a) != 5 || a[0] != 0 || b[0] != 0 || a[4] != 0 {
		t.Fatalf("the teams of the PEs are %v", of)
	}
	if numbers := slices.Sorted(slices.Values(append(a[1:4:4], b[1:3]...))); len(slices.Compact(numbers)) < 4 {
		t.Errorf("teams of other members have the same numbers: %v", of)
	}
}

// TestReuse: a handle that a library gives to another thread before the call that frees it has
// returned is the handle of the new team or context.
func TestReuse(t *testing.T) {
	dir := t.TempDir()
	library, exe := filepath.Join(dir, "libreuse.so"), filepath.Join(dir, "reuse")
	cc.Run(t, cc.C(), "-std=gnu11", "-shared", "-fPIC", "testdata/reuse_library.c", "-o", library)
	cc.Source(t, exe, "testdata/reuse.c", library, "-Wl,-rpath,"+dir)
	single(t, job{}, ",clock=off", dir, exe)
	p := read(t, filepath.Join(dir, "0.json"), true)
	slices.SortFunc(p.calls, func(a, b event) int { return cmp.Compare(a.TS, b.TS) })
	var teams [][]int
	var peers []int
	for _, e := range p.calls {
		switch e.Name {
		case "shmem_team_sync":
			teams = append(teams, p.teams[*e.Args.Team])
		case "shmem_ctx_long_p":
			peers = append(peers, *e.Args.PE)
		}
	}
	if want := [][]int{{0, 1}, {1, 2}, {1, 2}}; !reflect.DeepEqual(teams, want) {
		t.Errorf("the teams of the syncs are %v, and not %v", teams, want)
	}
	if want := []int{2, 2}; !slices.Equal(peers, want) {
		t.Errorf("the peers of the puts are %v, and not %v", peers, want)
	}
}

// TestPreempted: a call has the time before it for which its thread wanted a processor and had none.
// A sleep is none.
func TestPreempted(t *testing.T) {
	dir := t.TempDir()
	out := single(t, job{}, "", dir, program(t, "preempted"))
	var least, most [2]float64 // beside a thread, and without
	if _, err := fmt.Sscan(out, &least[0], &most[0], &least[1], &most[1]); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	var got []float64
	for _, e := range read(t, filepath.Join(dir, "0.json"), true).calls {
		if e.Name == "shmem_fence" {
			got = append(got, e.Args.Stolen)
		}
	}
	t.Logf("no processor for %v to %v us; recorded %v", least, most, got)
	if len(got) != 4 || least[0] < 10e3 {
		t.Fatalf("%d fences, and no processor for %.0f us beside a thread", len(got), least[0])
	}
	const clocks = 100 // microseconds: readings of two clocks, and pauses that are not looked at
	for i, call := range []int{1, 3} {
		if got[call] < least[i]-clocks || got[call] > most[i]+clocks {
			t.Errorf("before fence %d: %.0f us, and it should be %.0f to %.0f", call+1, got[call], least[i], most[i])
		}
	}
	if got[2] != 0 {
		t.Errorf("before the fence behind a sleep: %.0f us", got[2])
	}
}

// TestHeap: the shim measures clocks in symmetric memory, and the program finds the heap as it is
// without.
func TestHeap(t *testing.T) {
	exe := program(t, "heap")
	argv := []string{filepath.Join(need.Build(t), "bin", "shmemrun"), "-n", "2", exe}
	plain := sorted(job{}.run(t, argv...))
	if out := sorted(job{env: []string{"LD_PRELOAD=" + shim(t), "SHMEM_PRELOAD=trace,file=" + t.TempDir()}}.run(t, argv...)); out != plain {
		t.Errorf("blocks lie at\n%s\nand without the shim at\n%s", out, plain)
	}
}

// Package nvtx runs programs under its own profiler, and checks the ranges that they emit.
package nvtx

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem/runtime/config"
	"libshmem/runtime/gpu/cuda/cudatest"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// tools builds the profiler and the program.
func tools(t *testing.T) (build, recorder, program string) {
	t.Helper()
	build = need.Build(t)
	setup := exec.Command("../../scripts/setup", "--tool", "nvtx")
	setup.Env = append(os.Environ(), "BUILD="+build)
	headers, err := setup.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	recorder = filepath.Join(dir, "recorder.so")
	cc.Source(t, recorder, "testdata/recorder.c", "-Wno-cast-function-type", "-shared", "-fPIC", "-isystem", strings.TrimSpace(string(headers)))
	return build, recorder, cc.Program(t, build, "testdata/groups.c")
}

// run is a job of two PEs.
func run(t *testing.T, build string, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(filepath.Join(build, "bin", "shmemrun"), append([]string{"--timeout", "60", "-n", "2"}, args...)...)
	cmd.Env = append(append(os.Environ(), "SHMEM_PROVIDER=tcp"), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// shown is the ranges of a job's processes: the count of each, as "domain group name".
type shown map[string]int

// read checks the rules of every profiler: domains are made before they are used and groups have
// names, and on each thread as many ranges are left as entered, the last one first.
func read(t *testing.T, record string) shown {
	t.Helper()
	files, err := filepath.Glob(record + ".*")
	if err != nil {
		t.Fatal(err)
	}
	all := shown{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		domains, groups := map[string]bool{}, map[string]string{}
		open := map[string][]string{} // by thread
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			thread, what, domain := f[0], f[1], f[2]
			if (what == "domain") == domains[domain] {
				t.Errorf("%s: the domain is made twice, or not yet", line)
			}
			switch what {
			case "domain":
				domains[domain] = true
			case "category":
				groups[domain+" "+f[3]] = f[4]
			case "push":
				group := groups[domain+" "+f[3]]
				if group == "" {
					t.Errorf("%s: the group has no name", line)
				}
				open[thread] = append(open[thread], domain)
				all[domain+" "+group+" "+f[4]]++
			case "pop":
				last := len(open[thread]) - 1
				if last < 0 || open[thread][last] != domain {
					t.Fatalf("%s: this thread is in %v", line, open[thread])
				}
				open[thread] = open[thread][:last]
			default:
				t.Fatalf("%s: what is this?", line)
			}
		}
		for thread, left := range open {
			if len(left) > 0 {
				t.Errorf("thread %s of %s is still in %d ranges at its end", thread, file, len(left))
			}
		}
	}
	return all
}

// The program's ranges in each group, with both jobs, PEs and threads; for the proxy the test
// checks only that there are some.
var want = map[string]shown{
	"init":            {"shmem_init_thread": 4, "shmem_finalize": 4},
	"alloc":           {"shmem_calloc": 8, "shmem_free": 8},
	"coll":            {"shmem_barrier_all": 8, "shmem_long_sum_reduce": 4},
	"wait":            {"shmem_signal_wait_until": 4, "shmem_set_lock": 4, "shmem_clear_lock": 4},
	"wait_on_stream":  {},
	"test":            {"shmem_long_test": 8},
	"memorder":        {"shmem_quiet": 8, "shmem_fence": 8},
	"quiet_on_stream": {},
	"atomic_fetch":    {"shmem_long_atomic_fetch_add": 8},
	"atomic_set":      {"shmem_long_atomic_inc": 8, "shmem_signal_add": 8},
	"rma_blocking": {"shmem_long_p": 8, "shmem_long_g": 8, "shmem_long_put": 8, "shmem_ctx_long_put": 8,
		"shmem_long_put_signal": 8, "shmem_long_iput": 8},
	"rma_nonblocking": {"shmem_long_get_nbi": 8, "shmem_long_put_signal_nbi": 8},
}

// And its ranges with streams.
var onStreams = map[string]shown{
	"wait":            {"shmem_signal_wait_until": 4},
	"wait_on_stream":  {"shmemx_long_wait_until_on_stream": 4},
	"quiet_on_stream": {"shmemx_quiet_on_stream": 4},
	"rma_blocking": {"shmem_long_p": 8, "shmem_long_g": 8, "shmem_long_put": 8, "shmem_ctx_long_put": 8,
		"shmem_long_put_signal": 8, "shmem_long_iput": 8, "shmemx_long_p_on_stream": 4, "shmemx_long_g_on_stream": 4},
}

// TestGroups: the selected groups, each call in its own group, and no others.
func TestGroups(t *testing.T) {
	build, recorder, program := tools(t)
	words := config.Lookup("SHMEM_NVTX").Choices
	groups := words[:len(words)-3]
	common := []string{"init", "alloc", "coll", "wait", "memorder", "atomic_fetch", "rma_blocking", "proxy"}
	streams := "LD_LIBRARY_PATH=" + cudatest.Build(t)
	type job struct {
		setting string
		groups  []string
		hosts   bool
		streams bool
	}
	jobs := []job{
		{"common", common, true, false}, {"all", groups, true, false}, {"off", nil, true, false}, {"all,off", nil, false, false},
		{"all", groups, false, true}, {"wait_on_stream,quiet_on_stream", nil, false, true},
	}
	jobs[5].groups = []string{"wait_on_stream", "quiet_on_stream"}
	for i, g := range groups {
		jobs = append(jobs, job{g, []string{g}, i%2 == 0 || g == "proxy", false})
	}
	for _, j := range jobs {
		t.Run(fmt.Sprintf("%s/hosts=%v/streams=%v", j.setting, j.hosts, j.streams), func(t *testing.T) {
			t.Parallel()
			record := filepath.Join(t.TempDir(), "record")
			env := []string{"NVTX_INJECTION64_PATH=" + recorder, "RECORD=" + record, "SHMEM_NVTX=" + j.setting}
			var before, args []string
			if j.hosts {
				before = []string{"--hosts", "2"}
			}
			if j.streams {
				env, args = append(env, streams, "SHMEM_HEAP=device", "FAKE_CUDA=works=1"), []string{"streams"}
			}
			if out, err := run(t, build, env, append(append(before, program), args...)...); err != nil || out != "" {
				t.Fatalf("%v\n%s", err, out)
			}
			got := read(t, record)
			expected, proxied := shown{}, 0
			for _, g := range j.groups {
				calls := want[g]
				if j.streams && onStreams[g] != nil {
					calls = onStreams[g]
				}
				for name, n := range calls {
					expected["SHMEM "+g+" "+name] = n
				}
			}
			maps.DeleteFunc(got, func(line string, n int) bool {
				if strings.HasPrefix(line, "SHMEM_PROXY proxy ") {
					proxied += n
				}
				return strings.HasPrefix(line, "SHMEM_PROXY proxy ")
			})
			if !maps.Equal(got, expected) {
				t.Errorf("got\n%s\nwant\n%s", got, expected)
			}
			if (proxied > 0) != (j.hosts && slices.Contains(j.groups, "proxy")) {
				t.Errorf("%d ranges of the proxy", proxied)
			}
		})
	}
}

func (s shown) String() string {
	var b strings.Builder
	for _, line := range slices.SortedFunc(maps.Keys(s), cmp.Compare) {
		fmt.Fprintf(&b, "%4d %s\n", s[line], line)
	}
	return b.String()
}

// TestNobodyListens: without a profiler, or with one that cannot be loaded, a job runs as usual; in
// the latter case it may report this.
func TestNobodyListens(t *testing.T) {
	build, recorder, program := tools(t)
	for _, c := range []struct {
		env  []string
		said bool
	}{
		{[]string{"SHMEM_NVTX=all"}, false},
		{[]string{"SHMEM_NVTX=all", "SHMEM_LOG_LEVEL=info"}, true},
		{[]string{"SHMEM_NVTX=all", "SHMEM_LOG_LEVEL=info", "NVTX_INJECTION64_PATH=/nosuch.so"}, true},
		{[]string{"SHMEM_LOG_LEVEL=info", "NVTX_INJECTION64_PATH=" + recorder}, false}, // no group: it is not loaded
	} {
		record := filepath.Join(t.TempDir(), "record")
		out, err := run(t, build, append(c.env, "RECORD="+record), program)
		if err != nil || strings.Contains(out, "no profiler listens") != c.said {
			t.Errorf("%v: %v\n%s", c.env, err, out)
		}
		if files, _ := filepath.Glob(record + ".*"); files != nil {
			t.Errorf("%v: something was shown", c.env)
		}
	}
	if out, err := run(t, build, []string{"SHMEM_NVTX=common,put"}, program); err == nil ||
		!strings.Contains(out, `SHMEM_NVTX="common,put": there is no "put" (use words separated by commas: init, alloc, `) {
		t.Errorf("%v\n%s", err, out)
	}
}

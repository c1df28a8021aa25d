package preload

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// single runs a program of one PE without a launcher, with the shim.
func single(t *testing.T, j job, words, dir string, argv ...string) string {
	t.Helper()
	j.env = append(j.env, "LD_PRELOAD="+shim(t), "SHMEM_PRELOAD=trace,file="+dir+words, "LD_LIBRARY_PATH="+filepath.Dir(shim(t)))
	return j.run(t, argv...)
}

// TestEnds: whichever way a program ends, its calls are in the trace, but those of the last tenth of
// a second before it was killed.
func TestEnds(t *testing.T) {
	exe := program(t, "ends")
	for _, c := range []struct {
		how    string
		status int
		calls  int
		whole  bool
	}{
		{"finalize", 0, 102, true},
		{"exit", 3, 101, true},
		{"global_exit", 3, 102, true},
		{"kill", -1, 101, false},
	} {
		dir := t.TempDir()
		single(t, job{status: c.status}, "", dir, exe, c.how, filepath.Join(dir, "0.json"))
		p := read(t, filepath.Join(dir, "0.json"), c.whole)
		if len(p.calls) != c.calls || p.Lost != 0 || len(p.Clock) == 0 {
			t.Errorf("%s: %d calls and not %d; head %+v", c.how, len(p.calls), c.calls, p.head)
		}
	}
}

// TestTwice: a second finalize, about which the library warns, finds no shim that needs the heap.
func TestTwice(t *testing.T) {
	for pe, p := range traced(t, 2, "", program(t, "ends"), "twice") {
		if names := p.names(); len(names) != 103 || names[102] != "shmem_finalize" || len(p.Clock) != 2 {
			t.Errorf("PE %d: %d calls, clock %+v", pe, len(names), p.Clock)
		}
	}
}

// TestClosed: a program that closes the trace's file loses the trace, and not its own files.
func TestClosed(t *testing.T) {
	dir := t.TempDir()
	out := single(t, job{status: 3}, "", dir, program(t, "ends"), "close", filepath.Join(dir, "0.json"))
	if !strings.Contains(out, "the program has closed the file; the trace ends here, and the program goes on") || strings.Count(out, "\n") != 1 {
		t.Errorf("output %q", out)
	}
}

// TestFull: a disk that is full ends the trace, with one message, and not the program. The limit of
// a file's size stands for the disk.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	out := single(t, job{}, "", dir, program(t, "ends"), "limit")
	if strings.Count(out, "\n") != 1 || !strings.Contains(out, "libshmem_preload: PE 0: write "+dir+"/0.json: File too large; the trace ends here, and the program goes on (make room") {
		t.Errorf("output %q", out)
	}
	p := read(t, filepath.Join(dir, "0.json"), false)
	if len(p.calls) == 0 || !slices.Equal(p.Unseen, []string{"all calls after the file could not be written: File too large"}) {
		t.Errorf("%d calls were written before; unseen are %q", len(p.calls), p.Unseen)
	}
}

// TestFullAndLost: the head of a trace that ends because the disk is full has all calls that were
// lost until then.
func TestFullAndLost(t *testing.T) {
	dir := t.TempDir()
	if out := (job{}).run(t, unit(t, "lost", "output", "head"), dir); !strings.Contains(out, "the trace ends here") {
		t.Errorf("output %q", out)
	}
	if p := read(t, filepath.Join(dir, "0.json"), false); p.Lost != 7 {
		t.Errorf("the head says that %d calls were lost, and 7 were", p.Lost)
	}
}

// TestActiveSets: an active set is a team if all its PEs are in the job.
func TestActiveSets(t *testing.T) { runUnit(t, "active", "passed\n") }

// TestFlushes: the writer ends at the end of the process, also while another thread flushes.
func TestFlushes(t *testing.T) { runUnit(t, "flushes", "the writer has ended\n") }

// unit compiles a program of testdata with units of the shim, beside those that it includes itself.
func unit(t *testing.T, name string, units ...string) string {
	t.Helper()
	const folder = "../../capi/preload/"
	exe := filepath.Join(t.TempDir(), name)
	args := []string{
		"-std=gnu11", "-Wall", "-Werror", "-pthread", "-I" + folder,
		"-I" + filepath.Join(need.Build(t), "gen", "preload"), "-o", exe, "testdata/" + name + ".c",
	}
	for _, u := range units {
		args = append(args, folder+u+".c")
	}
	cc.Run(t, cc.C(), args...)
	return exe
}

// runUnit runs a program of testdata that includes a unit of the shim.
func runUnit(t *testing.T, name, want string) {
	t.Helper()
	if out := (job{}).run(t, unit(t, name)); out != want {
		t.Errorf("output %q", out)
	}
}

// TestDirectory: a directory that cannot be made, and one that another process writes to.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	exe := program(t, "ends")
	out := single(t, job{}, "", file+"/x", exe)
	if strings.Count(out, "\n") != 1 || !strings.Contains(out, "create "+file+"/x/0.json: Not a directory; the trace ends here, and the program goes on (name a directory that can be written: ") {
		t.Errorf("output %q", out)
	}
	// flock of the shell holds the lock that a process which records has.
	out = single(t, job{}, "", dir, "flock", filepath.Join(dir, "0.json"), exe)
	if !strings.Contains(out, "another process that lives writes it") {
		t.Errorf("output %q", out)
	}
	single(t, job{}, "", dir+"/a/b/c", exe)
	read(t, dir+"/a/b/c/0.json", true)
}

// TestForks: children of a PE record nothing, and do it no harm.
func TestForks(t *testing.T) {
	dir := t.TempDir()
	exe := program(t, "forks")
	out := single(t, job{}, "", dir, exe)
	p := read(t, filepath.Join(dir, "0.json"), true)
	want := []string{"shmem_init", "shmem_my_pe", "shmem_long_p", "shmem_long_p", "shmem_finalize"}
	if out != "a child\n" || !slices.Equal(p.names(), want) {
		t.Errorf("output %q, calls %q", out, p.names())
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 1 {
		t.Errorf("files %q", files)
	}
	// The child of a process that was no PE is one.
	dir = t.TempDir()
	single(t, job{}, "", dir, exe, "child")
	if p := read(t, filepath.Join(dir, "0.json"), true); !slices.Equal(p.names(), want) {
		t.Errorf("calls of a child that is a PE: %q", p.names())
	}
}

// TestSettings: what SHMEM_PRELOAD does not understand ends the program, before its first call.
func TestSettings(t *testing.T) {
	exe := program(t, "ends")
	env := []string{"LD_PRELOAD=" + shim(t), "LD_LIBRARY_PATH=" + filepath.Dir(shim(t))}
	for words, says := range map[string]string{
		"tarce":              `SHMEM_PRELOAD: unknown word "tarce" (use one of these, or several joined by +: redirect[,library=PATH], trace[,file=DIR]`,
		"trace+":             `SHMEM_PRELOAD: unknown word "" (use one of these`,
		"trace+trace":        `SHMEM_PRELOAD: trace is there twice (leave one out)`,
		"trace,fil=x":        `there is no such key (write trace[,file=DIR]`,
		"trace,file=":        `file needs the name of a directory (write trace`,
		"trace,size=3":       `size needs a number of bytes, 1m or more, such as 500m or 4g (write trace`,
		"trace,size=1z":      `size needs a number of bytes`,
		"trace,clock=maybe":  `clock may only be off`,
		"trace,full=drop":    `full may only be wait`,
		"trace:x":            `trace has no colon`,
		"trace,calls":        `calls needs a pattern`,
		"trace,size=-1m":     `size needs a number of bytes`,
		"trace,size=999999g": "",
	} {
		j := job{env: append(env, "SHMEM_PRELOAD="+words), status: 1, dir: t.TempDir()}
		if says == "" {
			j.status = 0
		}
		if out := j.run(t, exe); !strings.Contains(out, says) || says != "" && strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %q does not say %q", words, out, says)
		}
	}
}

// TestMissing: a function that the library does not have fails as without the shim.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	so, exe := filepath.Join(dir, "libfake.so"), filepath.Join(dir, "program")
	newer := write("newer.c", "int shmem_my_pe(void) { return 0; }\nvoid shmem_quiet(void) {}\n")
	older := write("older.c", "int shmem_my_pe(void) { return 0; }\n")
	main := write("main.c", "int shmem_my_pe(void);\nvoid shmem_quiet(void);\nint main(void) { shmem_my_pe(); shmem_quiet(); return 0; }\n")
	cc.Run(t, cc.C(), "-shared", "-fPIC", newer, "-o", so)
	cc.Run(t, cc.C(), main, "-o", exe, so, "-Wl,-rpath,"+dir, "-Wl,-z,lazy")
	cc.Run(t, cc.C(), "-shared", "-fPIC", older, "-o", so)
	plain := job{status: 127}.run(t, exe)
	out := single(t, job{status: 127}, "", dir, exe)
	if out != plain || !strings.Contains(out, "undefined symbol: shmem_quiet") {
		t.Errorf("%q, and without the shim %q", out, plain)
	}
}

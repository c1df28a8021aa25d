package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestBudget compares the last run on an idle machine with the budgets.
func TestBudget(t *testing.T) {
	text, err := os.ReadFile("seconds.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, lines, err := parseSeconds(text)
	if err != nil {
		t.Fatal(err)
	}
	var has []string
	for _, f := range lines {
		has = append(has, f.name)
		if f.last > f.budget {
			t.Errorf("%s took %.0f s in the last run, and may take %.0f (make it cheaper, or move a test of it to make test-full)", f.name, f.last, f.budget)
		}
	}
	want := []string{"all stages", wholeRun}
	t.Chdir("../..")
	stages, err := table(false)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stages {
		want = append(want, s.name)
	}
	slices.Sort(has)
	slices.Sort(want)
	if !slices.Equal(has, want) {
		t.Errorf("seconds.txt has the stages\n%s\nand the table\n%s", strings.Join(has, ", "), strings.Join(want, ", "))
	}
}

// TestAllPackages: a package of tests that no stage names would never run. make check runs these two
// itself.
func TestAllPackages(t *testing.T) {
	t.Chdir("../..")
	stages, err := table(false)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("tests/*/*_test.go")
	if err != nil || files == nil {
		t.Fatalf("%d files of tests, %v", len(files), err)
	}
	for _, f := range files {
		folder := "./" + filepath.Dir(f)
		named := func(s stage) bool { return slices.Contains(strings.Fields(s.run), folder) }
		if folder != "./tests/repo" && folder != "./tests/all" && !slices.ContainsFunc(stages, named) {
			t.Errorf("no stage runs %s (name it in tests/all/table.go)", folder)
		}
	}
}

// TestDivision: each package with tests runs in one way, those whose tests start goroutines with the
// race detector, and in full none without it that it may find something in.
func TestDivision(t *testing.T) {
	t.Chdir("../..")
	all, err := sources("go")
	if err != nil {
		t.Fatal(err)
	}
	for _, full := range []bool{false, true} {
		d, err := packages("go", full)
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range all {
			n := 0
			for _, kind := range [][]string{d.threads, d.others} {
				if slices.Contains(kind, name) {
					n++
				}
			}
			want := 0
			if p.tested && !belowTests.MatchString(name) && (full || !apart.MatchString(name)) {
				want = 1
			}
			if n != want {
				t.Errorf("in full %v: %s is in %d lists, want %d", full, name, n, want)
			}
			if want == 1 && (p.starts && !loneTests.MatchString(name) || full && p.own) && !slices.Contains(d.threads, name) {
				t.Errorf("in full %v: %s starts goroutines, and runs without the race detector", full, name)
			}
		}
		if len(d.threads) < 10 || !slices.Contains(d.threads, engine) {
			t.Errorf("in full %v: the race detector has %q", full, d.threads)
		}
	}
}

// TestForFull: each test that is for make test-full exists, and no seeded defect on each push needs it.
func TestForFull(t *testing.T) {
	t.Chdir("../..")
	read := func(pattern string) (text string) {
		files, err := filepath.Glob(pattern)
		if err != nil || files == nil {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		return text
	}
	defects := read("tests/seeded/*_test.go")
	for folder, names := range forFull {
		folder = strings.TrimSuffix(folder, "/...")
		tests := read(folder + "/*_test.go")
		for name := range strings.SplitSeq(names, "|") {
			if !strings.Contains(tests, "\nfunc Test"+name+"(") {
				t.Errorf("%s has no Test%s", folder, name)
			}
			if row := `"` + folder + `", "^Test` + name; strings.Contains(defects, row+"$") || strings.Contains(defects, row+`"`) {
				t.Errorf("a seeded defect needs Test%s of %s", name, folder)
			}
		}
	}
}

// TestSchedule runs stages that sleep in simulated time.
func TestSchedule(t *testing.T) {
	stages := []stage{
		{name: "build", load: 2},
		{name: "large", after: "build", load: 1.6},
		{name: "medium", after: "build", load: .5},
		{name: "small", after: "build", load: .4},
		{name: "needs small", after: "small", load: .4},
		{name: "fails", after: "medium", load: .1},
		{name: "needs what fails", after: "fails", load: .1},
		{name: "needs nothing of this run", after: "other", load: .1},
		{name: "alone", after: "build", load: alone},
	}
	takes := map[string]time.Duration{"build": 10, "large": 30, "medium": 20, "small": 5, "alone": 7}
	want := []string{
		"0s build", // fills the processors
		"10ns large", "10ns small", "15ns needs small", "15ns needs nothing of this run",
		// Nothing has room for medium before the large one has ended.
		"40ns medium",
		"60ns fails", "60ns needs what fails: it needs fails",
		"60ns alone",
	}
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var mu sync.Mutex
		var got []string
		say := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, time.Since(begin).String()+" "+what)
		}
		schedule(stages, 2, func(s stage) end {
			say(s.name)
			time.Sleep(takes[s.name])
			e := end{stage: s}
			if s.name == "fails" {
				e.err = errors.New("as it is to")
			}
			return e
		}, func(e end) {
			if strings.HasPrefix(e.name, "needs what") {
				say(e.name + ": " + e.err.Error())
			}
		})
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("the stages began\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestRunStage runs a stage that computes, one that fails, and one that hangs.
func TestRunStage(t *testing.T) {
	e := runStage(stage{name: "computes", limit: time.Minute, run: "for ((i = 0; i < 20000; i++)); do :; done; echo done"})
	if e.err != nil || string(e.output) != "done\n" || e.processor <= 0 || e.processor > e.wall+time.Second {
		t.Errorf("a stage that computes: %v, %q, %v of a processor in %v", e.err, e.output, e.processor, e.wall)
	}
	if e = runStage(stage{name: "fails", limit: time.Minute, run: "exit 3"}); e.err == nil || e.err.Error() != "exit status 3" {
		t.Errorf("a stage that fails: %v", e.err)
	}
	e = runStage(stage{name: "hangs", limit: 50 * time.Millisecond, run: "sleep 3600 & echo begun; sleep 3600"})
	if e.err == nil || e.err.Error() != "ended after 50ms" || e.wall > time.Minute {
		t.Errorf("a stage that hangs: %v after %v", e.err, e.wall)
	}
}

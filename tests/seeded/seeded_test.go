package seeded

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	whole = flag.Bool("whole", false, "seed every defect of the list; without it TestSeeded and TestSuites seed the ones that -run names")
	keep  = flag.Bool("keep", false, "leave the copy of the tree with each defect, and say where it is")
	jobs  = flag.Int("jobs", 2, "how many defects are seeded side by side")

	reports = flag.String("reports", "", "a folder for what the test of each defect prints")
)

// asked skips a test that is for make test-full, unless -run names a part of it.
func asked(t *testing.T) {
	t.Helper()
	if !*whole && !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		t.Skip("takes half an hour (-whole, or -run " + t.Name() + "/AREA/ID)")
	}
}

// TestSeeded seeds each defect of the list, and expects its test to notice it.
func TestSeeded(t *testing.T) {
	asked(t)
	build := built(t)
	turns := make(chan struct{}, max(*jobs, 1))
	areas := map[string][]defect{}
	var order []string
	for _, d := range defects() {
		if areas[d.area()] == nil {
			order = append(order, d.area())
		}
		areas[d.area()] = append(areas[d.area()], d)
	}
	for _, area := range order {
		t.Run(area, func(t *testing.T) {
			t.Parallel()
			for _, d := range areas[area] {
				t.Run(filepath.Base(d.id), func(t *testing.T) {
					t.Parallel()
					turns <- struct{}{}
					defer func() { <-turns }()
					if fault := d.catch(t, build); fault != "" {
						t.Errorf("%s, %s: %s", d.id, d.file, fault)
					}
				})
			}
		})
	}
}

// least is the least number of defects in the list, without those of suites.
const least = 66

// TestList checks the form of the list: a row that no longer fits the code proves nothing.
func TestList(t *testing.T) {
	list := defects()
	if len(list) < least {
		t.Errorf("the list has %d defects, fewer than %d", len(list), least)
	}
	seen := map[string]bool{}
	for _, d := range list {
		if seen[d.id] {
			t.Errorf("%s: there are two of that name", d.id)
		}
		seen[d.id] = true
		if fault := d.form(root(t)); fault != "" {
			t.Errorf("%s: %s", d.id, fault)
		}
	}
}

var goodID = regexp.MustCompile(`^[a-z]+/[a-z0-9-]+$`)

// form returns the error in a row; "": none.
func (d *defect) form(root string) string {
	text, err := os.ReadFile(filepath.Join(root, d.file))
	switch {
	case !goodID.MatchString(d.id):
		return "an id is area/name"
	case err != nil:
		return err.Error()
	case strings.Count(string(text), d.was) != 1:
		return fmt.Sprintf("%s has %q %d times, not once", d.file, d.was, strings.Count(string(text), d.was))
	case d.is == d.was:
		return "it changes nothing"
	case d.user == "":
		return "it does not say what a user would see"
	case len(d.says) < 8:
		return "it does not say what the test reports"
	}
	if _, err := regexp.Compile(d.says); err != nil {
		return err.Error()
	}
	return d.by.form(root)
}

// form returns why there is no such test; "": there is one.
func (t *test) form(root string) string {
	if there, err := declared(filepath.Join(root, t.pkg, t.py)); err != nil {
		return err.Error()
	} else if !there[t.function()] {
		return fmt.Sprintf("there is no test %s in %s%s", t.function(), t.pkg, t.py)
	}
	if t.program == "" {
		return ""
	}
	configuration := strings.Trim(t.run[strings.LastIndex(t.run, "/")+1:], "^$")
	matrix, err := os.ReadFile(filepath.Join(root, "tests", "run", "matrix_test.go"))
	if err != nil {
		return err.Error()
	}
	// A generated program has no source before a build, but it has a row of the matrix.
	if _, err := os.Stat(filepath.Join(root, "tests", "c", t.program+".c")); err != nil && !strings.Contains(string(matrix), `"`+t.program+`":`) {
		return "there is no program " + t.program
	}
	if !strings.Contains(string(matrix), `{name: "`+configuration+`", args:`) {
		return "there is no configuration " + configuration
	}
	return ""
}

var (
	declaration = regexp.MustCompile(`(?m)^(?:func|def) ([Tt]est\w+)\(`)
	known       = map[string]map[string]bool{}
)

// declared returns the tests in a file of Python, or in the folder of a package of Go.
func declared(at string) (map[string]bool, error) {
	if known[at] != nil {
		return known[at], nil
	}
	files := []string{at}
	if filepath.Ext(at) != ".py" {
		files, _ = filepath.Glob(filepath.Join(at, "*_test.go"))
	}
	there := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, m := range declaration.FindAllStringSubmatch(string(text), -1) {
			there[m[1]] = true
		}
	}
	known[at] = there
	return there, nil
}

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/capi/spec"
	"libshmem/tests/need"
)

// TestManualIsWhole: each public name has a page, by itself or by a link to one that
// shows how the name is made.
func TestManualIsWhole(t *testing.T) {
	all := manual(spec.Shmem)
	names := slices.Concat(spec.Shmem.Names(), spec.Shmem.ExtensionNames())
	for _, name := range names {
		text, ok := all["man3/"+name+".3"]
		if !ok {
			t.Errorf("%s has no page", name)
			continue
		}
		if target, link := strings.CutPrefix(text, ".so "); link {
			if text = all[strings.TrimSpace(target)]; text == "" || strings.HasPrefix(text, ".so ") {
				t.Errorf("%s: %s is no page", name, target)
			}
		}
	}
	for _, p := range pages(spec.Shmem) {
		for _, topic := range p.topics {
			for _, fn := range topic.functions {
				if !strings.Contains(all["man3/"+p.name+".3"], roff(nameForm(fn))+"(") {
					t.Errorf("%s: its page does not show %s", fn.Name, nameForm(fn))
				}
			}
		}
	}
	if len(all) < len(names) {
		t.Errorf("%d files for %d names", len(all), len(names))
	}
}

// TestManualRefers: each page that a page refers to is there, also where functions have no second
// names.
func TestManualRefers(t *testing.T) {
	plain := another()
	plain.Profiled = false
	reference := regexp.MustCompile(`(?m)^\.BR (\w+) \((\d)\)`)
	for _, s := range []*spec.Surface{spec.Shmem, another(), plain} {
		all, n := manual(s), 0
		for path, text := range all {
			for _, to := range reference.FindAllStringSubmatch(text, -1) {
				n++
				if to[2] == "1" {
					continue // commands have their pages elsewhere (tests/install)
				}
				if page := "man" + to[2] + "/" + to[1] + "." + to[2]; all[page] == "" {
					t.Errorf("%s: %s refers to %s", s.Name, path, page)
				}
			}
		}
		if n < 100 {
			t.Errorf("%s: %d references", s.Name, n)
		}
	}
}

// known are the requests that pages use.
var known = regexp.MustCompile(`^\.(\\"|TH|SH|SS|TP|PP|I|B|BR|nf|fi|so|RS|RE|EX|EE)( |$)`)

// TestManualForm holds each page to the form of manual pages: the parts in their
// order, none empty, no request that is not one, no line in which a hyphen or a
// backslash could be taken for something else.
func TestManualForm(t *testing.T) {
	order := []string{"NAME", "SYNOPSIS", "DESCRIPTION", "ARGUMENTS", "TYPES", "RETURN VALUE", "ERRORS", "ORDER", "STANDARDS",
		"OTHER FORMS", "EXAMPLES", "SEE ALSO"}
	for path, text := range manual(spec.Shmem) {
		if strings.HasPrefix(text, ".so ") || !strings.HasSuffix(path, ".3") {
			continue
		}
		at, empty := -1, false
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, ".") && !known.MatchString(line) {
				t.Errorf("%s: %q is no request", path, line)
			}
			if strings.TrimSpace(line) == "" || strings.HasSuffix(line, " ") {
				t.Errorf("%s: a line without text, or with a space at its end", path)
			}
			if name, ok := strings.CutPrefix(line, ".SH "); ok {
				place := slices.Index(order, name)
				if empty || place < at || place < 0 {
					t.Errorf("%s: part %s is out of place, or what is before it is empty", path, name)
				}
				at, empty = place, true
				continue
			}
			empty = empty && (strings.HasPrefix(line, ".P") || strings.HasPrefix(line, ".RS") || line == ".EX")
			if !strings.HasPrefix(line, ".") && regexp.MustCompile(`[^\\]-`).MatchString(line) {
				t.Errorf("%s: a bare hyphen in %q", path, line)
			}
		}
		if at != len(order)-1 || empty {
			t.Errorf("%s: it does not end with what to see also", path)
		}
	}
}

// TestManualByGroff has the formatter say what it thinks of the pages.
func TestManualByGroff(t *testing.T) {
	groff := need.Command(t, "groff")
	dir := t.TempDir()
	if err := writePages(spec.Shmem, dir); err != nil {
		t.Fatal(err)
	}
	args := []string{"-man", "-ww", "-Tutf8", "-z", "man7/shmem.7"}
	for path, text := range manual(spec.Shmem) {
		if !strings.HasPrefix(text, ".so ") && strings.HasSuffix(path, ".3") {
			args = append(args, path)
		}
	}
	cmd := exec.Command(groff, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	list, err := os.ReadFile(filepath.Join(dir, "list"))
	if err != nil || len(strings.Fields(string(list))) != len(manual(spec.Shmem)) {
		t.Errorf("the list has %d files of %d (%v)", len(strings.Fields(string(list))), len(manual(spec.Shmem)), err)
	}
}

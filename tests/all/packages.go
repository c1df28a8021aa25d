package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// startsThreads matches sources of packages that start goroutines themselves, or threads of C.
var startsThreads = regexp.MustCompile(`\bgo (func|[A-Za-z_.]+)\(|\.Go\(|AfterFunc|pthread_create|\bguard\.|\.Parallel\(`)

// sharesMemory matches imports by which goroutines of other packages share a package's memory.
var sharesMemory = regexp.MustCompile(`[\[ ](sync|sync/atomic|unsafe|C|net|libshmem/fabric/fabrictest)[\] ]`)

// belowTests matches packages with stages of their own: programs in C, generators, what spins.
var belowTests = regexp.MustCompile(`^libshmem/(tests|bench|abi/gen|capi/gen|fabric/ofi/stub)(/|$)`)

// simulated matches packages whose tests are for one goroutine at a time: networks that are
// simulated, and replays. They take ten times as long with the detector, and have stages of their
// own on each push.
var simulated = regexp.MustCompile(`^libshmem/(fabric/(chaos|rail|sim)|runtime/replay)$`)

// slow matches packages whose tests take five times as long with the detector. It finds nothing in
// them while nothing that they run starts a goroutine, so that each push only checks their pointers.
// Other packages like them take less with the detector, for whose other packages they are compiled.
var slow = regexp.MustCompile(`^libshmem/(capi/spec|queue|runtime/heap|runtime/sequence)$`)

// A source is a package, with what it imports for itself and for its tests.
type source struct {
	name, folder        string
	imports, forTests   []string
	tested, starts, own bool // own: its tests start goroutines, or it does
}

// A division is the packages with tests: threads have those that the race detector may find
// something in, and memory the slow ones in which it would only check pointers.
type division struct{ threads, memory, others []string }

// packages divides the packages with tests. In full all of them are of the first kind.
func packages(goCommand string, full bool) (division, error) {
	var d division
	all, err := sources(goCommand)
	if err != nil {
		return d, err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		single := simulated.MatchString(p.name)
		if !p.tested || belowTests.MatchString(p.name) || single && !full {
			continue
		}
		imports := fmt.Sprint(p.imports, p.forTests)
		switch {
		case !full && slow.MatchString(name) && !p.own && !startsBelow(all, p):
			d.memory = append(d.memory, p.name)
		case full, p.own, sharesMemory.MatchString(imports):
			d.threads = append(d.threads, p.name)
		default:
			d.others = append(d.others, p.name)
		}
	}
	return d, nil
}

// startsBelow reports whether a package of this module that p or its tests import, directly or not,
// starts goroutines.
func startsBelow(all map[string]*source, p *source) bool {
	seen := map[string]bool{p.name: true}
	for next := slices.Concat(p.imports, p.forTests); len(next) > 0; next = next[1:] {
		below := all[next[0]]
		if below == nil || seen[below.name] {
			continue
		}
		if below.starts {
			return true
		}
		seen[below.name] = true
		next = append(next, below.imports...)
	}
	return false
}

// sources returns the packages of this module by their names.
func sources(goCommand string) (map[string]*source, error) {
	const format = `{{.ImportPath}};{{.Dir}};{{join .Imports " "}};{{join .TestImports " "}} {{join .XTestImports " "}};{{len .TestGoFiles}}{{len .XTestGoFiles}}`
	out, err := exec.Command(goCommand, "list", "-f", format, "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	all := map[string]*source{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), ";")
		p := &source{name: f[0], folder: f[1], imports: strings.Fields(f[2]), forTests: strings.Fields(f[3]), tested: f[4] != "00"}
		for _, files := range []string{"*.go", "*.[ch]"} {
			if err := p.look(files); err != nil {
				return nil, err
			}
		}
		all[p.name] = p
	}
	return all, nil
}

// look notes whether files of the package start goroutines.
func (p *source) look(files string) error {
	paths, err := filepath.Glob(filepath.Join(p.folder, files))
	for _, path := range paths {
		text, readErr := os.ReadFile(path)
		err = errors.Join(err, readErr)
		if startsThreads.Match(text) {
			p.own = true
			p.starts = p.starts || !strings.HasSuffix(path, "_test.go")
		}
	}
	return err
}

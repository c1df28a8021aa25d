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

// apart matches packages that have stages of their own on each push: networks that are simulated, and
// replays, whose tests are for one goroutine at a time, and libfabric. They take ten times as long
// with the detector.
var apart = regexp.MustCompile(`^libshmem/(fabric/(chaos|rail|sim|ofi)|cmd/internal/replay)$`)

// loneTests matches packages that start goroutines, and whose tests run in one goroutine or beside
// one watch. Only make test-full runs them with the detector: compiling what they import for it took
// 26 s of a processor, and without it the library's four take 11.
var loneTests = regexp.MustCompile(`^libshmem/(capi/core|cmd/internal/perf|runtime/job/(device|network|watch))$`)

// engine is the package whose tests call it from several threads, as programs do.
const engine = "libshmem/runtime/proxy"

// A source is a package, with what it imports for itself and for its tests.
type source struct {
	name, folder        string
	imports, forTests   []string
	tested, starts, own bool // own: its tests start goroutines, or it does
}

// A division is the packages with tests: threads run with the race detector, others without.
type division struct{ threads, others []string }

// packages divides the packages with tests. On each push the detector has the engine and packages
// that start goroutines themselves: compiling all for it takes 200 s of a processor. In full it has
// all whose tests do, or whose memory goroutines of others share.
func packages(goCommand string, full bool) (division, error) {
	var d division
	all, err := sources(goCommand)
	if err != nil {
		return d, err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		if !p.tested || belowTests.MatchString(name) || apart.MatchString(name) && !full {
			continue
		}
		threads := p.starts && !loneTests.MatchString(name) || name == engine
		if full {
			threads = p.own || sharesMemory.MatchString(fmt.Sprint(p.imports, p.forTests))
		}
		if threads {
			d.threads = append(d.threads, name)
		} else {
			d.others = append(d.others, name)
		}
	}
	return d, nil
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

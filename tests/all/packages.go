package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// startsThreads matches sources of packages in which the race detector may find something: they
// start goroutines themselves.
var startsThreads = regexp.MustCompile(`\bgo (func|[A-Za-z_.]+)\(|\bguard\.|\.Parallel\(`)

// sharesMemory matches imports by which goroutines of other packages share a package's memory.
var sharesMemory = regexp.MustCompile(`[\[ ](sync|sync/atomic|unsafe|C|net|libshmem/fabric/fabrictest)[\] ]`)

// belowTests matches packages with stages of their own: programs in C, generators, what spins.
var belowTests = regexp.MustCompile(`^libshmem/(tests|bench|abi/gen|capi/gen|fabric/ofi/stub)(/|$)`)

// simulated matches packages whose tests are for one goroutine at a time: networks that are
// simulated, and replays. They take ten times as long with the detector, and have stages of their
// own on each push.
var simulated = regexp.MustCompile(`^libshmem/(fabric/(chaos|rail|sim)|runtime/replay)$`)

// packages returns the packages with tests: those that the race detector may find something in, and
// the others. In full all of them are of the first kind.
func packages(goCommand string, full bool) (threads, others []string, err error) {
	const format = `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}} {{.Imports}}{{.TestImports}}{{.XTestImports}}{{end}}`
	out, err := exec.Command(goCommand, "list", "-f", format, "./...").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("list the packages: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(words) < 3 {
			continue
		}
		name, folder, imports := words[0], words[1], words[2]
		single := simulated.MatchString(name)
		if belowTests.MatchString(name) || single && !full {
			continue
		}
		starts, err := anyFile(filepath.Join(folder, "*.go"), startsThreads)
		switch {
		case err != nil:
			return nil, nil, err
		case full, starts, sharesMemory.MatchString(imports):
			threads = append(threads, name)
		default:
			others = append(others, name)
		}
	}
	return threads, others, nil
}

// anyFile reports whether what occurs in a file.
func anyFile(pattern string, what *regexp.Regexp) (bool, error) {
	files, err := filepath.Glob(pattern)
	for _, f := range files {
		text, readErr := os.ReadFile(f)
		if what.Match(text) {
			return true, nil
		}
		err = errors.Join(err, readErr)
	}
	return false, err
}

package seeded

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// defect is a row of the list: a mistake in one file, and the test that notices it.
type defect struct {
	id   string // its area, and the mistake
	file string // the file with the mistake
	was  string // the text that it replaces, which the file has once
	is   string
	user string // its effect on a user
	by   test
	says string // a regular expression of the test's report

	// gen: the mistake is in a source of generated files, which are regenerated together with the
	// program of the test.
	gen bool
	// hangs: the test notices it by its own time limit, or that of shmemrun.
	hangs bool
}

// test is the command that must fail, and the targets to build for it.
type test struct {
	pkg, run string   // of go test
	py, name string   // of pytest: the file and the function
	pes      []string // of pytest: the options of shmemrun, where the file runs as PEs
	needs    []string // below the build folder
	program  string   // of tests/c
	full     bool     // only make test-full has it
}

// libraries are what programs need, and the tests that start them.
var libraries = []string{"lib/libshmem.so", "lib/libshmem_core.so"}

// unit returns a test of Go that needs nothing built.
func unit(pkg, run string) test { return test{pkg: pkg, run: run} }

// job returns a test of Go that starts programs.
func job(pkg, run string) test { return test{pkg: pkg, run: run, needs: libraries} }

// inFull returns a test that make test leaves to make test-full.
func inFull(t test) test {
	t.full = true
	return t
}

// program returns a program of tests/c in one of the configurations of tests/run.
func program(name, configuration string) test {
	t := job("./tests/run", "^TestPrograms$/^"+name+"$/^"+configuration+"$")
	t.program = name
	return t
}

// pes returns a test of Python that runs as PEs.
func pes(options, file, name string) test {
	return test{py: "python/tests/pes/" + file, name: name, pes: strings.Fields(options), needs: libraries}
}

// python returns a test of Python that starts its programs itself.
func python(file, name string) test {
	return test{py: "python/tests/" + file, name: name, needs: libraries}
}

// key distinguishes commands.
func (t *test) key() string {
	return strings.Join(append(t.pes, t.pkg, t.run, t.py, t.name, strconv.FormatBool(t.full)), " ")
}

// function returns the name of the test in its source.
func (t *test) function() string {
	if t.py != "" {
		return t.name
	}
	first, _, _ := strings.Cut(t.run, "/")
	return strings.Trim(first, "^$")
}

// targets returns the targets that make must build for the test, when a file has changed.
func (d *defect) targets() []string {
	var out []string
	switch {
	case len(d.by.needs) == 0 || strings.HasPrefix(d.file, "python/"):
	case d.gen:
		out = slices.Clone(libraries)
		if d.by.program != "" {
			out = append(out, "tests/"+d.by.program)
		}
		if strings.HasPrefix(d.file, "capi/spec/nvshmem") {
			out = append(out, "lib/libnvshmem_host.so")
		}
	case strings.HasPrefix(d.file, "capi/front/"):
		out = []string{"lib/libshmem.so"}
	case strings.HasPrefix(d.file, "capi/preload/"):
		out = []string{"lib/libshmem_preload.so"}
	case strings.HasPrefix(d.file, "capi/rma/"):
		out = []string{"lib/libshmem_rma.so"}
	case strings.HasPrefix(d.file, "capi/nvshmem/"):
		out = []string{"lib/libnvshmem_host.so"}
	case strings.HasPrefix(d.file, "device/") || strings.HasPrefix(d.file, "tests/"):
		// The test compiles them itself.
	case strings.HasPrefix(d.file, "cmd/shmem-perf/") || strings.HasPrefix(d.file, "cmd/internal/facts/") || strings.HasPrefix(d.file, "cmd/internal/perf/"):
		out = []string{"bin/shmemrun", "bin/shmem-perf", "libexec/shmem/perf"}
	default:
		out = slices.Clone(libraries)
	}
	if len(d.by.needs) > 0 && (strings.HasPrefix(d.file, "runtime/bootstrap/") || strings.HasPrefix(d.file, "cmd/")) {
		out = append(out, "bin/shmemrun")
	}
	return out
}

// area returns the first part of the id, which -run can name alone.
func (d *defect) area() string { return path.Dir(d.id) }

// defects returns the list.
func defects() []defect {
	return slices.Concat(heapDefects, teamDefects, nvshmemDefects, collectiveDefects, betweenNodesDefects, setDefects, nodeDefects, lockDefects, lossDefects, messageDefects, fillDefects, exampleDefects, orderDefects, ringDefects, panicDefects,
		preloadDefects, redirectDefects, waitDefects, proxyDefects, stagingDefects, fabricDefects, bootstrapDefects, launchDefects, configDefects, generatedDefects, setupDefects,
		traceDefects, replayDefects, perfDefects, deviceDefects, pythonDefects, meshDefects)
}

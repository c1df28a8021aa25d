package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"libshmem/capi/spec"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// TestManualExamples builds and runs the examples of the manual pages: whole programs each by
// itself, the others as functions of one program, which two PEs run.
func TestManualExamples(t *testing.T) {
	build := need.Build(t)
	dir := t.TempDir()
	functions, calls, prints := "", "", ""
	pages := map[string]bool{}
	for i := range spec.Examples {
		e := &spec.Examples[i]
		for _, name := range e.Pages {
			pages[name] = true
		}
		if e.Whole() {
			runExample(t, build, dir, e.Pages[0], e.Code+"\n", e.Prints)
			continue
		}
		functions += fmt.Sprintf("static void example_%s(int me, int n)\n{\n    (void)me, (void)n;\n%s\n}\n\n", e.Pages[0], e.Code)
		calls += fmt.Sprintf("    example_%s(shmem_my_pe(), shmem_n_pes());\n", e.Pages[0])
		prints += e.Prints
	}
	if len(pages) < 20 {
		t.Errorf("only %d functions have an example", len(pages))
	}
	runExample(t, build, dir, "examples", "#include <shmem.h>\n#include <stdio.h>\n\n"+functions+
		"int main(void)\n{\n    shmem_init();\n"+calls+"    shmem_finalize();\n}\n", prints)
}

// runExample builds a program, and compares the lines of two PEs, which come in any order.
func runExample(t *testing.T, build, dir, name, source, want string) {
	t.Helper()
	file := filepath.Join(dir, name+".c")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	program := cc.Program(t, build, file)
	out, err := exec.Command(filepath.Join(build, "bin", "shmemrun"), "-n", "2", "--timeout", "60", program).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if got := sorted(string(out)); !slices.Equal(got, sorted(want)) {
		t.Errorf("%s prints\n%s\nwant\n%s", name, strings.Join(got, "\n"), want)
	}
}

func sorted(text string) []string {
	return slices.Sorted(slices.Values(strings.Split(strings.TrimSpace(text), "\n")))
}

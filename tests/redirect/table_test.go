package redirect

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// A row of the tables of capi/preload/redirect_openmpi.c.
type row struct {
	library, group, name string
	theirs, ours         int64
}

// tables compiles the tables into a program that prints them.
func tables(t *testing.T) (values []row, texts map[string]string, symbols []string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "table")
	gcc(t, "-std=gnu11", "-w", "-I../../capi/preload", "-I"+filepath.Join(need.Build(t), "gen", "preload"), "testdata/table.c", "-o", program)
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	texts = map[string]string{}
	for line := range strings.Lines(string(out)) {
		w := strings.Fields(line)
		switch w[0] {
		case "value":
			r := row{library: w[1], group: w[2], name: w[3]}
			r.theirs, _ = strconv.ParseInt(w[4], 10, 64)
			r.ours, _ = strconv.ParseInt(w[5], 10, 64)
			values = append(values, r)
		case "text":
			texts[w[1]+" "+w[2]] = w[3]
		case "symbol":
			symbols = append(symbols, w[1]+" "+w[2])
		}
	}
	return values, texts, symbols
}

// compiles reports whether a text compiles, with the compiler's words.
func compiles(text string, flags ...string) (string, bool) {
	cmd := exec.Command("gcc", append([]string{"-std=gnu11", "-w", "-fsyntax-only", "-x", "c", "-"}, flags...)...)
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// header returns the folder of Open MPI's headers, and its version.
func header(t *testing.T) (dir, version string) {
	t.Helper()
	need.Command(t, "oshcc")
	out, err := exec.Command("oshcc", "-showme:incdirs").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir = strings.Fields(string(out))[0]
	need.File(t, filepath.Join(dir, "shmem.h"))
	text, err := os.ReadFile(filepath.Join(dir, "shmem.h"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^#define OSHMEM_MAJOR_VERSION (\d+)`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s/shmem.h has no version", dir)
	}
	return dir, string(m[1])
}

var (
	number  = regexp.MustCompile(`(?m)^#define\s+(SHMEM_\w+)\s+\(?-?[\w<(]`)
	listed  = regexp.MustCompile(`(?m)^\s+(SHMEM_\w+)\s*[,=]|^\s+(SHMEM_\w+)$`)
	handles = regexp.MustCompile(`(?m)^#define\s+SHMEM_\w+\s+(oshmem_\w+)`)
)

// TestTable: each row has the values of both headers, and each constant of the other header is in a
// row. Hints are about speed, and the shim does not look at them.
func TestTable(t *testing.T) {
	values, texts, symbols := tables(t)
	dir, version := header(t)
	theirs := "#include <shmem.h>\n#include <shmemx.h>\n"
	ours := theirs
	rows := map[string]bool{}
	for _, r := range values {
		if r.library != version {
			continue
		}
		rows[r.name] = true
		theirs += fmt.Sprintf("_Static_assert(%s == %d, \"%s\");\n", r.name, r.theirs, r.name)
		ours += fmt.Sprintf("_Static_assert(%s == %d, \"%s\");\n", r.name, r.ours, r.name)
		if (r.theirs == r.ours) != (r.group == "same" || r.name == "SHMEM_CTX_NOSTORE" || r.name == "SHMEM_MAJOR_VERSION") {
			t.Errorf("%s of Open MPI %s is in the list %q, and is %d there, %d here", r.name, version, r.group, r.theirs, r.ours)
		}
	}
	for _, name := range []string{"SHMEM_VENDOR_STRING", "SHMEM_HEAP_SIZE"} {
		if name == "SHMEM_HEAP_SIZE" && version != "4" {
			continue // there it is the name of libshmem's own
		}
		theirs += fmt.Sprintf("_Static_assert(__builtin_strcmp(%s, %q) == 0, \"%s\");\n", name, texts[version+" "+name], name)
	}
	if said, ok := compiles(theirs, "-I"+dir); !ok {
		t.Errorf("the header of Open MPI %s has other values:\n%s", version, said)
	}
	if said, ok := compiles(ours, "-I../../include"); !ok {
		t.Errorf("libshmem's header has other values:\n%s", said)
	}
	// The program's handles are pointers, and are 8 bytes.
	if said, ok := compiles("#include <shmem.h>\n_Static_assert(sizeof(shmem_ctx_t) == 8, \"\"); void *p(void) { return SHMEM_CTX_DEFAULT; }\n", "-I"+dir); !ok {
		t.Error(said)
	}
	for _, name := range constants(t, dir) {
		if !rows[name] {
			t.Errorf("the header of Open MPI %s has %s, and no row of redirect_openmpi.c", version, name)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "shmem.h"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range handles.FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(symbols, version+" "+m[1]) {
			t.Errorf("programs of Open MPI %s read the handle %s, and no row has it", version, m[1])
		}
	}
}

// constants returns the names of a header that stand for numbers in a program.
func constants(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "shmem.h"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range number.FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	for _, m := range listed.FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1]+m[2])
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		if _, ok := compiles(fmt.Sprintf("#include <shmem.h>\nenum { x = %s };\n", name), "-I"+dir); !ok {
			return true // a handle
		}
		return false
	})
	if len(names) < 25 {
		t.Errorf("only %d constants were found in %s", len(names), dir)
	}
	return names
}

// exported returns the functions of a library that programs can call.
func exported(t *testing.T, library string) map[string]bool {
	t.Helper()
	out, err := exec.Command("nm", "-D", "--defined-only", library).Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		w := strings.Fields(line)
		if len(w) == 3 && (w[1] == "T" || w[1] == "W") {
			name, _, _ := strings.Cut(w[2], "@")
			all[name] = true
		}
	}
	return all
}

// notRedirected are names of Open MPI that no function of libshmem stands for. A program with one
// is refused. (shmem_broadcast is declared there, and exists nowhere.)
var notRedirected = regexp.MustCompile(`^(my_pe|num_pes|globalexit|shmem_broadcast|shmemx_alltoall_global_nb|shmem_u?short_(test|wait_until)_(all|any|some)(_vector)?)$`)

var declared = regexp.MustCompile(`(?m)^OSHMEM_DECLSPEC[^;(]*?(\w+)\s*\(`)

// TestNames: the shim stands in front of every function that the headers of Open MPI declare, and
// libshmem has the function that is called instead.
func TestNames(t *testing.T) {
	build := need.Build(t)
	shim := exported(t, filepath.Join(build, "lib", "libshmem_preload.so"))
	library := exported(t, filepath.Join(build, "lib", "libshmem.so"))
	dir, version := header(t)
	n := 0
	for _, file := range []string{"shmem.h", "shmemx.h", "shmem-compat.h"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			n++
			if shim[m[1]] == notRedirected.MatchString(m[1]) {
				t.Errorf("Open MPI %s, %s: the shim has %s: %v", version, file, m[1], shim[m[1]])
			}
		}
	}
	if n < 800 {
		t.Errorf("only %d functions were found in %s", n, dir)
	}
	source, err := os.ReadFile("../../capi/preload/redirect_names.c")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`\{"(\w+)", "(\w+)"\}`).FindAllStringSubmatch(string(source), -1)
	if len(rows) < 100 {
		t.Errorf("only %d rows of names were found", len(rows))
	}
	for _, m := range rows {
		if !shim[m[1]] || library[m[1]] || !library[m[2]] {
			t.Errorf("%s is called as %s: the shim has the first %v, libshmem the first %v and the second %v", m[1], m[2], shim[m[1]], library[m[1]], library[m[2]])
		}
	}
}

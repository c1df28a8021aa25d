package nvshmem

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// newest is the release whose names the library has. Older releases have the same, and fewer.
const newest = "3.8.0"

// facts are the names, types and numbers of a release of NVSHMEM.
type facts struct {
	functions map[string]string // C++ type of a pointer to each
	exports   map[string]bool   // functions and data of its library
	constants map[string]string
	enum      map[string]bool // of constants, those of enumerations
	structs   map[string]int
	offsets   map[[2]string]int // by struct and field
}

func readFacts(t *testing.T, version string) facts {
	t.Helper()
	data, err := os.ReadFile("../../capi/spec/testdata/nvshmem-" + version + ".tsv")
	if err != nil {
		t.Fatal(err)
	}
	out := facts{map[string]string{}, map[string]bool{}, map[string]string{}, map[string]bool{}, map[string]int{}, map[[2]string]int{}}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch f[0] {
		case "function", "inline":
			out.functions[f[1]] = f[2] + " (*)(" + strings.ReplaceAll(f[3], ";", ",") + ")"
			out.exports[f[1]] = f[0] == "function"
		case "export":
			out.exports[f[1]] = true
		case "constant":
			out.constants[f[1]], out.enum[f[1]] = f[2], f[3] == "enum"
		case "struct":
			out.structs[f[1]] = number(f[2])
		case "field":
			out.offsets[[2]string{f[1], f[2]}] = number(f[3])
		default:
			if !strings.HasPrefix(line, "#") {
				t.Fatalf("%s: %q", version, line)
			}
		}
	}
	if len(out.functions) < 1400 || len(out.constants) < 60 || len(out.structs) < 7 {
		t.Fatalf("%s: %d functions, %d constants, %d structures", version, len(out.functions), len(out.constants), len(out.structs))
	}
	return out
}

// left are the names of the newest release that the library lacks.
type left struct {
	pattern *regexp.Regexp
	n       int
	found   []string
}

func readLeft(t *testing.T, file string) []*left {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []*left
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 || len(f[2]) < 10 {
			t.Fatalf(file+": %q is not a pattern, a number and a reason", line)
		}
		pattern, err := regexp.Compile("^(" + strings.ReplaceAll(f[0], "<T>", "[a-z0-9]+") + ")$")
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(f[1])
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, &left{pattern: pattern, n: n})
	}
	return out
}

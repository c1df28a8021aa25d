package repo

import (
	"bytes"
	"go/ast"
	"path"
	"regexp"
	"strings"
	"testing"
)

// environment lists the packages that may call these functions of package os. Elsewhere a setting
// would bypass the table: no documentation, no check of its value, no warning about a misspelt
// name.
var environment = map[string]map[string]string{
	"Getenv":    {},
	"LookupEnv": {},
	"ExpandEnv": {},
	"Environ": {
		"runtime/config":           "the reader",
		"runtime/bootstrap/launch": "hands the environment on to the PEs",
		"cmd/shmemrun":             "hands the environment on to the PEs",
		"cmd/shmem-info":           "hands its environment to runtime/config",
		"cmd/shmem-doctor":         "hands its environment to runtime/config",
	},
}

func TestEnvironment(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.pkg, "tests/") {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if !ok || (id.Name != "os" && id.Name != "syscall" && id.Name != "unix") {
				return true
			}
			if who, ok := environment[sel.Sel.Name]; ok && who[s.pkg] == "" && s.pkg != "runtime/config" {
				t.Errorf("%s: %s.%s: only runtime/config reads the environment (add a row to its table)", s.at(n), id.Name, sel.Sel.Name)
			}
			return true
		})
	}
	getenv := regexp.MustCompile(`\b(secure_)?getenv\s*\(`)
	for _, f := range files(t) {
		if (strings.HasSuffix(f.path, ".c") || strings.HasSuffix(f.path, ".h")) && !strings.Contains(f.path, "/testdata/") &&
			!strings.HasPrefix(f.path, "fabric/ofi/stub/lib/") && // in place of libfabric, which reads its own
			f.path != "capi/nvshmem/openshmem.c" && // reads before runtime/config is loaded
			f.path != "capi/front/launcher_abort.c" && // the same
			f.path != "capi/preload/mode_redirect.c" && // reads and sets what another library's programs set
			f.path != "capi/preload/settings.c" && // stands before any library, also one without runtime/config
			f.path != "fabric/ofi/load.c" && // sets libfabric's settings that are not set
			(strings.HasPrefix(f.path, "capi/") || strings.HasPrefix(f.path, "fabric/") || strings.HasPrefix(f.path, "include/")) {
			if at := getenv.FindIndex(f.data); at != nil {
				t.Errorf("%s:%d: getenv: only runtime/config reads the environment", f.path, lineOf(f.data, at[0]))
			}
		}
	}
}

func lineOf(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }

func TestPackageComments(t *testing.T) {
	documented, where := map[string]bool{}, map[string]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		where[s.pkg] = s.path
		if s.ast.Doc != nil && len(strings.Fields(s.ast.Doc.Text())) >= 5 {
			documented[s.pkg] = true
		}
	}
	for pkg, p := range where {
		if !documented[pkg] {
			t.Errorf("%s: package %s has no package comment (say what it owns and what it does not)", p, pkg)
		}
	}
}

// lines is the maximum number of lines of a hand-written file.
const lines = 500

// long lists the files that are longer, with the reason.
var long = map[string]string{
	"bench/oshm_micro.c": "one program, so that the same file builds against any OpenSHMEM",
}

func TestFileLength(t *testing.T) {
	for _, f := range files(t) {
		n := bytes.Count(f.data, []byte("\n"))
		switch path.Ext(f.path) {
		case ".go", ".c", ".h", ".py", ".sh", ".md", "":
			if !f.generated() && n > lines && long[f.path] == "" {
				t.Errorf("%s: %d lines, more than %d (split it by idea, or list it with a reason)", f.path, n, lines)
			}
		}
		if long[f.path] != "" && n <= lines {
			t.Errorf("%s: is listed as long and has %d lines", f.path, n)
		}
	}
}

// forbidden is the patterns that no file of the project may match. The words are put
// together here, so that this file does not contain them either.
var forbidden = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|HA` + `CK|X` + `XX)\b`), "says that something is unfinished: finish it, or open an issue"},
	{regexp.MustCompile(`(?i)not yet implem` + `ented|place` + `holder\b|lorem ip` + `sum`), "says that something is unfinished: a name that does not work is absent"},
	{regexp.MustCompile(`(^|[\s"'=(:])/(home|wo` + `rk|ro` + `ot|Users)/[a-zA-Z0-9_.]`), "is the path of one machine"},
	{regexp.MustCompile(`<<<<` + `<<< |>>>>` + `>>> `), "is a merge conflict"},
}

func TestContents(t *testing.T) {
	for _, f := range files(t) {
		if bytes.IndexByte(f.data, 0) >= 0 || f.path == "go.sum" {
			continue
		}
		for _, rule := range forbidden {
			if at := rule.pattern.FindIndex(f.data); at != nil {
				t.Errorf("%s:%d: %q %s", f.path, lineOf(f.data, at[0]), f.data[at[0]:at[1]], rule.why)
			}
		}
		if i := bytes.Index(f.data, []byte(" \n")); i >= 0 && path.Ext(f.path) != ".md" {
			t.Errorf("%s:%d: space at the end of the line", f.path, lineOf(f.data, i))
		}
		if n := len(f.data); n > 0 && f.data[n-1] != '\n' {
			t.Errorf("%s: the last line has no end", f.path)
		}
	}
}

// TestDecisions checks that all records have the same form.
func TestDecisions(t *testing.T) {
	name := regexp.MustCompile(`^docs/decisions/(\d{4})-[a-z0-9-]+\.md$`)
	seen := map[string]string{}
	for _, f := range files(t) {
		if !strings.HasPrefix(f.path, "docs/decisions/") || f.path == "docs/decisions/README.md" {
			continue
		}
		m := name.FindStringSubmatch(f.path)
		if m == nil {
			t.Errorf("%s: a decision is called NNNN-title.md", f.path)
			continue
		}
		if other := seen[m[1]]; other != "" {
			t.Errorf("%s has the number of %s", f.path, other)
		}
		seen[m[1]] = f.path
		for _, part := range []string{"## Question", "## Options", "## Choice", "## What would change it"} {
			if !bytes.Contains(f.data, []byte("\n"+part+"\n")) {
				t.Errorf("%s: has no part %q", f.path, part)
			}
		}
	}
	if len(seen) == 0 {
		t.Error("docs/decisions has no record")
	}
}

package repo

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The table under "Words" in docs/style.md gives each word of the project one meaning, and lists
// the names that it replaces. TestWords refuses those as names of packages, folders, files, types
// and functions. Keywords, builtins, local variables, members, public names and prose are free.

// retired is a name that the table refuses. How an entry is written is in docs/style.md.
type retired struct {
	entry  string
	folder string // where it is refused; "" means the whole tree
	kind   string // folder, file, or "" for every kind of name
	parts  []string
	within bool // refused as part of a longer name, too
}

// name is one name in the tree.
type name struct {
	text, path, kind string // kind is package, folder, file, type or function
	line             int
}

func TestWords(t *testing.T) {
	table := retiredNames(t)
	for _, n := range names(t) {
		for _, r := range table {
			if r.refuses(n) {
				t.Errorf("%s:%d: %s %s: docs/style.md retires %s (use the word of that row)", n.path, n.line, n.kind, n.text, r.entry)
				break
			}
		}
	}
}

// TestWordsRefuse holds the check itself to names that the table must refuse, and to others that
// look like them.
func TestWordsRefuse(t *testing.T) {
	for _, tt := range []struct {
		entry string
		name  name
		want  bool
	}{
		{"errand", name{text: "errand", kind: "type"}, true},
		{"errand", name{text: "Errand", kind: "function"}, true},
		{"errand", name{text: "shmemi_errand", kind: "function"}, true},
		{"errand", name{text: "_errand", kind: "function"}, true},
		{"errand", name{text: "errandText", kind: "function"}, false},
		{"errand", name{text: "shmem_errand", kind: "function"}, false},
		{"*errand*", name{text: "errandText", kind: "function"}, true},
		{"*errand*", name{text: "lastErrand", kind: "type"}, true},
		{"*card*", name{text: "discard", kind: "function"}, false},
		{"openStream", name{text: "open_stream", kind: "function"}, true},
		{"openStream", name{text: "OpenStream", kind: "function"}, true},
		{"pe/", name{text: "pe", kind: "package"}, true},
		{"pe/", name{text: "pe", kind: "folder"}, true},
		{"pe/", name{text: "pe", kind: "type"}, false},
		{"room.*", name{text: "room_test", kind: "file"}, true},
		{"room.*", name{text: "room", kind: "function"}, false},
		{"room.*", name{text: "zz_room", kind: "file"}, false},
		{"zz_room.*", name{text: "zz_room", kind: "file"}, true},
		{"stage_*", name{text: "stage_get", kind: "file"}, true},
		{"stage_*", name{text: "staging", kind: "file"}, false},
		{"stage_*", name{text: "stage_get", kind: "function"}, false},
		{"capi/front: set", name{text: "set", kind: "function", path: "capi/front/x.c"}, true},
		{"capi/front: set", name{text: "set", kind: "function", path: "capi/frontier/x.c"}, false},
	} {
		if got := parseRetired(tt.entry).refuses(tt.name); got != tt.want {
			t.Errorf("%s refuses %s %s in %q: %v, want %v", tt.entry, tt.name.kind, tt.name.text, tt.name.path, got, tt.want)
		}
	}
}

// retiredNames reads the table of docs/style.md.
func retiredNames(t *testing.T) (all []retired) {
	t.Helper()
	entry := regexp.MustCompile("`([^`]+)`")
	for _, f := range files(t) {
		if f.path != "docs/style.md" {
			continue
		}
		_, section, _ := strings.Cut(string(f.data), "\n## Words\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for row := range strings.Lines(section) {
			cells := strings.Split(strings.TrimSpace(row), "|")
			if len(cells) != 5 || strings.HasPrefix(cells[1], "-") || strings.TrimSpace(cells[1]) == "word" {
				continue
			}
			found := entry.FindAllStringSubmatch(cells[3], -1)
			if len(found) == 0 {
				t.Errorf("docs/style.md: the word%sretires nothing (name what it replaces)", cells[1])
			}
			for _, m := range found {
				all = append(all, parseRetired(m[1]))
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("docs/style.md has no table of words")
	}
	return all
}

func parseRetired(entry string) retired {
	r := retired{entry: entry}
	text := entry
	if folder, rest, ok := strings.Cut(entry, ": "); ok {
		r.folder, text = folder, rest
	}
	if rest, ok := strings.CutSuffix(text, "/"); ok {
		r.kind, text = "folder", rest
	} else if rest, ok := strings.CutSuffix(text, ".*"); ok {
		r.kind, text = "file", rest
	} else if rest, ok := strings.CutSuffix(text, "_*"); ok {
		r.kind, text, r.within = "file", rest, true
	} else if strings.HasPrefix(text, "*") && strings.HasSuffix(text, "*") {
		r.within, text = true, strings.Trim(text, "*")
	}
	r.parts = parts(text)
	return r
}

// public are the beginnings of names that programs know.
var public = regexp.MustCompile(`^_*(p?n?v?shmemx?_|p?n?v?SHMEMX?_)`)

// private are prefixes that the project gives to all names of a kind, and endings of files.
var (
	private = regexp.MustCompile(`^(_+|(nv)?shmemi_|(NV)?SHMEMI_)`)
	endings = regexp.MustCompile(`(_test|_unsafe|_linux|_cgo|_amd64|_arm64|_other)+$`)
)

func (r retired) refuses(n name) bool {
	if r.folder != "" && n.path != r.folder && !strings.HasPrefix(n.path, r.folder+"/") {
		return false
	}
	text := n.text
	switch {
	case public.MatchString(text):
		return false
	case r.kind == "folder" && n.kind != "folder" && n.kind != "package":
		return false
	case r.kind == "file" && n.kind != "file":
		return false
	case n.kind == "file":
		text = endings.ReplaceAllString(text, "")
	default:
		text = private.ReplaceAllString(text, "")
	}
	has := parts(text)
	switch {
	case r.kind == "file" && r.within:
		return len(has) > len(r.parts) && slices.Equal(has[:len(r.parts)], r.parts)
	case r.within:
		for i := range len(has) - len(r.parts) + 1 {
			if slices.Equal(has[i:i+len(r.parts)], r.parts) {
				return true
			}
		}
		return false
	}
	return slices.Equal(has, r.parts)
}

// parts splits a name into words in lower case: at capitals, and at characters that are no letter
// or digit.
func parts(text string) (all []string) {
	letters := []rune(text)
	begin := true
	for i, c := range letters {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			begin = true
			continue
		}
		if unicode.IsUpper(c) && i > 0 && (unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])) {
			begin = true
		}
		if begin {
			all = append(all, "")
		}
		begin = false
		all[len(all)-1] += string(unicode.ToLower(c))
	}
	return all
}

// names returns the names of the tree: of files and folders, and what Go, C and Python declare.
func names(t *testing.T) (all []name) {
	t.Helper()
	add := func(text, path, kind string, line int) { all = append(all, name{text, path, kind, line}) }
	seen := map[string]bool{}
	for _, f := range files(t) {
		stem, _, _ := strings.Cut(path.Base(f.path), ".")
		if path.Ext(f.path) != ".md" { // prose
			add(stem, f.path, "file", 1)
		}
		for dir := path.Dir(f.path); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			add(path.Base(dir), dir, "folder", 1)
		}
		if strings.HasPrefix(f.path, "include/") {
			continue // public
		}
		switch path.Ext(f.path) {
		case ".c", ".h", ".cu", ".cuh", ".cc":
			for _, kind := range []string{"function", "type"} {
				for _, at := range declared["c "+kind].FindAllSubmatchIndex(f.data, -1) {
					add(string(f.data[at[2]:at[3]]), f.path, kind, lineOf(f.data, at[2]))
				}
			}
		case ".py", ".pyi":
			for _, at := range declared["python"].FindAllSubmatchIndex(f.data, -1) {
				kind := map[string]string{"def": "function", "class": "type"}[string(f.data[at[2]:at[3]])]
				add(string(f.data[at[4]:at[5]]), f.path, kind, lineOf(f.data, at[4]))
			}
		}
	}
	for _, s := range sources(t) {
		add(strings.TrimSuffix(s.ast.Name.Name, "_test"), s.path, "package", s.at(s.ast.Name).Line)
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				add(d.Name.Name, s.path, "function", s.at(d.Name).Line)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						add(spec.Name.Name, s.path, "type", s.at(spec.Name).Line)
					}
				}
			}
		}
	}
	return all
}

// declared finds declarations. The formatter puts those of C at the beginning of a line.
var declared = map[string]*regexp.Regexp{
	"c function": regexp.MustCompile(`(?m)^[A-Za-z_][\w \t*]*?[ \t*]\*?(\w+)\(`),
	"c type":     regexp.MustCompile(`\b(?:struct|enum|union)\s+(\w+)\s*\{`),
	"python":     regexp.MustCompile(`(?m)^[ \t]*(def|class)[ \t]+(\w+)`),
}

// String is for reports of TestWordsRefuse.
func (n name) String() string { return fmt.Sprintf("%s %s", n.kind, n.text) }

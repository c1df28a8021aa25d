package repo

import (
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLinks follows each link of a page: the file has to be in the tree, and the heading in the
// file. Addresses of the web are not asked for: a test needs no network.
func TestLinks(t *testing.T) {
	tree := newTree(files(t))
	for _, page := range tree.pages {
		text := withoutCode(string(page.data))
		for _, at := range link.FindAllStringSubmatchIndex(text, -1) {
			target := text[at[2]:at[3]]
			if strings.Contains(target, "://") {
				continue
			}
			name, anchor, _ := strings.Cut(target, "#")
			full := page.path
			if name != "" {
				full = path.Join(path.Dir(page.path), name)
			}
			line := lineOf([]byte(text), at[0])
			if !tree.has(full) {
				t.Errorf("%s:%d: link to %s: the tree has no %s (correct the link)", page.path, line, target, full)
			} else if anchor != "" && !tree.anchors(full)[anchor] {
				t.Errorf("%s:%d: link to %s: %s has no heading of that name (correct the link)", page.path, line, target, full)
			}
		}
	}
}

// TestNamedFiles looks up the files that prose names: in pages each word in backticks that
// begins with a folder of the tree or is the name of a source file, elsewhere each docs/*.md.
func TestNamedFiles(t *testing.T) {
	tree := newTree(files(t))
	for _, page := range tree.pages {
		text := withoutBlocks(string(page.data))
		for _, at := range quoted.FindAllStringSubmatchIndex(text, -1) {
			name := strings.TrimSuffix(text[at[2]:at[3]], "/")
			if !tree.shouldHave(name) || tree.has(name) || tree.has(path.Join(path.Dir(page.path), name)) {
				continue
			}
			t.Errorf("%s:%d: names %s, which the tree does not have (correct the name)", page.path, lineOf([]byte(text), at[0]), name)
		}
	}
	for _, f := range tree.all {
		for _, at := range docsPage.FindAllSubmatchIndex(f.data, -1) {
			name := strings.ReplaceAll(string(f.data[at[2]:at[3]]), `\`, "")
			if !tree.has(name) {
				t.Errorf("%s:%d: names %s, which the tree does not have (correct the name)", f.path, lineOf(f.data, at[0]), name)
			}
		}
	}
}

// TestIndex checks that docs/README.md is complete: each page of docs has a line, and those of
// docs/decisions have theirs in the README.md of that folder.
func TestIndex(t *testing.T) {
	tree := newTree(files(t))
	linked := map[string]bool{}
	for _, page := range tree.pages {
		if path.Base(page.path) != "README.md" || !strings.HasPrefix(page.path, "docs/") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(string(page.data), -1) {
			name, _, _ := strings.Cut(m[1], "#")
			linked[path.Join(path.Dir(page.path), name)] = true
		}
	}
	for _, page := range tree.pages {
		if strings.HasPrefix(page.path, "docs/") && !heading.Match(page.data) {
			t.Errorf("%s: has no heading (a page says what it is about)", page.path)
		}
		if strings.HasPrefix(page.path, "docs/") && page.path != "docs/README.md" && !linked[page.path] {
			t.Errorf("%s: has no line in an index (add it to docs/README.md, a decision to docs/decisions/README.md)", page.path)
		}
	}
}

// TestColumns limits lines of pages to 100 columns, except tables, code and single links. The pages
// of bench/results are written by benchmarks.
func TestColumns(t *testing.T) {
	for _, page := range newTree(files(t)).pages {
		if strings.HasPrefix(page.path, "bench/results/") {
			continue
		}
		for i, line := range strings.Split(withoutBlocks(string(page.data)), "\n") {
			free := strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "![") || strings.HasPrefix(line, "<!--")
			if n := utf8.RuneCountInString(line); n > columns && !free {
				t.Errorf("%s:%d: %d columns, more than %d (break the line)", page.path, i+1, n, columns)
			}
		}
	}
}

// columns is how wide a page may be.
const columns = 100

var (
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	quoted   = regexp.MustCompile("`([A-Za-z0-9_.*/-]+)`")
	docsPage = regexp.MustCompile(`(?:^|[^a-z/._-])(docs/(?:[a-z0-9/-]+\\?\.(?:md|svg)|decisions/\d{4}))\b`)
	block    = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	heading  = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	decision = regexp.MustCompile(`^docs/decisions/\d{4}$`)
	notAName = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// withoutBlocks has blanks where text has blocks of code, so that lines keep their numbers.
func withoutBlocks(text string) string {
	return block.ReplaceAllStringFunc(text, func(s string) string {
		return strings.Repeat("\n", strings.Count(s, "\n"))
	})
}

var span = regexp.MustCompile("`[^`\n]*`")

// withoutCode leaves out code in sentences, too.
func withoutCode(text string) string { return span.ReplaceAllString(withoutBlocks(text), "") }

// A fileTree finds files by their names.
type fileTree struct {
	all, pages []file
	paths      map[string]bool // files and folders, from the root
	bases      map[string]bool // their last parts
	top        map[string]bool // folders of the root
}

func newTree(all []file) *fileTree {
	tr := &fileTree{all: all, paths: map[string]bool{}, bases: map[string]bool{}, top: map[string]bool{}}
	for _, f := range all {
		if path.Ext(f.path) == ".md" {
			tr.pages = append(tr.pages, f)
		}
		if first, _, deeper := strings.Cut(f.path, "/"); deeper {
			tr.top[first] = true
		}
		for p := f.path; p != "."; p = path.Dir(p) {
			tr.paths[p], tr.bases[path.Base(p)] = true, true
		}
	}
	return tr
}

// sourceFile matches names that only a file of this tree has.
var sourceFile = regexp.MustCompile(`^[a-z0-9_-]+(_test)?\.(go|md|svg|tsv|cuh)$`)

// shouldHave reports whether a page that names it means a file of the tree.
func (tr *fileTree) shouldHave(name string) bool {
	first, _, deeper := strings.Cut(name, "/")
	return deeper && tr.top[first] || !deeper && sourceFile.MatchString(name)
}

// has reports whether name, which may have stars, is a file or a folder; without a folder, in
// any folder. A program has the name of its source, and a decision its number.
func (tr *fileTree) has(name string) bool {
	if tr.paths[name] || tr.paths[name+".c"] || tr.paths[name+".cu"] || !strings.Contains(name, "/") && tr.bases[name] {
		return true
	}
	if decision.MatchString(name) {
		name += "-*.md"
	}
	if strings.Contains(name, "*") {
		for p := range tr.paths {
			if ok, err := path.Match(name, p); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// anchors returns the names that links give to the headings of a page.
func (tr *fileTree) anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, f := range tr.pages {
		if f.path != page {
			continue
		}
		for _, m := range heading.FindAllStringSubmatch(withoutBlocks(string(f.data)), -1) {
			name := notAName.ReplaceAllString(strings.ToLower(m[1]), "")
			all[strings.ReplaceAll(name, " ", "-")] = true
		}
	}
	return all
}

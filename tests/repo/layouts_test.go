package repo

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"libshmem/abi/table"
)

// The definitions of a layout or a number in C, and in Go.
var (
	cLayout = regexp.MustCompile(`\b(?:struct|enum)\s+shmemi_(\w+)\s*\{`)
	cDefine = regexp.MustCompile(`#\s*define\s+SHMEMI_(\w+)`)
	cEnum   = regexp.MustCompile(`\benum\b[^{};()]*\{([^}]*)\}`)
	comment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cValue  = regexp.MustCompile(`(?:^|,)\s*SHMEMI_(\w+)`)
	goType  = regexp.MustCompile(`(?m)^type (\w+) `)
)

// TestLayoutsStandOnce finds layouts and numbers of abi/table that a file has written down
// once more.
func TestLayoutsStandOnce(t *testing.T) {
	layouts, numbers, types := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range table.Structs {
		layouts[table.Structs[i].Name] = true
		types["queue."+table.Structs[i].Go] = true
	}
	for _, c := range table.Constants {
		numbers[c.Name] = true
	}
	for _, u := range table.Units() {
		folder := path.Dir(u.GoFile)
		if (u.GoFile == "") == (u.Alone == "") {
			t.Errorf("unit %s: one without Go says why in Alone, and no other", u.Name)
		}
		for _, c := range u.Constants {
			numbers[c.Name] = true
		}
		for i := range u.Enums {
			e := &u.Enums[i]
			if e.Name != "" {
				layouts[e.Name] = true
			}
			types[folder+"."+e.Go] = true
			for _, v := range e.Values {
				numbers[e.Prefix+v.Name] = true
			}
		}
		for i := range u.Structs {
			layouts[u.Structs[i].Name] = true
			types[folder+"."+u.Structs[i].Go] = true
		}
	}
	seen := 0
	for _, f := range files(t) {
		ext := path.Ext(f.path)
		if !strings.Contains(".c.h.cu.cuh.go", ext) || ext == "" {
			continue
		}
		tell := func(at int, what string) {
			if f.generated() {
				seen++
				return
			}
			t.Errorf("%s:%d: %s stands in abi/table already (include the header that comes of it)", f.path, lineOf(f.data, at), what)
		}
		for _, m := range cLayout.FindAllSubmatchIndex(f.data, -1) {
			if name := string(f.data[m[2]:m[3]]); layouts[name] {
				tell(m[0], "shmemi_"+name)
			}
		}
		for _, m := range cDefine.FindAllSubmatchIndex(f.data, -1) {
			if name := string(f.data[m[2]:m[3]]); numbers[name] {
				tell(m[0], "SHMEMI_"+name)
			}
		}
		for _, m := range cEnum.FindAllSubmatchIndex(f.data, -1) {
			body := comment.ReplaceAll(f.data[m[2]:m[3]], nil)
			for _, v := range cValue.FindAllSubmatch(body, -1) {
				if name := string(v[1]); numbers[name] {
					tell(m[0], "SHMEMI_"+name)
				}
			}
		}
		for _, m := range goType.FindAllSubmatchIndex(f.data, -1) {
			if name := path.Dir(f.path) + "." + string(f.data[m[2]:m[3]]); ext == ".go" && types[name] {
				tell(m[0], name)
			}
		}
	}
	if want := len(layouts) + len(numbers); seen < want {
		t.Errorf("%d definitions of %d layouts and numbers are in generated files: the test looks in the wrong place", seen, want)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/abi/table"
	"libshmem/tests/need"
)

const (
	root   = "../.."
	module = "libshmem/"
	wire   = "wire" // in place of a unit: the structs around the slots
)

// readersOf are sources that together name the members of a unit's structs: of C, and packages of
// Go besides the one that has the unit's file.
var readersOf = map[string]struct{ c, packages []string }{
	wire: {
		[]string{"capi/front/device.c", "capi/front/gpu.c", "capi/front/stream.c", "tests/gpu/colls.cu"},
		[]string{"queue", "runtime/job", "runtime/job/device", "runtime/onstream"},
	},
	"message":   {[]string{"capi/front/exchange.c", "runtime/proxy/fastpath/innerloop.c"}, []string{"runtime/proxy"}},
	"sequence":  {[]string{"runtime/proxy/fastpath/innerloop.c"}, []string{"runtime/proxy"}},
	"event":     {[]string{"runtime/proxy/fastpath/innerloop.c"}, []string{"runtime/proxy", "runtime/proxy/flight"}},
	"fastpath":  {[]string{"runtime/proxy/fastpath/innerloop.c"}, []string{"runtime/proxy", "runtime/proxy/flight"}},
	"native":    {c: []string{"runtime/proxy/fastpath/innerloop.c"}},
	"innerloop": {c: []string{"runtime/proxy/fastpath/innerloop.c"}},
	"fabric":    {[]string{"runtime/proxy/fastpath/innerloop.c"}, []string{"runtime/proxy"}},
	"statuspage": {[]string{"capi/front/caller.c", "capi/front/notify.c", "capi/front/processor.c", "capi/front/report.c", "capi/front/sleep.c", "capi/front/wait.c"},
		[]string{"cmd/shmem-info", "runtime/stats"}},
	"request": {[]string{"capi/front/remote.c"}, []string{"runtime/proxy"}},
	"store":   {[]string{"runtime/gpu/cuda/load.c"}, []string{"runtime/proxy/gpustage"}},
	"peek":    {[]string{"fabric/rail/peek/peek.c"}, []string{"fabric/rail"}},
	"control": {c: []string{"capi/front/activity.c", "capi/front/barrier.c", "capi/front/processor.c", "capi/front/sleep.c"}},
	"group":   {c: []string{"capi/rma/plugin.c", "capi/rma/queue.c"}},
	"archive": {c: []string{"capi/front/archive_state.c"}},
	"channel": {c: []string{"capi/front/archive_state.c"}},
	"state":   {c: []string{"capi/front/address.c", "capi/front/lifecycle.c", "capi/front/processor.c", "capi/front/statics.c"}},
}

// oneSided are structs whose members only one language names, and why.
var oneSided = map[string]string{
	"ring_near":       "producers alone have it; Go makes room for it",
	"device_report":   "of C, what a GPU runs alone names it, which this test does not compile",
	"sequence_space":  "C has it within a sequence_out, and leaves it alone",
	"long_wait":       "C alone notes a wait, and reports it",
	"activity":        "as long_wait",
	"static":          "C alone finds the program's variables",
	"archive_team":    "device code of NVIDIA's reads it",
	"archive_coll":    "as archive_team",
	"archive_state":   "as archive_team",
	"archive_recexch": "as archive_team",
	"cuda_copy":       "the C that names its members is in a header of cgo's (runtime/gpu/cuda/copies.h)",
}

// elsewhere are members that other files name than those of readersOf, with these files.
var elsewhere = map[string]string{
	"fastpath.batching":     "capi/core/core.c, which uses cgo's header",
	"device_report.claimed": "device/shmem/fault.h, on a GPU",
	"stream_call.call":      "device/kernels",
}

// copied are the folders that those sources of C include.
var copied = []string{"abi", "capi/front", "capi/rma", "device", "fabric/rail/peek", "include", "runtime/gpu/cuda", "runtime/proxy/fastpath",
	"tests/device/emulated", "tests/gpu"}

// TestRemoval takes the members out of each struct of the table, generates, and holds that neither
// C nor Go compiles any more, and that each member is missed. All members of a struct are out at
// once, because both compilers name each one that they miss: that takes two calls of them for a
// struct, not for a member. Neither links, and Go takes imported packages as they were compiled
// before.
func TestRemoval(t *testing.T) {
	c, g := newC(t), newGo(t)
	all := unitsStructs()
	for _, unit := range slices.Sorted(maps.Keys(all)) {
		structs, readers := all[unit], readersOf[unit]
		for i := range structs {
			s := &structs[i]
			t.Run(s.Name, func(t *testing.T) {
				members := s.Members
				s.Members = nil
				defer func() { s.Members = members }()
				inGo := g.misses(t, unit, readers.packages)
				inC := c.misses(t, readers.c, func(inC map[string]bool) bool { return settled(s, members, inC, inGo) })
				judge(t, s, members, inC, inGo)
			})
		}
	}
	if in := c.misses(t, []string{"runtime/proxy/fastpath/innerloop.c"}, nil); len(in) > 0 {
		t.Errorf("C misses %v of the table as it is", in)
	}
	if in := g.misses(t, "sequence", nil); len(in) > 0 {
		t.Errorf("Go misses %v of the table as it is", in)
	}
}

// settled reports whether further sources of C cannot change what judge says: they can only miss
// more.
func settled(s *table.Struct, members []table.Member, inC, inGo map[string]bool) bool {
	cHas, goHas := false, false
	for i := range members {
		m := &members[i]
		c, g := inC[m.Name], inGo[goName(s, m)]
		cHas, goHas = cHas || c, goHas || g
		_, ok := elsewhere[s.Name+"."+m.Name]
		if ok || !c && !g && m.Name != "unused" && m.Name != "reserved" {
			return false
		}
	}
	return cHas && goHas
}

// judge compares the members of a struct that the two languages miss.
func judge(t *testing.T, s *table.Struct, members []table.Member, inC, inGo map[string]bool) {
	t.Helper()
	cHas, goHas := false, false
	for i := range members {
		m := &members[i]
		c, g := inC[m.Name], inGo[goName(s, m)]
		cHas, goHas = cHas || c, goHas || g
		if m.Name == "unused" || m.Name == "reserved" {
			continue
		}
		if _, ok := elsewhere[s.Name+"."+m.Name]; (c || g) == ok {
			t.Errorf("%s: C misses it %v, Go misses it %v, elsewhere has it %v", m.Name, c, g, ok)
		}
	}
	if _, ok := oneSided[s.Name]; ok == (cHas && goHas) || !cHas && !goHas {
		t.Errorf("C misses some of its members %v, Go %v; oneSided has it %v", cHas, goHas, ok)
	}
}

// unitsStructs returns the structs of each unit.
func unitsStructs() map[string][]table.Struct {
	all := map[string][]table.Struct{wire: table.Structs}
	for _, u := range table.Units() {
		if len(u.Structs) > 0 {
			all[u.Name] = u.Structs
		}
	}
	return all
}

// cTree is a copy of the C sources, with the headers that are generated from the table as it is.
type cTree struct {
	dir     string
	written map[string]string
}

func newC(t *testing.T) *cTree {
	t.Helper()
	c := &cTree{t.TempDir(), map[string]string{}}
	for _, folder := range copied {
		if err := os.CopyFS(filepath.Join(c.dir, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

var missedInC = regexp.MustCompile(`has no member named '(\w+)'`)

// misses returns the members that sources name and that do not exist. The last sources are left out
// when those before them are enough.
func (c *cTree) misses(t *testing.T, sources []string, enough func(missed map[string]bool) bool) map[string]bool {
	t.Helper()
	for _, f := range headers() {
		if c.written[f.Path] == f.Text {
			continue
		}
		c.written[f.Path] = f.Text
		if err := os.WriteFile(filepath.Join(c.dir, f.Path), []byte(f.Text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	missed := map[string]bool{}
	for i, source := range sources {
		if i > 0 && enough(missed) {
			break
		}
		compiler, flags := "gcc", []string{"-std=gnu11", "-Iruntime/proxy/fastpath"}
		if path.Ext(source) == ".cu" { // as tests/device compiles it for the host
			compiler, flags = "g++", []string{"-std=c++17", "-x", "c++", "-DEMULATED", "-Itests/device/emulated", "-I" + filepath.Join(need.Folder(t), "gen", "gpu")}
		}
		cmd := exec.Command(compiler, append(flags, "-fsyntax-only", "-w", "-Iabi", "-Idevice", "-Iinclude", `-DSHMEMI_VERSION=""`, source)...)
		cmd.Dir, cmd.Env = c.dir, append(os.Environ(), "LC_ALL=C")
		text, err := cmd.CombinedOutput()
		hits := missedInC.FindAllSubmatch(text, -1)
		if err != nil && len(hits) == 0 {
			t.Errorf("%s: %v\n%s", source, err, text)
		}
		for _, hit := range hits {
			missed[string(hit[1])] = true
		}
	}
	return missed
}

// goTree is the Go sources: the syntax of packages, and the exports of others.
type goTree struct {
	fset     *token.FileSet
	exports  map[string]string
	packages map[string]map[string]*ast.File // by folder and name of the file
}

func newGo(t *testing.T) *goTree {
	t.Helper()
	var folders []string
	for _, u := range table.Units() {
		folders = append(folders, path.Dir(u.GoFile))
	}
	for _, r := range readersOf {
		folders = append(folders, r.packages...)
	}
	args := []string{"list", "-export", "-compiled", "-deps", "-json=ImportPath,Export,Dir,CompiledGoFiles"}
	for _, folder := range folders {
		args = append(args, module+folder)
	}
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	g := &goTree{token.NewFileSet(), map[string]string{}, map[string]map[string]*ast.File{}}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Export, Dir string
			CompiledGoFiles         []string // of cgo: the files that it makes
		}
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			return g
		} else if err != nil {
			t.Fatal(err)
		}
		g.exports[p.ImportPath] = p.Export
		folder, own := strings.CutPrefix(p.ImportPath, module)
		if !own || !slices.Contains(folders, folder) {
			continue
		}
		g.packages[folder] = map[string]*ast.File{}
		for _, name := range p.CompiledGoFiles {
			if !filepath.IsAbs(name) {
				name = filepath.Join(p.Dir, name)
			}
			if g.packages[folder][filepath.Base(name)], err = parser.ParseFile(g.fset, name, nil, parser.SkipObjectResolution); err != nil {
				t.Fatal(err)
			}
		}
	}
}

var missedInGo = regexp.MustCompile(`has no field or method (\w+)|unknown field (\w+)`)

// misses returns the members that packages name and that do not exist. The package that has the
// unit's file comes before its importers, and they see it without the members.
func (g *goTree) misses(t *testing.T, unit string, packages []string) map[string]bool {
	t.Helper()
	file, text := "queue/zz_wire.go", wireGo()
	for _, u := range table.Units() {
		if u.Name == unit && u.Alone != "" {
			return nil
		}
		if u.Name == unit {
			file, text = u.GoFile, unitGo(u)
			packages = append([]string{path.Dir(file)}, packages...)
		}
	}
	made, err := parser.ParseFile(g.fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	missed := map[string]bool{}
	owner := types.NewPackage("", "")
	compiled := importer.ForCompiler(g.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(g.exports[path]) })
	for _, folder := range packages {
		files := maps.Clone(g.packages[folder])
		if folder == path.Dir(file) {
			files[path.Base(file)] = made
		}
		config := types.Config{
			Importer: importerFunc(func(path string) (*types.Package, error) {
				if path == owner.Path() {
					return owner, nil
				}
				return compiled.Import(path)
			}),
			Error: func(err error) {
				if hit := missedInGo.FindStringSubmatch(err.Error()); hit != nil {
					missed[hit[1]+hit[2]] = true
				}
			},
		}
		checked, _ := config.Check(module+folder, g.fset, slices.Collect(maps.Values(files)), nil)
		if folder == path.Dir(file) {
			owner = checked
		}
	}
	return missed
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

package main

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"libshmem/capi/spec"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew")

// oneRow returns everything that a single row makes.
func oneRow(t *testing.T, f *spec.Family) string {
	var b strings.Builder
	section := func(name string) { b.WriteString("==== " + name + "\n") }
	section("include/shmem.h")
	familyHeader(&b, f)
	section("capi/front")
	for _, fn := range f.Functions() {
		if f.Reduce != "" {
			writeReducer(&b, fn)
		}
		b.WriteString("\n" + prototype(fn) + "\n{\n" + body(fn) + "}\n")
	}
	section("tests/c")
	for _, fn := range f.Functions() {
		checkCall(&b, fn)
		b.WriteString(checkRow(fn))
	}
	var m pythonModule
	if err := m.add(f); err != nil {
		t.Fatal(err)
	}
	if m.body != "" {
		section("python")
		b.WriteString(m.prelude() + m.body)
	}
	return b.String()
}

// TestRow shows a reviewer, in the diff of its golden file, what a change of
// the generator does. The row has every feature and few types.
func TestRow(t *testing.T) {
	of := func(names ...string) []spec.Type {
		var out []spec.Type
		for _, typ := range spec.SummedTypes {
			for _, n := range names {
				if typ.Name == n {
					out = append(out, typ)
				}
			}
		}
		return out
	}
	for name, f := range map[string]*spec.Family{
		"swap": {
			Name: "atomic_swap", Section: "SHMEM_ATOMIC_SWAP", Since: "0.1",
			Types: of("float", "uint64"), Variants: spec.Nbi, Contexts: true, Result: "T",
			Params: []spec.Param{
				{Name: "fetch", C: "T *", Role: spec.Result, Nbi: true},
				{Name: "dest", C: "T *", Role: spec.Updated},
				{Name: "value", C: "T", Doc: "what it becomes"},
				{Name: "pe", C: "int", Doc: "number of a PE"},
			},
			Front:    "back(shmemi_amo$W($ctx, SHMEMI_AMO_SWAP, dest, bits(value), 0, pe, $call))",
			FrontNbi: "shmemi_amo$W_nbi($ctx, SHMEMI_AMO_SWAP, fetch, dest, bits(value), 0, pe, $call)",
			Doc:      "Writes an object and tells what it was.", DocNbi: "After the next quiet.",
			Returns: "The old value.", Errors: "Ends the job when pe is not a PE.", Order: "None.",
			Check:  spec.CheckAtomic,
			Python: &spec.Python{Doc: "Write an element and return the value before.", Returns: "The value before.", DocNbi: "After the next quiet."},
		},
		"put_signal": {
			Name: "put_signal", Section: "SHMEM_PUT_SIGNAL", Since: "0.1",
			Types: of("longdouble"), Variants: spec.Nbi | spec.Sized | spec.Mem,
			Params: []spec.Param{
				{Name: "dest", C: "T *", Role: spec.Written},
				{Name: "source", C: "const T *", Role: spec.Source},
				{Name: "nelems", C: "size_t", Unit: "elements", Doc: "to copy"},
			},
			Front: "shmemi_put$nbi(dest, source, $nbytes, $call)",
			Doc:   "Copies an array.", DocNbi: "After the next quiet.",
			Check: spec.CheckSignal,
		},
		"sum": {
			Name: "sum_reduce", Section: "SHMEM_REDUCTIONS", Since: "0.1",
			Types: of("int", "complexd"), Result: "int",
			Params: []spec.Param{{Name: "nreduce", C: "size_t", Unit: "elements", Doc: "of each array"}},
			Front:  "shmemi_reduce(nreduce, &$reducer, $call)", Reduce: "a + b",
			Doc: "Adds.", Returns: "0.", Check: spec.CheckCombine,
		},
	} {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", name+".golden")
			got := oneRow(t, f)
			if *rewrite {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s is out of date (run: go test ./capi/gen -rewrite)\n%s", golden, got)
			}
		})
	}
}

// TestClean is what `make check` runs: the committed files are the table's.
func TestClean(t *testing.T) {
	if err := run(filepath.Join("..", ".."), true); err != nil {
		t.Error(err)
	}
}

// genericLine returns a line of the list of generic names: what chooses among functions of the
// types, or, without types, the function itself.
func genericLine(name string, fn spec.Function) string {
	var args, types []string
	for _, p := range fn.Params() {
		if c, ok := strings.CutSuffix(p.C, "T *"); ok {
			args = append(args, c+"TYPE *")
		} else if p.C == "T" {
			args = append(args, "TYPE")
		} else {
			args = append(args, p.C)
		}
	}
	for _, t := range fn.Family.Types {
		types = append(types, t.Name)
	}
	status, ctx := "current", "-"
	if fn.Family.Instead != "" {
		status = "deprecated"
	}
	if fn.Family.Contexts {
		ctx = "ctx"
	}
	return strings.Join([]string{name, status, ctx, strings.Join(args, ", "), cmp.Or(strings.Join(types, " "), "-")}, "\t")
}

// wider reports whether a line is one of a list but for more types. The text gives the eight
// deprecated atomic operations three or five types; the header takes all types of their newer
// names, because functions of all of them are exported.
func wider(line string, list map[string]bool) bool {
	form, types, _ := cutTypes(line)
	for other := range list {
		otherForm, fewer, deprecated := cutTypes(other)
		if deprecated && otherForm == form && !slices.ContainsFunc(fewer, func(t string) bool { return !slices.Contains(types, t) }) {
			return true
		}
	}
	return false
}

// anyWider reports whether a list has a line but for more types.
func anyWider(list map[string]bool, line string) bool {
	one := map[string]bool{line: true}
	for other := range list {
		if wider(other, one) {
			return true
		}
	}
	return false
}

func cutTypes(line string) (form string, types []string, deprecated bool) {
	i := strings.LastIndexByte(line, '\t')
	return line[:i], strings.Fields(line[i:]), strings.Contains(line, "\tdeprecated\t")
}

// TestGenerics holds the generic names, the types of their arguments and the types that select
// against the list of the specification's.
func TestGenerics(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", genericList))
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 6 || !strings.HasSuffix(fields[5], ".tex") {
			t.Fatalf("%s: %q does not end with the page of the text", genericList, line)
		}
		wanted[strings.Join(fields[:5], "\t")] = true
	}
	if len(wanted) < 76 {
		t.Fatalf("%s has %d lines", genericList, len(wanted))
	}
	there := map[string]bool{}
	for _, forms := range allGenericForms(spec.Shmem) {
		for _, fn := range forms {
			there[genericLine("shmem_"+generic(forms[0]), fn)] = true
		}
	}
	for _, fn := range untyped(spec.Shmem) {
		there[genericLine(fn.Name, fn)] = true
	}
	for _, c := range spec.Shmem.Chapters() {
		for i := range c.Families {
			functions := c.Families[i].Functions()
			if len(functions) == 0 {
				continue // only kernels and streams have it
			}
			fn := functions[0]
			switch fn.Name {
			case "shmem_team_sync": // which the macro chooses for one argument
				there[genericLine("shmem_sync", fn)] = true
			case "shmem_global_exit": // the function serves C11 too
				there[genericLine(fn.Name, fn)] = true
			}
		}
	}
	for line := range wanted {
		if !there[line] && !anyWider(there, line) {
			t.Errorf("of the specification's generic names the header lacks %s", line)
		}
	}
	for line := range there {
		if !wanted[line] && !wider(line, wanted) {
			t.Errorf("not a generic name of OpenSHMEM 1.6: %s", line)
		}
	}
	names := genericNames(spec.Shmem)
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			t.Errorf("%s: two rows make this macro", name)
		}
	}
}

// TestUntested has every name tested, and then one less.
func TestUntested(t *testing.T) {
	tested, err := namesCalled(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if err := checkAllTested(tested); err != nil {
		t.Error(err)
	}
	delete(tested, "shmem_set_lock")
	if err := checkAllTested(tested); err == nil || !strings.Contains(err.Error(), "test shmem_set_lock: no program") {
		t.Errorf("a name that no program calls gives %v", err)
	}
}

// TestHeaderConstants: the header defines each constant, handle and type of the
// specification.
func TestHeaderConstants(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "spec", "testdata", "constants.txt"))
	if err != nil {
		t.Fatal(err)
	}
	text, n := header(spec.Shmem), 0
	for line := range strings.Lines(string(data)) {
		name := strings.TrimSpace(line)
		if strings.HasPrefix(name, "#") {
			continue
		}
		n++
		if !strings.Contains(text, "\n#define "+name+" ") && !regexp.MustCompile(`(typedef [^;]* |\n} )`+name+`;`).MatchString(text) {
			t.Errorf("%s is not defined", name)
		}
	}
	if n < 58 {
		t.Errorf("the list has %d names", n)
	}
}

// TestCheck makes sure that -check sees a changed, a missing and a left-over
// file, and that writing repairs all three.
func TestCheck(t *testing.T) {
	root := t.TempDir()
	// What it reads, with the programs that call functions without a check.
	for _, name := range []string{filepath.Dir(standardList), "tests/c"} {
		if err := os.CopyFS(filepath.Join(root, name), os.DirFS(filepath.Join("..", "..", name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	header := filepath.Join(root, "include", "shmem.h")
	left := filepath.Join(root, "device", "shmem", "zz_gone.h")
	for name, damage := range map[string]func() error{
		"changed":   func() error { return os.WriteFile(header, []byte("/* by hand */\n"), 0o644) },
		"missing":   func() error { return os.Remove(header) },
		"left over": func() error { return os.WriteFile(left, []byte(banner("/* ", " */")), 0o644) },
	} {
		if err := run(root, true); err != nil {
			t.Fatalf("before %s: %v", name, err)
		}
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if err := run(root, true); err == nil {
			t.Errorf("-check did not see a file that was %s", name)
		}
		if err := run(root, false); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBuildFiles: writing again leaves the times of files whose text is the same, by which make
// knows what to build, and removes a file that the table no longer makes.
func TestBuildFiles(t *testing.T) {
	dir := t.TempDir()
	if err := writeMade(dir); err != nil {
		t.Fatal(err)
	}
	same, changed := filepath.Join(dir, "c", "zz_rma.c"), filepath.Join(dir, "front", "zz_libshmem.map")
	left := filepath.Join(dir, "front", "zz_profiled_gone.h")
	for path, text := range map[string]string{changed: "/* by hand */\n", left: banner("/* ", " */")} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-time.Hour)
	for _, path := range []string{same, changed} {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeMade(dir); err != nil {
		t.Fatal(err)
	}
	for path, old := range map[string]bool{same: true, changed: false} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Since(info.ModTime()) > time.Minute; got != old {
			t.Errorf("%s: left as it was: %v, want %v", path, got, old)
		}
	}
	if _, err := os.Stat(left); err == nil {
		t.Errorf("%s is still there", left)
	}
}

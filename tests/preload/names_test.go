package preload

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"libshmem/capi/spec"
	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// elsewhere reports whether no header of this tree declares a function.
func elsewhere(fn spec.Function) bool { return fn.Family.Front == "elsewhere" }

// functions returns all host functions of a surface, each once.
func functions(s *spec.Surface) []spec.Function {
	var families []spec.Family
	for _, c := range s.Chapters() {
		families = append(families, c.Families...)
	}
	families = append(families, s.Extensions()...)
	if s == spec.Shmem {
		families = append(families, spec.OtherLibraries...)
	} else {
		families = append(families, spec.OtherNvshmem...)
	}
	var out []spec.Function
	seen := map[string]bool{}
	for i := range families {
		for _, fn := range families[i].Functions() {
			if !seen[fn.Name] {
				seen[fn.Name] = true
				out = append(out, fn)
			}
		}
	}
	return out
}

// called returns the functions that a test calls: all in make test-full, and on each push one of
// each family, form and kind of element, which have the same code but for the number.
func called(s *spec.Surface) []spec.Function {
	all := functions(s)
	if !need.Left("preload") {
		return all
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(fn spec.Function) bool {
		width := 0
		if strings.Contains(fn.Result(), "T") || slices.ContainsFunc(fn.Params(), func(p spec.Param) bool { return p.C == "T" }) {
			width = fn.Type.Bits // of a register
		}
		key := fmt.Sprint(fn.Family.Name, fn.Family.Suffix, fn.Family.X, fn.Family.Section, fn.Nbi, fn.Ctx, fn.Form, fn.Type.Kind, width)
		was := seen[key]
		seen[key] = true
		return was
	})
}

// TestExported: the shim has every function of the table, each once, and beyond them only dlsym; none
// has a version.
func TestExported(t *testing.T) {
	file, err := elf.Open(shim(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			got = append(got, s.Name)
		}
		if s.Section != elf.SHN_UNDEF && s.Version != "" {
			t.Errorf("%s has version %s", s.Name, s.Version)
		}
	}
	// Names of other libraries, which mode redirect serves or refuses; and what says that it is on.
	want := strings.Fields(`dlsym nvshmemid_init_status shmem_preload_redirects shmem_sync_deprecated shmemx_malloc_with_hint
		shmem_int_and_reduce shmem_int_or_reduce shmem_int_xor_reduce
		shmem_longlong_and_reduce shmem_longlong_or_reduce shmem_longlong_xor_reduce`)
	for _, s := range spec.Surfaces {
		for _, fn := range functions(s) {
			want = append(want, fn.Name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		have, expect := map[string]bool{}, map[string]bool{}
		for _, name := range got {
			have[name] = true
		}
		for _, name := range want {
			expect[name] = true
			if !have[name] {
				t.Errorf("%s is not exported", name)
			}
		}
		for _, name := range got {
			if !expect[name] {
				t.Errorf("%s is exported", name)
			}
		}
	}
	if len(want) < 4000 {
		t.Errorf("%d functions: the table has more", len(want))
	}
}

// cType returns the type of a parameter or a result.
func cType(c string, t spec.Type) string {
	switch {
	case c == "T":
		return t.C
	case strings.HasSuffix(c, "T *"):
		return strings.TrimSuffix(c, "T *") + t.C + " *"
	case c == "":
		return "void"
	}
	return c
}

// isHalf reports whether C passes a type by its bits.
func isHalf(t spec.Type) bool { return t.Kind == spec.Late || t.Kind == spec.Half }

// value returns the argument at a place, as C text: each place has another one, and pointers lead
// nowhere, so that a shim that follows one is noticed.
func value(p spec.Param, t spec.Type, at int) string {
	c := cType(p.C, t)
	switch {
	case strings.Contains(c, "*"):
		return fmt.Sprintf("(%s)%#x", c, 0x1000*(at+1))
	case p.C == "T" && isHalf(t):
		return fmt.Sprintf("(%s){%d}", t.C, 60+at)
	case strings.HasSuffix(c, "handler_t"):
		return fmt.Sprintf("(%s)%#x", c, 0x1000*(at+1))
	}
	return fmt.Sprintf("(%s)%d", c, 3+at)
}

// equal returns a C condition: an argument is the value.
func equal(p spec.Param, t spec.Type, at int) string {
	if p.C == "T" && isHalf(t) {
		return fmt.Sprintf("a%d.bits == %d", at, 60+at)
	}
	return fmt.Sprintf("a%d == %s", at, value(p, t, at))
}

// answers are the results of functions that the shim itself calls, too; the others are called by the
// program alone, and return 77, of which the shim must make nothing.
var answers = map[string]string{"my_pe": "0", "n_pes": "1", "_my_pe": "0", "_num_pes": "1", "team_n_pes": "-1"}

func result(fn spec.Function) string {
	c := cType(fn.Result(), fn.Type)
	switch {
	case c == "void":
		return ""
	case fn.Result() == "T" && isHalf(fn.Type):
		return fmt.Sprintf("(%s){77}", c)
	case strings.Contains(c, "*"):
		return fmt.Sprintf("(%s)0x77000", c)
	case answers[fn.Family.Name] != "":
		return answers[fn.Family.Name]
	}
	return fmt.Sprintf("(%s)77", c)
}

func resultIs(fn spec.Function) string {
	if fn.Result() == "T" && isHalf(fn.Type) {
		return "r.bits == 77"
	}
	return "r == " + result(fn)
}

const named = `
struct __half { unsigned short bits; };
struct __nv_bfloat16 { unsigned short bits; };
#define SHMEM_ALLOW_DEPRECATED
#include <shmem.h>
#include <shmemx.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>
#undef shmem_sync
#undef shmem_wait_until
#undef shmem_signal_set
#undef shmem_signal_add
`

// sources declares, defines and calls all functions of a surface.
func sources(t *testing.T, s *spec.Surface, dir string) (library, program string) {
	t.Helper()
	var lib, prog strings.Builder
	lib.WriteString(named)
	prog.WriteString(named + "static int bad;\n")
	if s == spec.Shmem {
		lib.WriteString("#include <stdarg.h>\n")
	}
	var calls strings.Builder
	for i, fn := range called(s) {
		var params, arguments, checks []string
		for at, p := range fn.Params() {
			if p.C == "" {
				params, arguments = append(params, "..."), append(arguments, "8")
				continue
			}
			params = append(params, cType(p.C, fn.Type)+fmt.Sprintf(" a%d", at))
			arguments = append(arguments, value(p, fn.Type, at))
			checks = append(checks, equal(p, fn.Type, at))
		}
		if len(params) == 0 {
			params = []string{"void"}
		}
		own := answers[fn.Family.Name] != ""
		if len(checks) == 0 || own {
			checks = []string{"1"}
		}
		head := fmt.Sprintf("%s (%s)(%s)", cType(fn.Result(), fn.Type), fn.Name, strings.Join(params, ", "))
		if elsewhere(fn) {
			prog.WriteString(head + ";\n")
		}
		again := ""
		if own {
			again = "= 1; //"
		}
		back := result(fn)
		fmt.Fprintf(&lib, "%s\n{\n    if (!(%s))\n        fprintf(stderr, \"%s: wrong arguments\\n\");\n", head, strings.Join(checks, " && "), fn.Name)
		fmt.Fprintf(&lib, "    extern char reached_%s[];\n    reached_%s[%d]%s++;\n", s.Name, s.Name, i, again)
		if back != "" {
			fmt.Fprintf(&lib, "    return %s;\n", back)
		}
		lib.WriteString("}\n")
		if fn.Family.Name == "global_exit" { // the compiler takes it for the end
			fmt.Fprintf(&calls, "    void (*volatile end)(int) = %s;\n    end(%s);\n", fn.Name, arguments[0])
			continue
		}
		call := fmt.Sprintf("(%s)(%s)", fn.Name, strings.Join(arguments, ", "))
		if back == "" {
			fmt.Fprintf(&calls, "    %s;\n", call)
		} else {
			fmt.Fprintf(&calls, "    {\n        %s r = %s;\n        if (!(%s))\n            bad += printf(\"%s: wrong result\\n\");\n    }\n",
				cType(fn.Result(), fn.Type), call, resultIs(fn), fn.Name)
		}
	}
	fmt.Fprintf(&lib, "char reached_%s[%d];\n", s.Name, len(called(s)))
	fmt.Fprintf(&prog, "int main(void)\n{\n%s    extern char reached_%s[];\n    for (int i = 0; i < %d; i++)\n"+
		"        if (reached_%s[i] != 1)\n            bad += printf(\"function %%d was reached %%d times\\n\", i, reached_%s[i]);\n    return bad != 0;\n}\n",
		calls.String(), s.Name, len(called(s)), s.Name, s.Name)
	library, program = filepath.Join(dir, s.Name+"-library.c"), filepath.Join(dir, s.Name+"-program.c")
	for file, text := range map[string]string{library: lib.String(), program: prog.String()} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return library, program
}

// moved returns how many bytes a call with these arguments moves, worked out here from the row
// alone.
func moved(fn spec.Function) (bytes uint64, has bool) {
	size := uint64(fn.Type.Bits / 8)
	if fn.Type.C == "" {
		size = 1
	}
	n := uint64(0)
	for at, p := range fn.Params() {
		if strings.Contains(p.C, "*") { // what a receive returns
			continue
		}
		switch p.Name {
		case "nelems", "nreduce", "nblocks", "nbytes":
			n = max(n, 1) * uint64(3+at)
		case "bsize":
			n = max(n, 1) * uint64(3+at)
		}
	}
	return n * size, n > 0
}

// TestNames: every host function of OpenSHMEM and of NVSHMEM goes through the shim with its
// arguments and its result, and is in the trace once, with PE and bytes.
func TestNames(t *testing.T) {
	lib := shim(t)
	for _, s := range spec.Surfaces {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			library, program := sources(t, s, dir)
			so, exe := filepath.Join(dir, "libfake.so"), filepath.Join(dir, "all")
			flags := []string{"-std=gnu11", "-w", "-O0", "-fno-builtin", "-I../../include", "-I../../include/nvshmem"}
			cc.Run(t, cc.C(), append(flags, "-shared", "-fPIC", library, "-o", so)...)
			cc.Run(t, cc.C(), append(flags, program, "-o", exe, so, "-Wl,-rpath,"+dir)...)
			if out := (job{env: []string{"LD_PRELOAD="}}).run(t, exe); out != "" {
				t.Fatalf("without the shim:\n%.2000s", out)
			}
			if out := (job{env: []string{"LD_PRELOAD=" + lib, "SHMEM_PRELOAD=trace,file=" + dir}}).run(t, exe); out != "" {
				t.Fatalf("with the shim:\n%.2000s", out)
			}
			compare(t, s, read(t, filepath.Join(dir, "0.json"), true))
		})
	}
}

func compare(t *testing.T, s *spec.Surface, p part) {
	t.Helper()
	at := map[string]event{}
	var twice []string
	for _, e := range p.calls {
		if _, there := at[e.Name]; there {
			twice = append(twice, e.Name)
		}
		at[e.Name] = e
	}
	sort.Strings(twice)
	if len(twice) > 0 || p.Lost != 0 || p.NPEs != 1 {
		t.Errorf("twice in the trace: %q; lost %d, %d PEs", twice, p.Lost, p.NPEs)
	}
	all := called(s)
	for _, fn := range all {
		e, there := at[fn.Name]
		if !there {
			t.Errorf("%s is not in the trace", fn.Name)
			continue
		}
		for place, param := range fn.Params() {
			if param.Name == "pe" && !strings.Contains(param.C, "*") && (e.Args.PE == nil || *e.Args.PE != 3+place) {
				t.Errorf("%s: pe is %v, and not %d", fn.Name, e.Args.PE, 3+place)
			}
		}
		if bytes, has := moved(fn); has && (e.Args.Bytes == nil || *e.Args.Bytes != bytes) {
			t.Errorf("%s: bytes are %v, and not %d", fn.Name, e.Args.Bytes, bytes)
		}
	}
	t.Logf("%d functions of %d", len(all), len(functions(s)))
}

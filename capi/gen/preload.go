package main

import (
	"fmt"
	"slices"
	"strings"

	"libshmem/capi/spec"
)

// This file generates the C of libshmem_preload.so, the shim that LD_PRELOAD puts before a SHMEM
// library in the loader's search order (docs/decisions/0050-preload-shim.md). The shim has a
// function for each host function of OpenSHMEM and NVSHMEM. Its functions pass all pointers and
// handles as uintptr_t, because libraries differ in their types.

// preloadFolder, in the folder of a build, has the shim's functions, one for each name of both
// surfaces: some 20,000 lines.
const preloadFolder = "preload"

// preloadFiles returns the generated C of the shim: the table of calls, and the functions.
func preloadFiles() []file {
	calls := preloadCalls()
	out := []file{
		{Path: preloadFolder + "/zz_calls.h", Text: preloadNumbers(calls)},
		{Path: preloadFolder + "/zz_calls.c", Text: preloadTable(calls)},
		{Path: preloadFolder + "/zz_shapes.h", Text: preloadShapes(calls)},
	}
	for _, s := range spec.Surfaces {
		out = append(out, file{Path: preloadFolder + "/zz_" + s.Name + ".c", Text: preloadFunctions(s, calls)})
	}
	return out
}

// A preloadCall is one function of a library, as the shim sees it.
type preloadCall struct {
	spec.Function
	surface *spec.Surface
	kind    string
	letters string // one for each argument, as capi/preload/preload.h explains
}

// preloadCalls returns all functions of the shim, in the order of their numbers.
func preloadCalls() []preloadCall {
	var out []preloadCall
	seen := map[string]bool{}
	for _, s := range spec.Surfaces {
		var families []spec.Family
		for _, c := range s.Chapters() {
			families = append(families, c.Families...)
		}
		families = append(families, s.Extensions()...)
		if s.Over == nil {
			families = append(families, spec.OtherLibraries...)
		} else {
			families = append(families, spec.OtherNvshmem...)
		}
		for i := range families {
			for _, fn := range families[i].Functions() {
				if seen[fn.Name] {
					continue
				}
				seen[fn.Name] = true
				c := preloadCall{Function: fn, surface: s}
				c.kind = preloadKind(fn)
				for at, p := range fn.Params() {
					c.letters += preloadLetter(c, at, p)
				}
				out = append(out, c)
			}
		}
	}
	return out
}

// preloadKinds maps the name of a family to the kind of its calls, an enum preload_kind.
var preloadKinds = map[string]string{
	"init": "INIT", "init_thread": "INIT", "start_pes": "INIT", "init_attr": "INIT", "hostlib_init_attr": "INIT",
	"finalize": "FINALIZE", "hostlib_finalize": "FINALIZE", "global_exit": "EXIT", "pcontrol": "CONTROL",
	"malloc": "ALLOC", "align": "ALLOC", "calloc": "ALLOC", "malloc_with_hints": "ALLOC", "shmalloc": "ALLOC",
	"realloc": "REALLOC", "shrealloc": "REALLOC", "shmemalign": "ALLOC", "free": "FREE", "shfree": "FREE", "ptr": "POINTER", "team_ptr": "POINTER", "mc_ptr": "POINTER",
	"team_split_strided": "TEAM", "team_split_2d": "TEAM", "team_init": "TEAM", "team_survivors": "TEAM",
	"team_destroy": "TEAM_DESTROY",
	"ctx_create":   "CTX", "team_create_ctx": "CTX", "ctx_destroy": "CTX_DESTROY",
	"put": "PUT", "p": "P", "get": "GET", "g": "G", "iput": "IPUT", "iget": "IGET", "ibput": "IPUT", "ibget": "IGET",
	"putmem_notify": "PUT_SIGNAL", "put_signal": "PUT_SIGNAL", "signal_set": "SIGNAL", "signal_add": "SIGNAL",
	"signal_op": "SIGNAL", "signal_fetch": "TEST", "barrier_all": "BARRIER", "barrier": "BARRIER",
	"sync_all": "SYNC", "sync": "SYNC", "team_sync": "SYNC", "broadcast": "COLLECTIVE", "collect": "COLLECTIVE",
	"fcollect": "COLLECTIVE", "alltoall": "COLLECTIVE", "alltoalls": "COLLECTIVE", "collectmem_room": "COLLECTIVE",
	"fence": "FENCE", "quiet": "QUIET", "pe_quiet": "QUIET", "set_lock": "LOCK", "clear_lock": "UNLOCK", "test_lock": "TEST_LOCK",
	"notify_wait": "WAIT", "notify_test": "TEST", "notify_fetch": "TEST", "eager_send": "PUT_SIGNAL", "eager_wait": "WAIT", "eager_recv": "WAIT",
	"fetch": "FETCH", "set": "ATOMIC", "cswap": "FETCH", "swap": "FETCH", "finc": "FETCH", "inc": "ATOMIC", "fadd": "FETCH",
	"add": "ATOMIC", "buffer_register_symmetric": "ALLOC", "buffer_unregister_symmetric": "FREE",
	"buffer_register_symmetric_at_preferred_address": "ALLOC",
}

// preloadEndings has the kinds of families that preloadKinds lacks, by a part of the family's name.
// The first row whose part occurs in the name counts, so longer parts come before shorter ones.
var preloadEndings = []struct{ part, kind string }{
	{"_reduce", "COLLECTIVE"}, {"scan", "COLLECTIVE"}, {"_to_all", "COLLECTIVE"},
	{"atomic_fetch", "FETCH"}, {"atomic_swap", "FETCH"}, {"atomic_compare_swap", "FETCH"}, {"atomic_", "ATOMIC"},
	{"wait", "WAIT"}, {"test", "TEST"},
}

// preloadMoves are the kinds whose pointers are a destination and a source.
var preloadMoves = map[string]bool{
	"PUT": true, "P": true, "GET": true, "G": true, "IPUT": true, "IGET": true, "PUT_SIGNAL": true, "COLLECTIVE": true,
	"ATOMIC": true, "FETCH": true,
}

// preloadKind returns the kind of a call for the shim, the end of a constant PRELOAD_KIND_, by the
// name of its row in the table.
func preloadKind(fn spec.Function) string {
	name := fn.Family.Name
	kind := preloadKinds[name]
	for _, e := range preloadEndings {
		if kind == "" && strings.Contains(name, e.part) {
			kind = e.kind
		}
	}
	if kind == "" {
		return "OTHER"
	}
	return kind
}

// preloadNames maps the names of arguments to their letters, for arguments whose role and type do
// not determine the letter.
var preloadNames = map[string]string{
	"pe": "p", "target_pe": "p", "PE_root": "q", "nelems": "n", "nreduce": "n", "nbytes": "n", "nblocks": "n", "count": "n",
	"bsize": "b", "size": "n", "length": "n", "cmp": "o", "sig_op": "O", "sig_addr": "g", "signal": "G", "pSync": "Y", "pWrk": "k",
	"PE_start": "1", "logPE_stride": "2", "PE_size": "3", "dst": "4", "sst": "5", "lock": "L", "ptr": "a", "buf_ptr": "a", "mmap_ptr": "a",
	"addr": "a", "options": "f", "hints": "f", "stream": "m",
}

// preloadLetter returns the letter for the kind of an argument; capi/preload/preload.h lists the
// letters.
func preloadLetter(c preloadCall, at int, p spec.Param) string {
	switch {
	case p.C == "":
		return "."
	case strings.HasSuffix(p.C, "_ctx_t"):
		return "x"
	case strings.HasSuffix(p.C, "team_t"):
		return "t"
	case strings.HasSuffix(p.C, "_ctx_t *"):
		return "X"
	case strings.HasSuffix(p.C, "team_t *"):
		return "T"
	case p.C == "T":
		return "v"
	case strings.Contains(p.C, "config_t"):
		return "F"
	case strings.HasSuffix(p.Name, "_mask"):
		return "f"
	case c.kind == "ALLOC" && p.Name == "count": // of calloc, a factor
		return "b"
	// The size of a team is a number of PEs, not of elements.
	case c.kind == "TEAM" && (p.Name == "size" || p.Name == "PE_size"), p.Name == "notify", p.Name == "n":
		return "i"
	}
	// n and p are numbers: a receive has pointers of the same names, to which it writes the size
	// and the sender.
	if l := preloadNames[p.Name]; l != "" && (l != "n" && l != "p" || !strings.Contains(p.C, "*")) {
		return l
	}
	letters := map[spec.Role]string{
		spec.Written: "W", spec.Read: "R", spec.Updated: "U", spec.Source: "s", spec.Result: "r", spec.Watched: "w",
		spec.CollRead: "C", spec.CollWrite: "K",
	}
	if l := letters[p.Role]; l != "" && strings.Contains(p.C, "*") {
		return l
	}
	switch {
	case p.Name == "source" && c.kind == "COLLECTIVE":
		return "C"
	case p.Name == "dest" && c.kind == "COLLECTIVE":
		return "K"
	case strings.Contains(p.C, "*"), strings.Contains(p.C, "handler"):
		return "a"
	}
	return "i"
}

// size returns the bytes of one element of the call, by which the shim computes how many bytes it
// moves; 0 if it has no elements.
func (c preloadCall) size() int {
	switch {
	case c.Type.C != "":
		return c.Type.Bits / 8
	case strings.ContainsAny(c.letters, "n"): // a count of bytes
		return 1
	case c.kind == "SIGNAL": // a signal has 64 bits
		return 8
	case c.kind == "WAIT" || c.kind == "TEST": // a signal or a notification counter
		return 8
	}
	return 0
}

// number returns the name of the C constant that is the call's index in the shim's table.
func (c preloadCall) number() string { return "PRELOAD_" + c.Name }

// preloadNumbers returns the text of zz_calls.h: an enum whose constants are the indices of the
// calls in the shim's table.
func preloadNumbers(calls []preloadCall) string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	b.WriteString("/* clang-format off */\n/* zz_calls.h: the number of each call. */\n#ifndef PRELOAD_ZZ_CALLS_H\n" +
		"#define PRELOAD_ZZ_CALLS_H\n\nenum {\n")
	for _, c := range calls {
		fmt.Fprintf(&b, "    %s,\n", c.number())
	}
	b.WriteString("    PRELOAD_CALLS,\n};\n\n#endif\n")
	return b.String()
}

// preloadTable returns zz_calls.c, the table of calls. Its rows have offsets of names instead of
// pointers, so that the loader has nothing to relocate.
func preloadTable(calls []preloadCall) string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	b.WriteString("/* clang-format off */\n/* zz_calls.c: what each call is. */\n#include \"preload.h\"\n\n" +
		"const char preload_names[] =\n")
	at := 0
	var offsets []int
	for _, c := range calls {
		fmt.Fprintf(&b, "    \"%s\\0\"\n", c.Name)
		offsets = append(offsets, at)
		at += len(c.Name) + 1
	}
	b.WriteString("    ;\n\nconst struct preload_call preload_calls[PRELOAD_CALLS] = {\n")
	for i, c := range calls {
		flags := []string{}
		if c.Nbi {
			flags = append(flags, "PRELOAD_NBI")
		}
		if slices.ContainsFunc(c.Params(), func(p spec.Param) bool { return p.Name == "stream" }) {
			flags = append(flags, "PRELOAD_STREAM")
		}
		if c.surface.Over != nil {
			flags = append(flags, "PRELOAD_NVSHMEM")
		}
		if c.Family.Instead != "" {
			flags = append(flags, "PRELOAD_DEPRECATED")
		}
		flag := "0"
		if len(flags) > 0 {
			flag = strings.Join(flags, " | ")
		}
		// The position of the first argument with one of the letters, or -1. Destinations are W, U
		// and K, sources s, R and C.
		place := func(letters string) int { return strings.IndexAny(c.letters, letters) }
		dest, source := place("WUK"), place("sRC")
		// These write memory of the caller, a nonblocking FETCH the old value.
		if c.kind == "GET" || c.kind == "IGET" || c.kind == "FETCH" && c.Nbi {
			dest, source = place("r"), place("RU")
		}
		if !preloadMoves[c.kind] {
			dest, source = -1, -1
		}
		fmt.Fprintf(&b, "    {%d, PRELOAD_KIND_%s, %s, %d, %d, %d, %d, %d, %d, %d, %d, %d, %q},\n", offsets[i], c.kind, flag,
			c.size(), place("p"), place("n"), place("b"), place("t"), place("x"), dest, source, place("g"), c.letters)
	}
	b.WriteString("};\n")
	return b.String()
}

// A preloadForm has the types in which a call passes its arguments and result in registers. Calls
// of the same form share a C function.
type preloadForm struct {
	result string
	params []string
	values []bool // the parameter is an element: modes get its address
}

// form returns the types in which a call passes its arguments and result in registers, and which of
// the arguments are elements.
func (c preloadCall) form() preloadForm {
	s := preloadForm{result: preloadType(c.Result(), c.Type)}
	for i, p := range c.Params() {
		s.params = append(s.params, preloadType(p.C, c.Type))
		s.values = append(s.values, c.letters[i] == 'v')
	}
	return s
}

// preloadType returns the type of a parameter or a result. Handles are as wide as a register: they
// are numbers in some libraries and pointers in others.
func preloadType(c string, t spec.Type) string {
	c = strings.TrimPrefix(c, "const ")
	switch {
	case c == "void", c == "":
		return "void"
	case strings.Contains(c, "*"), strings.HasSuffix(c, "_ctx_t"), strings.HasSuffix(c, "team_t"), strings.HasSuffix(c, "handler_t"),
		strings.HasSuffix(c, "region_handle_t"):
		return "uintptr_t"
	case c == "T":
		return preloadValue(t)
	case c == "int", c == "unsigned int", c == "uint32_t":
		return "int"
	case c == "long", c == "size_t", c == "ptrdiff_t", c == "uint64_t":
		return "uintptr_t"
	}
	panic("preload: no register for " + c)
}

// preloadValue returns the C type in which an element is passed in a register.
func preloadValue(t spec.Type) string {
	switch {
	case t.Kind == spec.Real:
		return t.C
	case t.Kind == spec.Late || t.Kind == spec.Half:
		return "struct preload_half"
	}
	sign := "int"
	if t.Kind == spec.Unsigned {
		sign = "uint"
	}
	return fmt.Sprintf("%s%d_t", sign, t.Bits)
}

// preloadShort shortens the C types in the name of a form.
var preloadShort = strings.NewReplacer("struct preload_half", "h", "long double", "e", "uintptr_t", "a", "double", "d", "float", "f",
	"uint", "u", "_t", "", "void", "v", "int8", "i8", "int16", "i16", "int32", "i32", "int64", "i64", "int", "i")

// name returns the name of the C function that makes calls of this form, from the types of its
// result and parameters: call_i_a_a.
func (s preloadForm) name() string {
	out := "call_" + preloadShort.Replace(s.result)
	for i, p := range s.params {
		out += "_" + preloadShort.Replace(p)
		if s.values[i] {
			out += "v"
		}
	}
	return out
}

// declared returns the C declarations of the parameters of a form, which are named a, b, c and so
// on.
func (s preloadForm) declared() []string {
	var out []string
	for i, p := range s.params {
		out = append(out, p+" "+string(rune('a'+i)))
	}
	return out
}

// preloadShapes returns zz_shapes.h, which has a C function for each form of calls.
func preloadShapes(calls []preloadCall) string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	b.WriteString("/* clang-format off */\n/* zz_shapes.h: a call by the types of its arguments and result, with the modes around it. */\n" +
		"#ifndef PRELOAD_ZZ_SHAPES_H\n#define PRELOAD_ZZ_SHAPES_H\n\n#include \"preload.h\"\n")
	seen := map[string]bool{}
	for _, c := range calls {
		s := c.form()
		if c.variadic() || seen[s.name()] {
			continue
		}
		seen[s.name()] = true
		preloadShape(&b, s)
	}
	b.WriteString("\n#endif\n")
	return b.String()
}

// preloadShape writes the C function for calls of one form (the same types of arguments and
// result). It is not inline: the functions of the interface set one more register and jump to it.
// When it was inline, they took 27 s to compile and 1.1 MB. It passes arguments to the library from
// the frame, so that modes may change them. An element is a parameter of the function, and the
// frame has its address.
func preloadShape(b *strings.Builder, s preloadForm) {
	params := strings.Join(append(s.declared(), "unsigned number"), ", ")
	fmt.Fprintf(b, "\nPRELOAD_SHAPE %s %s(%s)\n{\n    struct preload_frame frame;\n", s.result, s.name(), params)
	if s.result != "void" {
		fmt.Fprintf(b, "    %s result;\n    __builtin_memset(&result, 0, sizeof result);\n    frame.result = &result;\n", s.result)
	}
	var types, arguments []string
	for i, p := range s.params {
		v := string(rune('a' + i))
		switch {
		case s.values[i]:
			fmt.Fprintf(b, "    frame.arg[%d] = (uintptr_t)&%s;\n", i, v)
			arguments = append(arguments, v)
		case p == "int":
			fmt.Fprintf(b, "    frame.arg[%d] = (uintptr_t)(intptr_t)%s;\n", i, v)
			arguments = append(arguments, fmt.Sprintf("(int)frame.arg[%d]", i))
		default:
			fmt.Fprintf(b, "    frame.arg[%d] = %s;\n", i, v)
			arguments = append(arguments, fmt.Sprintf("frame.arg[%d]", i))
		}
		types = append(types, p)
	}
	if types == nil {
		types = []string{"void"}
	}
	set, back := "", ""
	if s.result != "void" {
		set, back = "result = ", "    return result;\n"
	}
	fmt.Fprintf(b, "    if (preload_begin(&frame, number, __builtin_return_address(0)))\n        %s((%s (*)(%s))frame.real)(%s);\n    preload_end(&frame);\n%s}\n", set, s.result,
		strings.Join(types, ", "), strings.Join(arguments, ", "), back)
}

// variadic reports whether the call has variable arguments. Then its function in the shim is
// written by hand (capi/preload/control.c).
func (c preloadCall) variadic() bool { return strings.Contains(c.letters, ".") }

// preloadFunctions returns the functions of the shim for one surface. Each passes its arguments and
// its number to the function of its form.
func preloadFunctions(s *spec.Surface, calls []preloadCall) string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	fmt.Fprintf(&b, "/* clang-format off */\n/* zz_%s.c: the functions that a program calls. */\n#include \"zz_shapes.h\"\n\n", s.Name)
	for _, c := range calls {
		if c.surface != s || c.variadic() {
			continue
		}
		h := c.form()
		params := strings.Join(h.declared(), ", ")
		if params == "" {
			params = "void"
		}
		var arguments []string
		for i := range h.params {
			arguments = append(arguments, string(rune('a'+i)))
		}
		arguments = append(arguments, c.number())
		back := ""
		if h.result != "void" {
			back = "return "
		}
		fmt.Fprintf(&b, "PRELOAD_PUBLIC %s %s(%s) { %s%s(%s); }\n", h.result, c.Name, params, back, h.name(), strings.Join(arguments, ", "))
	}
	return b.String()
}

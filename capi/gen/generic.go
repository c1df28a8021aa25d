package main

import (
	"cmp"
	"fmt"
	"strings"

	"libshmem/capi/spec"
)

const genericsTop = `
/* --------------------------------------------------------------------------- generic names of C11 */

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
/*
 * @_<name>(...) for each @_<T>_<name>: the first argument that points to an
 * element selects the function, @i_pick_<name>. Where a context may come first,
 * it differs from an element by not being a pointer. Each branch must be an
 * expression for any arguments, so a branch that is not taken may name
 * @i_no_such_type, which takes no arguments.
 *
 * The zeros behind __VA_ARGS__ stand for arguments that a call lacks: the macros that pick an
 * argument by its place need one there, and at least one for the three dots.
 *
 * When no type fits, the compiler's own message names the argument's type. @@I_REFUSE adds the list
 * of types: points says whether the argument, or @@I_TYPED behind a context, points to one of them.
 */
void @i_no_such_type(void);
#define @@I_REFUSE(points, text) ((void)sizeof(struct { _Static_assert(points, text); int unused; }))
#define @@I_TYPED(a, b, ...) _Generic(a, @_ctx_t: b, default: a)
#define @@I_ARGUMENT_1(a, ...) a
#define @@I_ARGUMENT_2(a, b, ...) b
#define @@I_ARGUMENT_5(a, b, c, d, e, ...) e
`

// genericForms returns the functions from which the generic names of a family choose by type, first
// those of the blocking name and then those of the nonblocking one. Of types that are the same to
// the compiler, such as long and int64_t, it has only the first.
func genericForms(f *spec.Family) [][]spec.Function {
	var out [][]spec.Function
	if !f.Surface().Generics {
		return nil
	}
	for _, nbi := range []bool{false, true} {
		var forms []spec.Function
		seen := map[string]bool{}
		for _, fn := range f.Functions() {
			if fn.Nbi != nbi || fn.Ctx || fn.Form != 0 || len(f.Types) == 0 || f.Plain {
				continue
			}
			if c := spec.SameAs(fn.Type.C); !seen[c] {
				seen[c] = true
				forms = append(forms, fn)
			}
		}
		if forms != nil && !nbi {
			forms = append(forms, deprecatedForms(f)...)
		}
		if forms != nil {
			out = append(out, forms)
		}
	}
	return out
}

// deprecatedForms returns the deprecated functions that have the same name as a family but other
// types. The family's generic name accepts these types, too.
func deprecatedForms(f *spec.Family) []spec.Function {
	var out []spec.Function
	for _, c := range f.Surface().Chapters() {
		for i := range c.Families {
			if g := &c.Families[i]; g.Plain && g.Name == f.Name {
				out = append(out, g.Functions()...)
			}
		}
	}
	return out
}

// undeprecatedName returns the name by which generic names and overloads call a function: for a
// deprecated one a private alias. The compiler warns about a deprecated name wherever it occurs,
// even in a branch of _Generic that is not selected.
func undeprecatedName(fn spec.Function) string {
	if fn.Family.Plain {
		s := fn.Family.Surface()
		return s.PrivatePrefix() + strings.TrimPrefix(fn.Name, s.Prefix())
	}
	return fn.Name
}

// aliases returns the declarations of the private aliases of deprecated functions
// (undeprecatedName).
func aliases(s *spec.Surface) string {
	var declared, defined strings.Builder
	for _, forms := range append(allGenericForms(s), complexFunctions(s)) {
		for _, fn := range forms {
			if name := undeprecatedName(fn); name != fn.Name {
				fmt.Fprintf(&declared, "%s __asm__(%q);\n", prototypeAs(fn, name), fn.Name)
				fmt.Fprintf(&defined, "#define %s %s\n", name, fn.Name)
			}
		}
	}
	return withPrefixes(s, `
/* Deprecated functions under names without a warning, for generic names and overloads. */
#if defined(__GNUC__) && !defined(@@_ALLOW_DEPRECATED) && !defined(__CUDACC__)
`) + declared.String() + "#else\n" + defined.String() + "#endif\n"
}

// untyped returns the functions without an element type whose name is also a macro, because a
// context may be the first argument: shmem_signal_set.
func untyped(s *spec.Surface) []spec.Function {
	var out []spec.Function
	for _, c := range s.Chapters() {
		for i := range c.Families {
			if f := &c.Families[i]; f.Generic {
				out = append(out, f.Functions()[0])
			}
		}
	}
	return out
}

// untypedMacro writes the macro of a function that untyped returns: it calls the ctx_ form if the
// first argument is a context, and the plain function otherwise.
func untypedMacro(b *strings.Builder, fn spec.Function) {
	fmt.Fprintf(b, withPrefixes(fn.Family.Surface(), "\n#define %[1]s(...) @i_pick_%[2]s(__VA_ARGS__)(__VA_ARGS__)\n"+
		"#define @i_pick_%[2]s(...) \\\n"+
		"    _Generic(@@I_ARGUMENT_1(__VA_ARGS__, 0), @_ctx_t: %[3]s, default: %[1]s)\n"),
		fn.Name, fn.Family.Name, contextName(fn))
}

// generic returns the generic name (for C11 and C++) of a function, without its prefix: put_nbi for
// shmem_int_put_nbi.
func generic(fn spec.Function) string {
	if fn.Nbi {
		return fn.Family.Name + "_nbi"
	}
	return fn.Family.Name
}

// selectingArgument returns the position, from 1, of the argument whose type selects a function of
// a generic name, and whether it may point to const elements.
func selectingArgument(fn spec.Function) (place int, constant bool) {
	for i, p := range fn.Params() {
		if strings.HasSuffix(p.C, "T *") {
			return i + 1, strings.HasPrefix(p.C, "const ")
		}
	}
	panic("gen: " + fn.Name + ": no argument says its type")
}

// genericNames returns the generic names of a surface, which are macros in C11.
func genericNames(s *spec.Surface) []string {
	if !s.Generics {
		return nil
	}
	out := []string{withPrefixes(s, syncName)}
	for _, forms := range allGenericForms(s) {
		out = append(out, s.Prefix()+generic(forms[0]))
	}
	for _, fn := range untyped(s) {
		out = append(out, fn.Name)
	}
	return out
}

// generics returns the part of a header with the generic names of C11: macros that choose a
// function by the type of an argument.
func generics(s *spec.Surface) string {
	var b strings.Builder
	b.WriteString(withPrefixes(s, genericsTop))
	sets := map[string]string{}
	for _, forms := range allGenericForms(s) {
		genericMacro(&b, forms, genericSet(&b, forms, sets))
	}
	for _, fn := range untyped(s) {
		untypedMacro(&b, fn)
	}
	b.WriteString(withPrefixes(s, genericsEnd))
	return b.String()
}

const syncName = "@_sync"

// genericsEnd has the generic shmem_sync, which takes a team, or the four arguments of an active
// set.
const genericsEnd = `
/* Behind four arguments the fifth is @i_sync_set, and behind one argument @i_sync_team. */
#define @_sync(...) @@I_ARGUMENT_5(__VA_ARGS__, @i_sync_set, 0, 0, @i_sync_team, 0)(__VA_ARGS__)
#define @i_sync_team(team) @_team_sync(team)
#define @i_sync_set(start, log_stride, size, psync) (@_sync)(start, log_stride, size, psync)
#endif
`

// oldGeneric writes the macro of a deprecated generic name, which calls the newer generic name. It
// also calls an empty deprecated function, so that the compiler warns once. If the macro named the
// deprecated functions, the compiler would warn of each of them.
func oldGeneric(b *strings.Builder, f *spec.Family) {
	s := f.Surface()
	fmt.Fprintf(b, withPrefixes(s, "\n@@I_DEPRECATED(%q) static inline void @i_old_%s(void) {}\n"), "use "+f.Instead, f.Name)
	fmt.Fprintf(b, withPrefixes(s, "#define @_%[1]s(...) (@i_old_%[1]s(), @_%[2]s(__VA_ARGS__))\n"), f.Name, f.Like)
}

// complexInC replaces the names that the header has for C++ by those of C.
var complexInC = strings.NewReplacer("shmemi_complexd", "double complex", "shmemi_complexf", "float complex")

// genericSet returns the name of the set of types that a generic name accepts. Many generic names
// share a set; for the first it writes two macros, SHMEMI_TYPES_<set> with the names of the types
// and SHMEMI_POINTS_<set>(a), 1 if a points to one of them. sets has the names of the sets so far,
// by their types.
func genericSet(b *strings.Builder, forms []spec.Function, sets map[string]string) string {
	if forms[0].Family.Instead != "" {
		return ""
	}
	_, constant := selectingArgument(forms[0])
	var names []string
	for _, fn := range forms {
		names = append(names, complexInC.Replace(fn.Type.C))
	}
	key := fmt.Sprint(constant, names)
	if sets[key] != "" {
		return sets[key]
	}
	name := generic(forms[0])
	sets[key] = name
	text := strings.Join(names, ", ")
	if !constant {
		text += ", not const"
	}
	s := forms[0].Family.Surface()
	fmt.Fprintf(b, withPrefixes(s, "\n#define @@I_TYPES_%s %q\n"), name, text)
	fmt.Fprintf(b, withPrefixes(s, "#define @@I_POINTS_%s(a) _Generic(a"), name)
	for _, fn := range forms {
		fmt.Fprintf(b, ", %s *: 1", fn.Type.C)
		if constant {
			fmt.Fprintf(b, ", const %s *: 1", fn.Type.C)
		}
	}
	b.WriteString(", default: 0)\n")
	return name
}

// genericMacro writes the macro of a generic name, which chooses one of the forms by the type of an
// argument; set is the name that genericSet returned.
func genericMacro(b *strings.Builder, forms []spec.Function, set string) {
	if f := forms[0].Family; f.Instead != "" {
		oldGeneric(b, f)
		return
	}
	s, name := forms[0].Family.Surface(), generic(forms[0])
	place, constant := selectingArgument(forms[0])
	argument := fmt.Sprintf(withPrefixes(s, "@@I_ARGUMENT_%d"), place)
	if forms[0].Family.Contexts {
		argument = withPrefixes(s, "@@I_TYPED")
	}
	fmt.Fprintf(b, withPrefixes(s, "\n#define @_%[1]s(...) \\\n    (@@I_REFUSE(@@I_POINTS_%[2]s(%[3]s(__VA_ARGS__, 0, 0)), \"@_%[1]s: %[4]s has to point to one of \" @@I_TYPES_%[2]s), \\\n"+
		"     @i_pick_%[1]s(__VA_ARGS__)(__VA_ARGS__))\n"), name, set, argument, forms[0].Params()[place-1].Name)
	// choices writes a _Generic over the argument at a place: first are its first branches, and
	// then each form has a branch for its element type, with the name that `name` returns.
	choices := func(place int, first string, name func(spec.Function) string) {
		fmt.Fprintf(b, withPrefixes(s, "    _Generic(@@I_ARGUMENT_%d(__VA_ARGS__, 0, 0)%s"), place, first)
		for _, fn := range forms {
			fmt.Fprintf(b, ", \\\n        %s *: %s", fn.Type.C, name(fn))
			if constant {
				fmt.Fprintf(b, ", const %s *: %s", fn.Type.C, name(fn))
			}
		}
		b.WriteString(")\n")
	}
	first := ""
	if forms[0].Family.Contexts {
		if place != 1 {
			panic("gen: " + forms[0].Name + ": behind a context no argument tells the type")
		}
		first = fmt.Sprintf(withPrefixes(s, ", \\\n        @_ctx_t: @i_pick_ctx_%s(__VA_ARGS__)"), name)
		fmt.Fprintf(b, withPrefixes(s, "#define @i_pick_ctx_%s(...) \\\n"), name)
		choices(2, withPrefixes(s, ", \\\n        default: @i_no_such_type"), contextName)
	}
	fmt.Fprintf(b, withPrefixes(s, "#define @i_pick_%s(...) \\\n"), name)
	choices(place, first, undeprecatedName)
}

// contextName returns the name of a function's form that takes a context first: shmem_ctx_int_put
// for shmem_int_put.
func contextName(fn spec.Function) string {
	prefix := fn.Family.Surface().Prefix()
	return strings.Replace(fn.Name, prefix, prefix+"ctx_", 1)
}

// genericCall writes a function of a test that calls a generic name with the arguments of a struct
// check_call (tests/c/check.h), and its row in the table of tests.
func genericCall(b, rows *strings.Builder, fn spec.Function) {
	var args []string
	for _, p := range fn.Params() {
		arg := checkArgument(fn, p)
		if p.C == "T" {
			arg = "*(const " + fn.Type.C + " *)" + arg
		} else if strings.HasSuffix(p.C, "T *") {
			arg = "(" + cType(p.C, fn.Type) + ")" + arg
		}
		args = append(args, arg)
	}
	name, what := generic(fn), ""
	if fn.Ctx {
		what = "_on_context"
	}
	s := fn.Family.Surface()
	fmt.Fprintf(b, withPrefixes(s, "\nstatic void call_generic_%[1]s%[4]s(struct check_call *c)\n{\n    %[2]s@_%[1]s(%[3]s);\n}\n"),
		name, checkResult(fn), strings.Join(args, ", "), what)
	fmt.Fprintf(rows, withPrefixes(s, "    {\"@_%[1]s%[6]s\", call_generic_%[1]s%[6]s, check_%[2]s, &type_%[3]s, %[4]q, %[5]s},\n"),
		name, fn.Family.Check, fn.Type.Name, cmp.Or(fn.Family.Like, fn.Family.Name), checkFlags(fn), what)
}

// genericChecks makes the program that checks which function each generic name selects.
func genericChecks(s *spec.Surface) file {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	b.WriteString(withPrefixes(s, `/* clang-format off */
#define @@_ALLOW_DEPRECATED
`) + includeBelow(s) + `#include "check.h"


static const struct {
    const char *name;
    void (*picked)(void), (*wanted)(void);
} rows[] = {
`)
	for _, c := range s.Chapters() {
		for i := range c.Families {
			for _, forms := range genericForms(&c.Families[i]) {
				for _, fn := range forms {
					if fn.Family.Like == "" {
						genericRows(&b, fn)
					}
				}
			}
		}
	}
	for _, fn := range untyped(s) {
		row := withPrefixes(s, `    {"%[1]s of %[4]s", (void (*)(void))@i_pick_%[2]s(%[5]s), (void (*)(void))%[3]s},`+"\n")
		fmt.Fprintf(&b, row, fn.Name, fn.Family.Name, fn.Name, "a pointer", "(uint64_t *)0")
		fmt.Fprintf(&b, row, fn.Name, fn.Family.Name, contextName(fn), "a context", withPrefixes(s, "@@_CTX_DEFAULT"))
	}
	b.WriteString(`};

int main(void)
{
    enum { ROWS = sizeof rows / sizeof rows[0] };
    check_open("generic", ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        check_start(i, rows[i].name);
        CHECK(rows[i].picked == rows[i].wanted, "stands for another function");
    }
    return check_close();
}
`)
	return file{Path: buildPath(s, "c/zz_generic.c"), Text: b.String()}
}

// genericRows writes the rows of a test's table that say which function a generic name has to
// choose for the type of fn.
func genericRows(b *strings.Builder, fn spec.Function) {
	s := fn.Family.Surface()
	place, constant := selectingArgument(fn)
	pointers := []string{fn.Type.C + " *"}
	if constant {
		pointers = append(pointers, "const "+fn.Type.C+" *")
	}
	for _, p := range pointers {
		before := strings.Repeat("0, ", place-1)
		fmt.Fprintf(b, withPrefixes(s, "    {\"@_%[1]s of %[2]s\", (void (*)(void))@i_pick_%[1]s(%[3]s(%[2]s)0), (void (*)(void))%[4]s},\n"),
			generic(fn), p, before, fn.Name)
		if fn.Family.Contexts {
			fmt.Fprintf(b, withPrefixes(s, "    {\"@_%[1]s of a context and %[2]s\", (void (*)(void))@i_pick_%[1]s(@@_CTX_DEFAULT, (%[2]s)0), (void (*)(void))%[3]s},\n"),
				generic(fn), p, contextName(fn))
		}
	}
}

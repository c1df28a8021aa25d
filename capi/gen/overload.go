package main

import (
	"fmt"
	"strings"

	"libshmem/capi/spec"
)

// This file generates the overloads of C++, which have the names of the macros of C11.

const overloadsTop = `
/* ----------------------------------------------------------------------------- overloads of C++ */

#ifdef __cplusplus
/* @_<name>(...) for each @_<T>_<name>, and with a context first where there is
 * @_ctx_<T>_<name>. */
`

// complexTop defines C's complex types in C++, if the compiler has them. Their layout is that of
// std::complex.
const complexTop = `
#ifdef __GNUC__
__extension__ typedef __complex__ double @i_c_complexd;
__extension__ typedef __complex__ float @i_c_complexf;
`

// complexEnd ends the part for GNU C, and begins a part that nvcc does not compile, because the device headers overload these
// names for kernels.
const complexEnd = `#endif

#ifndef __CUDACC__
`

const overloadsEnd = `inline int @_sync(@_team_t team) { return @_team_sync(team); }
#endif
#endif
`

// overloads returns the part of a header with C++ overloads: for each generic name an inline
// function for each element type, and overloads of the functions on complex numbers for C's complex
// types.
func overloads(s *spec.Surface) string {
	var b strings.Builder
	b.WriteString(withPrefixes(s, overloadsTop))
	// The library has some functions with the name and arguments of an overload, such as
	// shmem_wait_until of long. The overload would define the function again in every program.
	declared := map[string]bool{}
	for _, c := range s.Chapters() {
		for i := range c.Families {
			if f := &c.Families[i]; f.Symbol != "" {
				declared[prototype(f.Functions()[0])] = true
			}
		}
	}
	for _, forms := range allGenericForms(s) {
		fmt.Fprintln(&b)
		for _, fn := range forms {
			if !declared[prototypeAs(fn, s.Prefix()+generic(fn))] {
				overload(&b, fn)
			}
			if fn.Family.Contexts {
				overload(&b, withContext(fn))
			}
		}
	}
	b.WriteString(withPrefixes(s, complexTop))
	for _, fn := range complexFunctions(s) {
		complexOverload(&b, fn)
	}
	b.WriteString(complexEnd)
	for _, fn := range untyped(s) {
		fmt.Fprintf(&b, "inline %s { %s(%s); }\n", prototypeAs(withContext(fn), fn.Name), contextName(fn), callArguments(withContext(fn)))
	}
	b.WriteString(withPrefixes(s, overloadsEnd))
	return b.String()
}

// allGenericForms lists, for each generic name, the functions among which it chooses.
func allGenericForms(s *spec.Surface) [][]spec.Function {
	var out [][]spec.Function
	for _, c := range s.Chapters() {
		for i := range c.Families {
			out = append(out, genericForms(&c.Families[i])...)
		}
	}
	return out
}

// withContext returns the form of a function that takes a context as its first argument.
func withContext(fn spec.Function) spec.Function {
	fn.Name, fn.Ctx = contextName(fn), true
	return fn
}

// prototypeAs returns the declaration of a function under another name, with the same parameters
// and result.
func prototypeAs(fn spec.Function, name string) string {
	return strings.Replace(prototype(fn), fn.Name+"(", name+"(", 1)
}

// overload writes the inline C++ function that has the generic name of fn, and calls fn.
func overload(b *strings.Builder, fn spec.Function) {
	// An overload of a deprecated name calls the newer function, so that it causes no warning.
	callee := undeprecatedName(fn)
	if like := fn.Family.Like; like != "" {
		callee = fn.Family.Surface().Prefix() + fn.Type.Name + "_" + like
	}
	back := ""
	if fn.Result() != "void" {
		back = "return "
	}
	fmt.Fprintf(b, "%sinline %s { %s%s(%s); }\n", deprecatedAttribute(fn.Family), prototypeAs(fn, fn.Family.Surface().Prefix()+generic(fn)), back, callee,
		callArguments(fn))
}

// callArguments returns the names of a function's parameters, with which another function calls it.
func callArguments(fn spec.Function) string {
	var args []string
	for _, p := range fn.Params() {
		if p.C != "" { // the three dots are not passed on
			args = append(args, p.Name)
		}
	}
	return strings.Join(args, ", ")
}

// withCComplex returns a function on complex numbers whose element type is C's double _Complex or
// float _Complex instead of std::complex.
func withCComplex(fn spec.Function) spec.Function {
	fn.Type.C = fn.Family.Surface().PrivatePrefix() + "c_" + fn.Type.Name
	return fn
}

// complexFunctions returns the functions of a library that work on complex numbers.
func complexFunctions(s *spec.Surface) []spec.Function {
	var out []spec.Function
	for _, c := range s.Chapters() {
		for i := range c.Families {
			for _, fn := range c.Families[i].Functions() {
				if fn.Type.Kind == spec.Complex {
					out = append(out, fn)
				}
			}
		}
	}
	return out
}

// complexNames returns the names for which C++ has overloads on C's complex type: the function's
// own and, if it has one, the generic name.
func complexNames(fn spec.Function) []string {
	if fn.Family.Plain {
		return []string{fn.Name}
	}
	return []string{fn.Name, fn.Family.Surface().Prefix() + generic(fn)}
}

// complexOverload writes C++ overloads of fn for C's complex types, which C++ compilers also have,
// and which they distinguish from std::complex.
func complexOverload(b *strings.Builder, fn spec.Function) {
	var args []string
	for _, p := range fn.Params() {
		arg := p.Name
		if strings.HasSuffix(p.C, "T *") {
			arg = "reinterpret_cast<" + cType(p.C, fn.Type) + ">(" + arg + ")"
		}
		args = append(args, arg)
	}
	back := ""
	if fn.Result() != "void" {
		back = "return "
	}
	for _, name := range complexNames(fn) {
		fmt.Fprintf(b, "%sinline %s { %s%s(%s); }\n", deprecatedAttribute(fn.Family), prototypeAs(withCComplex(fn), name), back, undeprecatedName(fn),
			strings.Join(args, ", "))
	}
}

// pointerTo returns the C type of pointers to a function, which selects one overload in a cast.
func pointerTo(fn spec.Function) string {
	var params []string
	for _, p := range fn.Params() {
		params = append(params, cType(p.C, fn.Type))
	}
	return cType(fn.Result(), fn.Type) + " (*)(" + strings.Join(params, ", ") + ")"
}

// overloadChecks returns a C++ file for a test: it has a pointer to each overload, so that it
// compiles only if all exist.
func overloadChecks(s *spec.Surface) file {
	var b strings.Builder
	n := 0
	for _, forms := range allGenericForms(s) {
		for _, fn := range forms {
			row := func(fn spec.Function) {
				fmt.Fprintf(&b, "    (function)static_cast<%s>(%s%s),\n", pointerTo(fn), s.Prefix(), generic(fn))
				n++
			}
			row(fn)
			if fn.Family.Contexts {
				row(withContext(fn))
			}
		}
	}
	for _, fn := range complexFunctions(s) {
		for _, name := range complexNames(fn) {
			fmt.Fprintf(&b, "    (function)static_cast<%s>(%s),\n", pointerTo(withCComplex(fn)), name)
			n++
		}
	}
	for _, fn := range untyped(s) {
		fmt.Fprintf(&b, "    (function)static_cast<%s>(%s),\n", pointerTo(withContext(fn)), fn.Name)
		n++
	}
	return file{Path: buildPath(s, "abi/zz_overloads.cc"), Text: banner("// ", "") + withPrefixes(s, `// clang-format off
#define @@_ALLOW_DEPRECATED
#include <`) + s.File + `>

typedef void (*function)();
extern const function overloads[] = {
` + b.String() + fmt.Sprintf("};\nextern const int overload_count = %d;\n", n)}
}

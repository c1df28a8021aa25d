package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"libshmem/capi/spec"
)

// checkHeaders has the header of tests/c that defines each check.
var checkHeaders = map[spec.Check]string{
	spec.CheckPut:     "check_rma.h",
	spec.CheckGet:     "check_rma.h",
	spec.CheckIput:    "check_strided.h",
	spec.CheckIget:    "check_strided.h",
	spec.CheckAtomic:  "check_atomic.h",
	spec.CheckSignal:  "check_signal.h",
	spec.CheckWait:    "check_wait.h",
	spec.CheckTest:    "check_wait.h",
	spec.CheckSet:     "check_set.h",
	spec.CheckMove:    "check_collective.h",
	spec.CheckCombine: "check_reduce.h",
	spec.CheckScan:    "check_scan.h",
	spec.CheckChange:  "check_wait.h",
	spec.CheckSubset:  "check_subset.h",
	spec.CheckToAll:   "check_to_all.h",
}

var checkKinds = map[spec.Kind]string{
	spec.Raw:      "CHECK_RAW",
	spec.Signed:   "CHECK_SIGNED",
	spec.Unsigned: "CHECK_UNSIGNED",
	spec.Real:     "CHECK_REAL",
	spec.Complex:  "CHECK_COMPLEX",
}

// checks makes the C test of each chapter: for each symbol a function that calls it, and a row of
// the table that tests/c/check.h runs. A generic name is also called, with and without a context,
// for the first of its types; the program of genericChecks checks which function it selects for
// each type.
func checks(s *spec.Surface) []file {
	var out []file
	for _, c := range s.Chapters() {
		var calls, types, rows strings.Builder
		includes := map[string]bool{}
		seen := map[string]bool{}
		for i := range c.Families {
			f := &c.Families[i]
			if f.Check == spec.ByHand {
				continue
			}
			includes[checkHeaders[f.Check]] = true
			for _, fn := range f.Functions() {
				checkCall(&calls, fn)
				if !seen[fn.Type.Name] {
					seen[fn.Type.Name] = true
					checkType(&types, fn.Type)
				}
				rows.WriteString(checkRow(fn))
			}
			for _, forms := range genericForms(f) {
				fn := forms[0]
				genericCall(&calls, &rows, fn)
				if f.Contexts { // the generic name takes a context, too
					fn.Ctx = true
					genericCall(&calls, &rows, fn)
				}
			}
		}
		if rows.Len() == 0 {
			continue
		}
		text := banner("/* ", " */") + `/* clang-format off */
` + withPrefixes(s, "#define @@_ALLOW_DEPRECATED\n") + includeBelow(s) + includeLines(includes) + `
` + types.String() + calls.String() + `
static const struct check_symbol symbols[] = {
` + rows.String() + `};

int main(int argc, char **argv)
{
    return check_table(argc, argv, "` + c.File + `", symbols, sizeof symbols / sizeof symbols[0]);
}
`
		out = append(out, file{Path: buildPath(s, "c/zz_"+c.File+".c"), Text: text})
	}
	if s.Generics {
		out = append(out, genericChecks(s))
	}
	return out
}

// includeBelow returns the #include line of the public header of a surface (a set of names for the
// functions) whose functions call those of another surface, as NVSHMEM's call OpenSHMEM's. The
// headers of the checks include only OpenSHMEM's header. For OpenSHMEM's surface it returns "".
func includeBelow(s *spec.Surface) string {
	if s.Over == nil {
		return ""
	}
	return "#include <" + s.File + ">\n"
}

// includeLines returns the lines that include these headers.
func includeLines(names map[string]bool) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&b, "#include %q\n", name)
	}
	return b.String()
}

// checkCall writes the function that calls one symbol with the arguments of a
// struct check_call, whose fields have the parameters' names.
func checkCall(b *strings.Builder, fn spec.Function) {
	var args []string
	for _, p := range fn.Params() {
		arg := checkArgument(fn, p)
		if p.C == "T" {
			arg = "*(const " + fn.Type.C + " *)" + arg
		}
		args = append(args, arg)
	}
	fmt.Fprintf(b, "\nstatic void call_%s(struct check_call *c)\n{\n    %s%s(%s);\n}\n",
		fn.Name, checkResult(fn), fn.Name, strings.Join(args, ", "))
}

// checkArgument returns the expression that a check passes for a parameter: a field of struct
// check_call. The context belongs to a team that has the PEs in reverse order, and the PE number is
// that in the team, so that a library that does not translate the number fails the check.
func checkArgument(fn spec.Function, p spec.Param) string {
	switch {
	case fn.Ctx && p.Name == "ctx":
		return "check.ctx"
	case fn.Ctx && p.Name == "pe":
		return "check_rank(c->pe)"
	}
	return "c->" + p.Name
}

// checkResult returns the start of a C statement that stores a function's result in the struct
// check_call; "" for a function without one.
func checkResult(fn spec.Function) string {
	switch fn.Result() {
	case "T":
		return "*(" + fn.Type.C + " *)c->result = "
	case "int":
		return "c->answer = "
	case "size_t":
		return "c->count = "
	}
	return ""
}

// checkRow returns the row of a function in the table of checks.
func checkRow(fn spec.Function) string {
	return fmt.Sprintf("    {%q, call_%s, check_%s, &type_%s, %q, %s},\n", fn.Name, fn.Name,
		fn.Family.Check, fn.Type.Name, cmp.Or(fn.Family.Like, fn.Family.Name), checkFlags(fn))
}

// checkType writes the description of an element type: its kind, its size, and how many of its
// bytes hold the value, which are 10 of a long double's 16.
func checkType(b *strings.Builder, t spec.Type) {
	size := fmt.Sprintf("sizeof(%s)", t.C)
	if t.Kind == spec.Raw {
		size = fmt.Sprint(t.Bits / 8)
	}
	used := size
	if t.C == "long double" {
		used = "10"
	}
	fmt.Fprintf(b, "static const struct check_type type_%s = {%q, %s, %s, %s};\n",
		t.Name, t.Name, checkKinds[t.Kind], size, used)
}

// checkFlags returns the flags of a function in the table of checks, as a C expression:
// nonblocking, with a context, on a single element.
func checkFlags(fn spec.Function) string {
	var flags []string
	if fn.Nbi {
		flags = append(flags, "CHECK_NBI")
	}
	if fn.Ctx {
		flags = append(flags, "CHECK_CTX")
	}
	hasCount := false
	for _, p := range fn.Family.Params {
		hasCount = hasCount || p.Name == "nelems" || p.Name == "nreduce"
	}
	if !hasCount {
		flags = append(flags, "CHECK_SINGLE")
	}
	if len(flags) == 0 {
		return "0"
	}
	return strings.Join(flags, " | ")
}

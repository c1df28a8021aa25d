package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"libshmem/capi/spec"
)

// A pythonArgument is a parameter of a function of Python.
type pythonArgument struct {
	name  string
	hint  string // for type checkers
	value string // the default; empty: the caller must pass the argument
	doc   string
	named bool // the caller must pass it by its name
}

// arguments returns the parameters of the Python function: those of the C function without nelems,
// which an array knows, and then those that are passed by name.
func (c *pythonCall) arguments() []pythonArgument {
	var out []pythonArgument
	for _, p := range c.params() {
		if p.Name != "nelems" {
			out = append(out, c.argument(&p))
		}
	}
	slices.SortStableFunc(out, func(a, b pythonArgument) int {
		return cmp.Compare(a.rank(), b.rank())
	})
	named := func(name, hint, value, doc string) {
		out = append(out, pythonArgument{name, hint, value, doc, true})
	}
	python := c.row.Python
	switch {
	case c.has("nelems") && c.has("sig_addr"):
		named("index", "SupportsIndex", "0", "The element of `signal`; a negative one counts from the end.")
	case !c.has("nelems"):
		named("index", "SupportsIndex", "0", "The element, in the order of memory; a negative one counts from the end.")
	}
	if c.row.Contexts {
		named("context", "Context | None", "None", "The context of the operation. In one of a team `pe` is a number in that team.")
	}
	if python.Stream != "" {
		named("stream", "StreamLike | None", "None", "The CUDA stream on which the operation runs, in turn; \"current\" is torch's.")
	}
	if python.Notify != "" {
		named("notify", "SupportsIndex | None", "None",
			"The counter of PE `pe` to which 1 is added once the data is there (`notify_wait`). The arrays then have no strides.")
	}
	if python.Waits {
		named("timeout", "float | None", "None", "Seconds after which the call gives up; None waits without a limit.")
	}
	return out
}

// rank orders the arguments of a function: 0, or 1 for an argument that is passed by name only and
// so comes last.
func (a pythonArgument) rank() int {
	if a.named {
		return 1
	}
	return 0
}

// argument returns the Python argument for a parameter of the C function: its type hint, its
// default, and what the documentation says of it.
func (c *pythonCall) argument(p *spec.Param) pythonArgument {
	a, remote := pythonArgument{name: p.PythonName(), hint: "Memory"}, c.remote()
	elements := "A contiguous symmetric array of " + c.kinds()
	switch {
	case p.Name == "pe":
		a.hint, a.doc = "SupportsIndex", "The other PE; it may be this one."
	case p.Name == "sig_op":
		a.hint, a.value, a.named = "SignalOp | int", "SIGNAL_SET", true
		a.doc = "\"set\" writes `value` to the signal, \"add\" adds it."
	case p.Name == "cmp":
		a.hint, a.doc = "Comparison | int", "The comparison of the element with `value`: ==, !=, <, <=, > or >=."
	case p.Name == "sig_addr":
		a.doc = "A symmetric array of uint64 or int64."
	case p.Name == "fetch":
		a.doc = "Memory of this PE with the dtype of `" + remote.PythonName() + "`; its first element gets the old value."
	case p.C == signalType:
		a.hint, a.doc = "SupportsIndex", "The number for the signal, of 64 bits."
	// The row has a second function for elements longer than a word, so it takes any element.
	case p.C == "T" && c.row.Python.Longer != "":
		a.hint, a.doc = "Source", "The element, which fits the dtype of `"+remote.PythonName()+"`."
	case p.C == "T":
		a.hint, a.doc = "Number", "A number of the element's type."
		// What the call does with the value is said in C alone.
		if strings.HasPrefix(p.Doc, "value that") {
			a.doc = "The " + p.Doc + "."
		}
	case c.has("nelems") && p.Role == spec.Written:
		a.doc = "Symmetric memory. The PE's own array at the same place is written."
	case c.has("nelems") && p.Role == spec.Source:
		a.hint = "Source"
		a.doc = "Memory of the dtype of `dest` and its shape, or numbers that numpy would broadcast in `dest[...] = source`."
	case c.has("nelems") && p.Role == spec.Read:
		a.doc = "Symmetric memory. The PE's own array at the same place is read."
	case c.has("nelems") && p.Role == spec.Result:
		a.doc = "Memory of this PE with the dtype and the shape of `source`."
	case p.Role == spec.Read:
		a.doc = elements + ". The PE's own array at the same place is read."
	case p.Role == spec.Watched:
		a.doc = elements + ", which other PEs write."
	default:
		a.doc = elements + ". The PE's own array at the same place is changed."
	}
	return a
}

// kinds returns the dtypes that the function takes, as words for its docstring.
func (c *pythonCall) kinds() string {
	if c.row.Python.Longer != "" {
		return "any dtype"
	}
	names := strings.Fields(pythonTypes(c.row.Types))
	for i, name := range names {
		names[i] = cmp.Or(map[string]string{"float": "float32", "double": "float64"}[name], name)
	}
	if len(names) == 0 {
		return "uint64 or int64"
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// A pythonRaise is a class of exceptions and what it reports.
type pythonRaise struct{ class, doc string }

// raises returns the exceptions that the Python function may raise, for its documentation.
func (c *pythonCall) raises() []pythonRaise {
	python := c.row.Python
	out := []pythonRaise{{"StateError", "The call is before `init` or after `finalize`."}}
	if c.has("pe") {
		out = append(out, pythonRaise{"PEError", "There is no PE `pe`."})
	}
	out = append(out,
		pythonRaise{"SymmetryError", "An array that must be symmetric is not."},
		pythonRaise{"FreedError", "The array was freed."})
	if c.has("nelems") {
		out = append(out,
			pythonRaise{"DtypeError", "The dtypes differ, or a number does not fit."},
			pythonRaise{"SizeError", "The shapes differ, or an array ends behind its allocation."})
		if c.nbi || c.has("sig_addr") || python.Notify != "" {
			out = append(out, pythonRaise{"LayoutError", "Memory is read-only, or must be contiguous and is not."})
		} else {
			out = append(out, pythonRaise{"LayoutError", "`dest` is read-only."})
		}
	} else {
		out = append(out,
			pythonRaise{"DtypeError", "The array has another type, or a number does not fit it."},
			pythonRaise{"SizeError", "There is no such element."},
			pythonRaise{"LayoutError", "The array is not contiguous."})
	}
	var wrong []string
	for _, name := range []string{"context", "notify", "op", "cmp"} {
		if slices.ContainsFunc(c.arguments(), func(a pythonArgument) bool { return a.name == name }) {
			wrong = append(wrong, "`"+name+"`")
		}
	}
	if len(wrong) > 0 {
		out = append(out, pythonRaise{"ArgumentError", strings.Join(wrong, " or ") + " is not valid."})
	}
	if python.Stream != "" {
		out = append(out, pythonRaise{"DeviceError", "`stream` cannot be used with this heap, or with the other arguments."})
	}
	if python.Waits {
		out = append(out, pythonRaise{"WaitTimeoutError", "`timeout` seconds have passed."})
	}
	if c.has("pe") || python.Waits {
		out = append(out, pythonRaise{"PeerError", "A PE is lost, and the job goes on without it."})
	}
	return out
}

// docstring returns the documentation of the Python function in the form of numpydoc, indented.
// result is the type hint of what it returns.
func (c *pythonCall) docstring(result string) string {
	summary, text, more := strings.Cut(c.doc, "\n\n")
	lines := []string{summary}
	section := func(title string) {
		lines = append(lines, "", title, strings.Repeat("-", len(title)))
	}
	if more {
		for paragraph := range strings.SplitSeq(text, "\n\n") {
			lines = append(lines, "")
			lines = append(lines, pythonWrap(1, strings.ReplaceAll(paragraph, "\n", " "))...)
		}
	}
	section("Parameters")
	for _, a := range c.arguments() {
		kind := a.hint
		if a.value != "" {
			kind = strings.TrimSuffix(kind, " | None") + ", optional"
		}
		lines = append(lines, a.name+" : "+kind)
		lines = append(lines, pythonWrap(2, a.doc)...)
	}
	if result != "None" {
		section("Returns")
		if result == "Any" {
			result = "numpy.generic"
		}
		lines = append(lines, result)
		lines = append(lines, pythonWrap(2, c.row.Python.Returns)...)
	}
	section("Raises")
	for _, r := range c.raises() {
		lines = append(lines, r.class)
		lines = append(lines, pythonWrap(2, r.doc)...)
	}
	out := "    \"\"\"" + strings.Join(lines, "\n    ") + "\n    \"\"\"\n"
	return strings.ReplaceAll(out, "    \n", "\n") // an empty line has no blanks
}

// pythonWrap breaks a text into lines, for a docstring at depth. Lines that are deeper than the
// docstring's own begin with blanks.
func pythonWrap(depth int, text string) []string {
	indent := strings.Repeat("    ", depth-1)
	var out []string
	line := indent
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > pythonWidth-4 { // docstring indents all lines by 4
			out = append(out, line)
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return append(out, line)
}

// head returns the def line of the Python function, and its docstring.
func (c *pythonCall) head(result string) string {
	var words []string
	named := false
	for _, a := range c.arguments() {
		if a.named && !named {
			named = true
			words = append(words, "*")
		}
		word := a.name + ": " + a.hint
		if a.value != "" {
			word += " = " + a.value
		}
		words = append(words, word)
	}
	return pythonCommas(0, "def "+c.name(), words, fmt.Sprintf(" -> %s:", result)) + c.docstring(result)
}

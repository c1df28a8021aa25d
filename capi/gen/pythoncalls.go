package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"libshmem/capi/spec"
)

// pythonCalls are the modules of Python whose functions forward to the library, one for each
// chapter that has some. What they stand on is the package of Python, by hand: contexts, operands,
// neighbours.
func pythonCalls(s *spec.Surface) ([]file, error) {
	var out []file
	if s.Over != nil {
		out = append(out, file{Path: "python/" + s.Name + "/_zz_library.py", Text: banner("# ", "") + in(s, pythonOther(s))})
	}
	for _, c := range s.Chapters() {
		var m pythonModule
		for i := range c.Families {
			if err := m.add(&c.Families[i]); err != nil {
				return nil, err
			}
		}
		if m.body != "" {
			out = append(out, file{Path: "python/" + s.Name + "/_zz_" + c.File + ".py", Text: m.text(s, c.Title)})
		}
	}
	return out, nil
}

// pythonOther loads the library of a surface beside the one that it stands on, which has begun the job.
func pythonOther(s *spec.Surface) string {
	return fmt.Sprintf(`"""The functions of %[1]s, which is loaded with what it stands on."""

import ctypes

from %[2]s import _runtime
from %[3]s import _abi

_keeping = ctypes.PyDLL(%[1]q)
_waiting, _quick = _abi.Library(ctypes.CDLL(%[1]q)), _abi.Library(_keeping)


def library(call):
    """The functions, for a call that may wait."""
    _runtime.library(call)
    return _waiting


def quick(call):
    """The functions, for a call that cannot wait."""
    _runtime.quick(call)
    return _quick


def untyped(name):
    """A quick call whose operands are ctypes' own objects."""
    function = _keeping[name]
    function.restype = None
    return function
`, s.Library, s.Over.Name, s.Name)
}

// A pythonModule is a module's functions, and what they need before them.
type pythonModule struct {
	before, body string
}

// add makes the functions of a row that has any.
func (m *pythonModule) add(f *spec.Family) error {
	if f.Python == nil || f.Front == "" {
		return nil
	}
	calls := []pythonCall{{row: f, doc: f.Python.Doc}}
	if f.Python.DocNbi != "" {
		calls = append(calls, pythonCall{row: f, doc: f.Python.DocNbi, nbi: true})
	}
	for _, c := range calls {
		text, err := c.element(m)
		if err != nil {
			return err
		}
		m.body += "\n\n" + text
	}
	return nil
}

// text is the whole module; it imports what its lines name.
func (m *pythonModule) text(s *spec.Surface, title string) string {
	code := m.before + m.body
	names := map[string][]string{}
	for _, i := range pythonImports(s) {
		for name := range strings.FieldsSeq(i.names) {
			if regexp.MustCompile(`\b` + name + `\b`).MatchString(code) {
				names[i.module] = append(names[i.module], name)
			}
		}
	}
	var b strings.Builder
	b.WriteString(banner("# ", "") + `"""` + title + ".\"\"\"\n\nfrom __future__ import annotations\n\n")
	group := 0
	for _, i := range pythonImports(s) {
		if names[i.module] == nil {
			continue
		}
		if group != 0 && group != i.group {
			b.WriteString("\n")
		}
		group = i.group
		b.WriteString(pythonCommas("from "+i.module+" import ", names[i.module], "", "("))
	}
	return b.String() + "\n" + code
}

type pythonImport struct {
	group  int // of the standard library, of the package
	module string
	names  string // in the order of the linter
}

func pythonImports(s *spec.Surface) []pythonImport {
	base, functions := spec.Shmem.Name, s.Name+"._zz_library"
	if s.Over == nil {
		functions = base + "._runtime"
	}
	out := []pythonImport{
		{1, "typing", "Any SupportsIndex"},
		{2, base + "._contexts", "DEFAULT Context handle_of"},
		{2, base + "._dtypes", "name_of types"},
		{2, base + "._near", "Forms is_near near_element"},
		{2, base + "._numbers", "number"},
		{2, base + "._operands", "address_of element receiver"},
		{2, base + "._runtime", "check_pe settle state"},
	}
	const called = "library quick"
	if s.Over != nil {
		return append(out, pythonImport{2, functions, called})
	}
	last := &out[len(out)-1]
	words := strings.Fields(last.names + " " + called)
	slices.Sort(words)
	last.names = strings.Join(words, " ")
	return out
}

// A pythonCall is one function.
type pythonCall struct {
	row *spec.Family
	doc string
	nbi bool
}

// name is what Python calls the function.
func (c *pythonCall) name() string {
	if c.nbi {
		return c.row.Name + "_nbi"
	}
	return c.row.Name
}

// forms is the table of its quick calls, which the nonblocking form has its types from.
func (c *pythonCall) forms() string { return "_" + strings.ToUpper(c.row.Name) }

// params are those of the row that this form has.
func (c *pythonCall) params() []spec.Param {
	return slices.DeleteFunc(slices.Clone(c.row.Params), func(p spec.Param) bool { return p.Nbi && !c.nbi })
}

// begin is the head of the function, with the docstring.
func (c *pythonCall) begin(result string) string {
	var positional, named []string
	for _, p := range c.params() {
		kind := "Any"
		if p.Name == "pe" {
			kind = "SupportsIndex"
		}
		positional = append(positional, p.PythonName()+": "+kind)
	}
	named = append(named, "index: SupportsIndex = 0")
	if c.row.Contexts {
		named = append(named, "context: Context | None = None")
	}
	doc := strings.ReplaceAll(c.doc, "\n", "\n    ")
	if strings.Contains(doc, "\n") {
		doc = strings.ReplaceAll(doc+"\n    ", "    \n", "\n")
	}
	return pythonCommas("def "+c.name(), slices.Concat(positional, []string{"*"}, named), " -> "+result+":", "") +
		`    """` + doc + `"""` + "\n"
}

// element is a function that works on one element, which an array and index name.
func (c *pythonCall) element(m *pythonModule) (string, error) {
	f := c.row
	var at spec.Param
	var values []string
	for _, p := range c.params() {
		switch {
		case p.IsElement() && p.Role != spec.Result:
			at = p
		case p.C == "T":
			values = append(values, p.PythonName())
		}
	}
	if at.Name == "" {
		return "", fmt.Errorf("%s: the form of Python has no element", f.Name)
	}
	result := "None"
	if f.Result != "" && !c.nbi {
		result = "Any"
	}
	b := &pythonLines{}
	if !c.nbi {
		m.before += pythonCommas(c.forms()+" = Forms", []string{
			"quick", fmt.Sprintf("%q", f.Surface().Prefix()+"{}_"+f.Name), fmt.Sprintf("types(%q)", pythonTypes(f.Types)),
		}, "", "")
		c.quickElement(b, at, values)
	}
	b.add(1, "call = %q", c.name())
	b.add(1, "functions = library(call)")
	b.add(1, "array, address = element(call, %q, %s, index)", at.PythonName(), at.PythonName())
	b.add(1, "kind = name_of(call, array.dtype, %s.table)", c.forms())
	args := []string{"handle"}
	for _, p := range c.params() {
		switch {
		case p.Role == spec.Result:
			b.add(1, "into = receiver(call, %q, %s, array.dtype)", p.PythonName(), p.PythonName())
			args = append(args, "address_of(into)")
		case p.Name == at.Name:
			args = append(args, "address")
		default:
			args = append(args, p.PythonName())
		}
	}
	b.context()
	for _, v := range values {
		b.add(1, "%[1]s = number(call, %[1]q, array.dtype, %[1]s)", v)
	}
	if !c.nbi {
		b.add(1, "if context is None and is_near(pe, address):")
		b.add(2, "functions = quick(call)")
	}
	b.add(1, "function = getattr(functions, f\"%sctx_{kind}_%s\")", f.Surface().Prefix(), c.name())
	answer := ""
	if result != "None" {
		answer = "answer = "
	}
	b.add(1, "%sfunction(%s)", answer, strings.Join(args, ", "))
	if c.nbi {
		b.add(1, "ctx.keep(into)")
	}
	b.settle()
	if answer != "" {
		b.add(1, "return array.dtype.type(answer)")
	}
	return c.begin(result) + b.String(), nil
}

// quickElement is the way of plain arrays and numbers to a neighbour.
func (c *pythonCall) quickElement(b *pythonLines, at spec.Param, values []string) {
	b.add(1, "if context is None and (address := near_element(%s, pe, index)):", at.PythonName())
	dtype := at.PythonName() + ".dtype"
	if c.row.Result != "" {
		b.add(2, "dtype = %s", dtype)
		dtype = "dtype"
	}
	all := []string{"form is not None"}
	if len(values) > 0 {
		b.add(2, "form, of, low, high = %s[%s]", c.forms(), dtype)
	} else {
		b.add(2, "form = %s[%s][0]", c.forms(), dtype)
	}
	for _, v := range values {
		all = append(all, "type("+v+") is of", "low <= "+v+" <= high")
	}
	b.condition(2, all)
	call := "form(" + strings.Join(slices.Concat([]string{"address"}, values, []string{"pe"}), ", ") + ")"
	if c.row.Result != "" {
		b.add(3, "return dtype.type(%s)", call)
		return
	}
	b.add(3, "%s", call)
	b.add(3, "return")
}

var pythonHas = regexp.MustCompile(`^(u?int\d+|float|double)$`)

// pythonTypes are the types among a row's that dtypes have, by width, and real numbers last.
func pythonTypes(types []spec.Type) string {
	key := func(t spec.Type) int {
		if t.Kind == spec.Real {
			return 1000 + t.Bits
		}
		return 2*t.Bits + int(t.Kind)
	}
	types = slices.SortedFunc(slices.Values(types), func(a, b spec.Type) int { return cmp.Compare(key(a), key(b)) })
	var names []string
	for _, t := range types {
		if pythonHas.MatchString(t.Name) {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, " ")
}

// pythonLines is the body of a function.
type pythonLines struct{ strings.Builder }

func (b *pythonLines) add(depth int, format string, args ...any) {
	b.WriteString(strings.Repeat("    ", depth) + fmt.Sprintf(format, args...) + "\n")
}

// condition is an if, which the formatter has on one line or on one for each term.
func (b *pythonLines) condition(depth int, all []string) {
	if line := "if " + strings.Join(all, " and ") + ":"; 4*depth+len(line) <= pythonWidth {
		b.add(depth, "%s", line)
		return
	}
	b.add(depth, "if (")
	for i, term := range all {
		if i > 0 {
			term = "and " + term
		}
		b.add(depth+1, "%s", term)
	}
	b.add(depth, "):")
}

// context finds the context and the PE.
func (b *pythonLines) context() {
	b.add(1, "ctx = context or DEFAULT")
	b.add(1, "handle = handle_of(call, ctx)")
	b.add(1, "pe = check_pe(call, pe, ctx.n_pes)")
}

// settle raises what the call has failed with.
func (b *pythonLines) settle() {
	b.add(1, "if state.failed:")
	b.add(2, "settle(call)")
}

const pythonWidth = 100

// pythonCommas is words with commas as the formatter has them: on one line, on one of their own,
// or on one each. Parentheses that one line needs not are named in open.
func pythonCommas(before string, words []string, after, open string) string {
	list := strings.Join(words, ", ")
	line := before + "(" + list + ")" + after
	if open != "" {
		line = before + list + after
	}
	switch inner := "    " + list; {
	case len(line) <= pythonWidth:
		return line + "\n"
	case open == "" && len(inner) <= pythonWidth:
		return before + "(\n" + inner + "\n)" + after + "\n"
	}
	return before + "(\n    " + strings.Join(words, ",\n    ") + ",\n)" + after + "\n"
}

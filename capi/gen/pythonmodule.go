package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"libshmem/capi/spec"
)

// pythonCalls returns the modules of Python whose functions forward to the library, one for each
// chapter with such functions. They import hand-written modules of the package.
func pythonCalls(s *spec.Surface) ([]file, error) {
	var out []file
	if s.Over != nil {
		out = append(out, file{Path: "python/" + s.Name + "/_zz_library.py", Text: banner("# ", "") + pythonForwarding(s)})
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

// pythonForwarding returns the module that loads the library of a surface (a set of names) whose
// functions call those of another surface, s.Over. The Python package of s.Over starts the job, so
// the module first calls that package's functions library and quick, which raise an exception
// outside a job.
func pythonForwarding(s *spec.Surface) string {
	return fmt.Sprintf(`"""The functions of %[1]s, which call those that the package %[2]s loads."""

import ctypes

from %[2]s import _runtime
from %[3]s import _abi

# Calls by CDLL release the interpreter's lock, and those by PyDLL keep it.
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

// A pythonModule collects the functions of a module, and the tables before them.
type pythonModule struct {
	before, body string
	untyped      []string // C functions without types, to which the fast path passes objects of ctypes
}

// add writes to the module the Python functions of row f of the table: the blocking one and, if the
// row has a text for it, the nonblocking one. It does nothing for a row without a form for Python.
func (m *pythonModule) add(f *spec.Family) error {
	if f.Python == nil || f.Front == "" {
		return nil
	}
	calls := []pythonCall{{row: f, doc: f.Python.Doc}}
	if f.Python.DocNbi != "" {
		calls = append(calls, pythonCall{row: f, doc: f.Python.DocNbi, nbi: true})
	}
	for _, c := range calls {
		b := &pythonLines{}
		write := c.writeElement
		switch {
		case c.has("nelems"):
			write = c.writeCopy
		case f.Python.Longer != "":
			write = c.writeWord
		case c.has("cmp"):
			write = c.writeWatch
		case c.has("sig_addr"):
			write = c.writeSignal
		}
		result, err := write(m, b)
		if err != nil {
			return fmt.Errorf("%s: the form of Python: %w", f.Name, err)
		}
		if result != "None" && f.Python.Returns == "" {
			return fmt.Errorf("%s: the form of Python has no Returns", f.Name)
		}
		m.body += "\n\n" + c.head(result) + b.String()
	}
	return nil
}

// text returns the whole module, with imports of the names that occur in its code.
func (m *pythonModule) text(s *spec.Surface, title string) string {
	code := m.prelude() + m.body
	words := pythonProse.ReplaceAllString(code, "")
	names := map[string][]string{}
	for _, i := range pythonImports(s) {
		for name := range strings.FieldsSeq(i.names) {
			if regexp.MustCompile(`(?:^|[^.\w])` + name + `\b`).MatchString(words) {
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
		b.WriteString(pythonCommas(0, "from "+i.module+" import ", names[i.module], ""))
	}
	return b.String() + "\n" + code
}

// prelude returns the lines of a Python module before its functions: the tables, and the C
// functions without types that init sets.
func (m *pythonModule) prelude() string {
	if m.untyped == nil {
		return m.before
	}
	var declared, names, set string
	for _, name := range m.untyped {
		own := "_" + pythonBare(name)
		declared += own + ": Callable[..., None]\n"
		names += ", " + own
		set += fmt.Sprintf("    %s = untyped(%q)\n", own, name)
	}
	return m.before + "\n# Bound by init, which loads the library. They serve only PEs that loads and stores reach\n" +
		"# (is_near), and before init there are none.\n" + declared +
		// names begins with a comma and a blank.
		"\n\ndef _bind_functions() -> None:\n    global " + names[2:] + "\n" + set + "\n\nafter_init.append(_bind_functions)\n"
}

// pythonBare returns the name of a C function without its prefix: putmem for shmem_putmem.
func pythonBare(name string) string {
	_, bare, _ := strings.Cut(name, "_")
	return bare
}

// pythonProse matches docstrings and comments.
var pythonProse = regexp.MustCompile(`(?s)""".*?"""|# [^\n]*`)

type pythonImport struct {
	group  int // 1: the standard library, 2: other packages, 3: the package itself
	module string
	names  string // the names to import, in the order that the linter wants
}

// pythonImports returns the modules that a generated module may import, and the names in them.
func pythonImports(s *spec.Surface) []pythonImport {
	base, functions := spec.Shmem.Name, s.Name+"._zz_library"
	if s.Over == nil {
		functions = base + "._runtime"
	}
	out := []pythonImport{
		{1, "collections.abc", "Callable"},
		{1, "ctypes", "addressof"},
		{1, "typing", "Any SupportsIndex"},
		{2, "numpy", "empty ndarray"},
		{3, base, "_blocks"},
		{3, base + "._addresses", "address_of pointer_to"},
		{3, base + "._constants", "Comparison SIGNAL_SET SignalOp comparison signal_op"},
		{3, base + "._contexts", "DEFAULT Context handle_of"},
		{3, base + "._copies", "StridedCopy incoming outgoing outgoing_row"},
		{3, base + "._dtypes", "SIGNALS Array name_of types words"},
		{3, base + "._events", "keep"},
		{3, base + "._ghosts", "Ghost"},
		{3, base + "._near", "QUICK Forms is_near near near_element sizes"},
		{3, base + "._notify", "counter_of"},
		{3, base + "._numbers", "number one_of unsigned"},
		{3, base + "._operands", "element receiver signal_word"},
		{3, base + "._protocols", "Memory Number Source StreamLike"},
		{3, base + "._streams", "stream_of"},
		{3, base + "._waiting", "wait"},
		{3, base + "._runtime", "after_init check_pe settle state"},
	}
	const called = "library quick untyped" // they return C functions
	if s.Over != nil {
		return append(out, pythonImport{3, functions, called}, pythonImport{3, s.Name, "_abi"})
	}
	// In OpenSHMEM's package _abi is beside _blocks, and the functions in called are in _runtime, the
	// last module of out. The linter wants one import for each module, and its names sorted.
	blocks := slices.IndexFunc(out, func(i pythonImport) bool { return i.names == "_blocks" })
	out[blocks].names = "_abi " + out[blocks].names
	last := &out[len(out)-1]
	words := strings.Fields(last.names + " " + called)
	slices.Sort(words)
	last.names = strings.Join(words, " ")
	slices.SortStableFunc(out, func(a, b pythonImport) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.module, b.module))
	})
	return out
}

// pythonHas matches the names of types that numpy has.
var pythonHas = regexp.MustCompile(`^(u?int\d+|float|double)$`)

// pythonTypes names the types of a row that numpy has, by width, real numbers last.
func pythonTypes(types []spec.Type) string {
	// 1000 is more than the key of any integer, and of two integers of one width the signed one comes
	// first, as its Kind is the smaller number.
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

// add adds a line at a depth of indentation.
func (b *pythonLines) add(depth int, format string, args ...any) {
	b.WriteString(strings.Repeat("    ", depth) + fmt.Sprintf(format, args...) + "\n")
}

// call adds a call with its arguments.
func (b *pythonLines) call(depth int, function string, args []string) {
	b.WriteString(pythonCommas(depth, function, args, ""))
}

// condition adds an if, on one line or with a line for each term.
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

// begin adds the first lines of a Python function, which name the call and get the library. They
// raise an exception without a job.
func (b *pythonLines) begin(c *pythonCall) {
	b.add(1, "call = %q", c.name())
	b.add(1, "functions = library(call)")
}

// context adds the lines of a Python function that check its context and its PE.
func (b *pythonLines) context() {
	b.add(1, "ctx = context or DEFAULT")
	b.add(1, "handle = handle_of(call, ctx)")
	b.add(1, "pe = check_pe(call, pe, ctx.n_pes)")
}

// settle adds the lines that raise an exception if the call has failed.
func (b *pythonLines) settle() {
	b.add(1, "if state.failed:")
	b.add(2, "settle(call)")
}

const pythonWidth = 100

// pythonCommas lists words in parentheses as the formatter does: on the line of `before`, on one
// further line, or each on a line of its own. For an import, before ends with a blank; a short one
// has no parentheses.
func pythonCommas(depth int, before string, words []string, after string) string {
	indent, list := strings.Repeat("    ", depth), strings.Join(words, ", ")
	imports := strings.HasSuffix(before, " ")
	line := indent + before + "(" + list + ")" + after
	if imports {
		line = before + list
	}
	switch inner := indent + "    " + list; {
	case len(line) <= pythonWidth:
		return line + "\n"
	case !imports && len(inner) <= pythonWidth:
		return indent + before + "(\n" + inner + "\n" + indent + ")" + after + "\n"
	}
	end := ",\n" + indent
	return indent + before + "(\n    " + indent + strings.Join(words, end+"    ") + end + ")" + after + "\n"
}

package main

import (
	"cmp"
	"errors"
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
	untyped      []string // the functions that are called by ctypes' own objects
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
		b := &pythonLines{}
		write := c.element
		switch {
		case c.has("nelems"):
			write = c.copy
		case f.Python.Longer != "":
			write = c.word
		case c.has("sig_addr"):
			write = c.signal
		}
		result, err := write(m, b)
		if err != nil {
			return fmt.Errorf("%s: the form of Python: %w", f.Name, err)
		}
		m.body += "\n\n" + c.head(result) + b.String()
	}
	return nil
}

// text is the whole module; it imports what its lines name.
func (m *pythonModule) text(s *spec.Surface, title string) string {
	code := m.opened() + m.body
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

// opened is what stands before the functions.
func (m *pythonModule) opened() string {
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
	return m.before + "\n# Of the library that is loaded; no PE is near before.\n" + declared +
		"\n\ndef _open() -> None:\n    global " + names[2:] + "\n" + set + "\n\nafter_init.append(_open)\n"
}

// pythonBare is a function's name without its surface.
func pythonBare(name string) string {
	_, bare, _ := strings.Cut(name, "_")
	return bare
}

// pythonProse is what names no function: docstrings and comments.
var pythonProse = regexp.MustCompile(`(?s)""".*?"""|# [^\n]*`)

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
		{1, "collections.abc", "Callable"},
		{1, "typing", "Any SupportsIndex"},
		{2, "numpy", "empty ndarray"},
		{3, base, "_memory"},
		{3, base + "._constants", "SIGNAL_SET signal_op"},
		{3, base + "._contexts", "DEFAULT Context handle_of"},
		{3, base + "._copies", "Apart incoming outgoing outgoing_row"},
		{3, base + "._device", "Ghost"},
		{3, base + "._dtypes", "SIGNALS name_of types words"},
		{3, base + "._events", "keep"},
		{3, base + "._memory", "Array"},
		{3, base + "._near", "QUICK Forms is_near near near_element sizes"},
		{3, base + "._numbers", "number one_of unsigned"},
		{3, base + "._operands", "HEAD address_of element pointer_at receiver signal_word"},
		{3, base + "._streams", "StreamLike stream_of"},
		{3, base + "._runtime", "after_init check_pe settle state"},
	}
	const called = "library quick untyped"
	if s.Over != nil {
		return append(out, pythonImport{3, functions, called}, pythonImport{3, s.Name, "_abi"})
	}
	out[3].names = "_abi " + out[3].names
	last := &out[len(out)-1]
	words := strings.Fields(last.names + " " + called)
	slices.Sort(words)
	last.names = strings.Join(words, " ")
	slices.SortStableFunc(out, func(a, b pythonImport) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.module, b.module))
	})
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

// param is the first parameter that is as asked; one without a name when none is.
func (c *pythonCall) param(is func(p *spec.Param) bool) spec.Param {
	for _, p := range c.params() {
		if is(&p) {
			return p
		}
	}
	return spec.Param{}
}

func (c *pythonCall) has(name string) bool {
	return c.param(func(p *spec.Param) bool { return p.Name == name }).Name != ""
}

// far is the parameter that points to memory of the other PE.
func (c *pythonCall) far() spec.Param {
	return c.param(func(p *spec.Param) bool { return p.IsElement() && isFar(p.Role) })
}

const signalType = "uint64_t"

func isFar(r spec.Role) bool { return r == spec.Written || r == spec.Read || r == spec.Updated }

// values are the numbers that it passes: elements, and what a signal becomes.
func (c *pythonCall) values() []string {
	var out []string
	for _, p := range c.params() {
		if p.C == "T" || p.C == signalType {
			out = append(out, p.PythonName())
		}
	}
	return out
}

// passed is what C is given, each parameter by what it is called in the function.
func passed(params []spec.Param, as func(p *spec.Param) string) []string {
	words := make([]string, len(params))
	for i := range params {
		words[i] = as(&params[i])
	}
	return words
}

// head is the function up to its docstring.
func (c *pythonCall) head(result string) string {
	var words, named []string
	for _, p := range c.params() {
		kind := "Any"
		switch p.Name {
		case "nelems":
			continue
		case "pe":
			kind = "SupportsIndex"
		case "sig_op":
			named = append(named, p.PythonName()+": str | int = SIGNAL_SET")
			continue
		}
		if p.C == signalType {
			kind = "int"
		}
		words = append(words, p.PythonName()+": "+kind)
	}
	if !c.has("nelems") || c.has("sig_addr") {
		named = append(named, "index: SupportsIndex = 0")
	}
	if c.row.Contexts {
		named = append(named, "context: Context | None = None")
	}
	if c.row.Python.Stream != "" {
		named = append(named, "stream: StreamLike | None = None")
	}
	doc := strings.ReplaceAll(c.doc, "\n", "\n    ")
	if strings.Contains(doc, "\n") {
		doc = strings.ReplaceAll(doc+"\n    ", "    \n", "\n")
	}
	return pythonCommas(0, "def "+c.name(), slices.Concat(words, []string{"*"}, named), " -> "+result+":") +
		`    """` + doc + `"""` + "\n"
}

// result is what the function answers, by Python's word.
func (c *pythonCall) result() string {
	switch {
	case c.row.Result == "" || c.nbi:
		return "None"
	case c.row.Result == signalType:
		return "int"
	}
	return "Any"
}

// element works on one element of the row's types, which an array and index name.
func (c *pythonCall) element(m *pythonModule, b *pythonLines) (string, error) {
	far, prefix := c.far(), c.row.Surface().Prefix()
	if far.Name == "" {
		return "", errors.New("no element")
	}
	if !c.nbi {
		c.quickElement(m, b, far)
	}
	b.begin(c)
	b.add(1, "array, address = element(call, %[1]q, %[1]s, index)", far.PythonName())
	b.add(1, "kind = name_of(call, array.dtype, %s.table)", c.forms())
	args := passed(c.params(), func(p *spec.Param) string {
		switch {
		case p.Role == spec.Result:
			b.add(1, "into = receiver(call, %[1]q, %[1]s, array.dtype)", p.PythonName())
			return "address_of(into)"
		case p.Name == far.Name:
			return "address"
		}
		return p.PythonName()
	})
	b.context()
	for _, v := range c.values() {
		b.add(1, "%[1]s = number(call, %[1]q, array.dtype, %[1]s)", v)
	}
	if !c.nbi {
		b.add(1, "if context is None and is_near(pe, address):")
		b.add(2, "functions = quick(call)")
	}
	b.add(1, "function = getattr(functions, f\"%sctx_{kind}_%s\")", prefix, c.name())
	function := "function"
	if c.result() != "None" {
		function = "answer = function"
	}
	b.call(1, function, append([]string{"handle"}, args...))
	if c.nbi {
		b.add(1, "ctx.keep(into)")
	}
	b.settle()
	if c.result() != "None" {
		b.add(1, "return array.dtype.type(answer)")
	}
	return c.result(), nil
}

// word copies one element of whatever dtype: what is as long as a word by its bits.
func (c *pythonCall) word(m *pythonModule, b *pythonLines) (string, error) {
	far, s := c.far(), c.row.Surface()
	longer, err := bytesOf(s, c.row.Python.Longer, false)
	if err != nil || far.Name == "" {
		return "", cmp.Or(err, errors.New("no element"))
	}
	c.quickElement(m, b, far)
	unsigned := slices.DeleteFunc(slices.Clone(c.row.Types), func(t spec.Type) bool { return t.Kind != spec.Unsigned })
	m.before += pythonCommas(0, c.forms()+"_BITS = words", []string{
		fmt.Sprintf("%q", s.Prefix()+"ctx_{}_"+c.row.Name), fmt.Sprintf("%q", pythonTypes(unsigned)),
	}, "")
	b.begin(c)
	b.add(1, "array, address = element(call, %[1]q, %[1]s, index)", far.PythonName())
	reads := far.Role == spec.Read
	if reads {
		b.add(1, "one: Array = empty((), array.dtype)")
	} else {
		b.add(1, "one = one_of(call, %[1]q, %[1]s, array.dtype)", c.values()[0])
	}
	b.context()
	word := fmt.Sprintf("word := %s_BITS.get(one.itemsize)", c.forms())
	if reads {
		b.add(1, "if %s:", word)
		b.add(2, "one.view(word[1])[...] = getattr(functions, word[0])(handle, address, pe)")
	} else { // one that is on a GPU is not read here
		b.condition(1, []string{"not isinstance(one, Ghost)", "(" + word + ")"})
		b.add(2, "getattr(functions, word[0])(handle, address, one.view(word[1]).item(), pe)")
	}
	b.add(1, "else:")
	b.call(2, "functions."+longer.Name, passed(longer.Params(), func(p *spec.Param) string {
		switch {
		case p.Name == "ctx":
			return "handle"
		case p.Name == "nelems":
			return "one.nbytes"
		case isFar(p.Role):
			return "address"
		case p.Role != spec.Plain:
			return "address_of(one)"
		}
		return p.Name
	}))
	b.add(1, "if context is None:")
	b.add(2, "is_near(pe, address)")
	b.settle()
	if reads {
		b.add(1, "return one[()]")
	}
	return c.result(), nil
}

// signal changes a signal of another PE, or reads one of this PE.
func (c *pythonCall) signal(m *pythonModule, b *pythonLines) (string, error) {
	own, forms := c.row.Python, c.row.Functions()
	word := c.param(func(p *spec.Param) bool { return p.Name == "sig_addr" })
	find := fmt.Sprintf("signal_word(call, %s, index)", word.PythonName())
	if !c.has("pe") {
		b.add(1, "call = %q", c.name())
		b.add(1, "functions = library(call) if state.heap == \"device\" else quick(call)")
		b.add(1, "return functions.%s(%s)", forms[0].Name, find)
		return c.result(), nil
	}
	streamed, err := onStream(c.row.Surface(), own.Stream, false)
	if err != nil {
		return "", err
	}
	c.quickElement(m, b, word)
	b.begin(c)
	b.add(1, "address = %s", find)
	b.context()
	for _, v := range c.values() {
		b.add(1, "%[1]s = unsigned(call, %[1]s)", v)
	}
	as := func(p *spec.Param) string {
		switch p.Name {
		case "ctx":
			return "handle"
		case "sig_addr":
			return "address"
		case "sig_op":
			return "_abi." + own.Op
		case "stream":
			return "on"
		}
		return p.PythonName()
	}
	b.add(1, "if stream is not None:")
	b.add(2, "on = stream_of(call, stream, context)")
	b.call(2, "functions."+streamed.Name, passed(streamed.Params(), as))
	b.add(1, "else:")
	with := forms[slices.IndexFunc(forms, func(fn spec.Function) bool { return fn.Ctx })]
	b.call(2, "functions."+with.Name, passed(with.Params(), as))
	b.add(2, "if context is None:")
	b.add(3, "is_near(pe, address)")
	b.settle()
	return c.result(), nil
}

// copy copies arrays.
func (c *pythonCall) copy(m *pythonModule, b *pythonLines) (string, error) {
	far, s := c.far(), c.row.Surface()
	copies := c.row.Python
	near := c.param(func(p *spec.Param) bool { return p.Role == spec.Source || p.Role == spec.Result })
	function, err := bytesOf(s, c.row.Name, c.nbi)
	if err != nil {
		return "", err
	}
	streamed, err := onStream(s, copies.Stream, c.nbi)
	if err != nil {
		return "", err
	}
	signals := c.has("sig_addr")
	if !c.nbi && !signals {
		c.quickCopy(m, b, far, near)
	}
	b.begin(c)
	b.context()
	way, method := "outgoing", "put"
	if near.Role == spec.Result {
		way, method = "incoming", "get"
	}
	if signals {
		b.add(1, "to, of, whole = outgoing_row(call, dest, source)")
		b.add(1, "address = signal_word(call, signal, index)")
		b.add(1, "value = unsigned(call, value)")
		b.add(1, "op = signal_op(call, op)")
	} else {
		b.add(1, "row = %s(call, dest, source)", way)
		b.add(1, "if isinstance(row, Apart):")
		if c.nbi && near.Role == spec.Result { // what has gaps goes by way of an array that has none
			b.add(2, "raise row.refused(call)")
		} else {
			b.add(2, "row.%s(call, handle, pe, stream)", method)
			b.add(2, "return")
		}
		b.add(1, "to, of, whole = row")
	}
	as := func(p *spec.Param) string {
		switch p.Name {
		case "ctx":
			return "handle"
		case "dest":
			return "to"
		case "source":
			return "of"
		case "nelems":
			return "whole.nbytes"
		case "sig_addr":
			return "address"
		case "stream":
			return "on"
		}
		return p.PythonName()
	}
	b.add(1, "if stream is not None:")
	b.add(2, "on = stream_of(call, stream, context)")
	b.call(2, "functions."+streamed.Name, passed(streamed.Params(), as))
	b.add(2, "keep(whole, on)")
	b.add(1, "else:")
	b.call(2, "functions."+function.Name, passed(function.Params(), as))
	if c.nbi {
		b.add(2, "ctx.keep(whole)")
	} else if !signals {
		b.add(2, "if context is None:")
		b.add(3, "is_near(pe, %s)", as(&far))
	}
	b.settle()
	return c.result(), nil
}

// quickCopy is the way of short plain arrays to a neighbour.
func (c *pythonCall) quickCopy(m *pythonModule, b *pythonLines, far, near spec.Param) {
	name := c.row.Surface().Prefix() + c.row.Name + "mem"
	m.untyped = append(m.untyped, name)
	written := "carray" // contiguous, and not only to be read
	if near.Role == spec.Source {
		written = "c_contiguous"
	}
	b.condition(1, []string{
		"type(dest) is ndarray", "type(source) is ndarray", "type(pe) is int", "pe in near", "dest.dtype is source.dtype",
		"context is None", "stream is None", fmt.Sprintf("(n := %s.nbytes) <= QUICK", near.Name),
		fmt.Sprintf("n <= %s.nbytes", far.Name), "dest.flags." + written, "source.flags.c_contiguous",
	})
	b.add(2, "there = pointer_at(id(%s) + HEAD)", far.Name)
	b.add(2, "address = there.value or 0")
	b.add(2, "heap = _memory.heap")
	b.add(2, "if heap.low <= address and address + n <= heap.high or _memory.find(address, n) is not None:")
	b.call(3, "_"+pythonBare(name), passed(c.row.Params, func(p *spec.Param) string {
		switch p.Name {
		case far.Name:
			return "there"
		case near.Name:
			return "pointer_at(id(" + near.Name + ") + HEAD)"
		case "nelems":
			return "sizes[n]"
		}
		return p.Name
	}))
	b.add(3, "return")
}

// bytesOf is the function of a row that copies bytes, with a context.
func bytesOf(s *spec.Surface, row string, nbi bool) (spec.Function, error) {
	for _, c := range s.Chapters() {
		for i := range c.Families {
			if c.Families[i].Name != row {
				continue
			}
			for _, fn := range c.Families[i].Functions() {
				if fn.Form == spec.Mem && fn.Ctx && fn.Nbi == nbi {
					return fn, nil
				}
			}
		}
	}
	return spec.Function{}, fmt.Errorf("%s copies no bytes", row)
}

// onStream is the function of a row's form on a stream, which copies bytes if it copies.
func onStream(s *spec.Surface, row string, nbi bool) (spec.Function, error) {
	rows := s.Extensions()
	for i := range rows {
		if rows[i].Name != row || rows[i].Suffix == "" {
			continue
		}
		for _, fn := range rows[i].Functions() {
			if (fn.Form == spec.Mem || len(rows[i].Types) == 0) && fn.Nbi == nbi {
				return fn, nil
			}
		}
	}
	return spec.Function{}, fmt.Errorf("%s has no form on a stream", row)
}

// quickElement is the way of plain arrays and numbers to a neighbour.
func (c *pythonCall) quickElement(m *pythonModule, b *pythonLines, far spec.Param) {
	fast := slices.DeleteFunc(slices.Clone(c.row.Types), func(t spec.Type) bool { return slices.Contains(c.row.Python.Slow, t) })
	name, types := "{}_"+c.row.Name, fmt.Sprintf("types(%q)", pythonTypes(fast))
	if len(c.row.Types) == 0 {
		name, types = c.row.Name, "SIGNALS"
	}
	m.before += pythonCommas(0, c.forms()+" = Forms", []string{"quick", fmt.Sprintf("%q", c.row.Surface().Prefix()+name), types}, "")
	free := "context is None"
	if c.row.Python.Stream != "" {
		free += " and stream is None"
	}
	b.add(1, "if %s and (address := near_element(%s, pe, index)):", free, far.PythonName())
	dtype := far.PythonName() + ".dtype"
	if c.row.Result != "" {
		b.add(2, "dtype = %s", dtype)
		dtype = "dtype"
	}
	values, all := c.values(), []string{"form is not None"}
	if len(values) > 0 {
		b.add(2, "form, of, low, high = %s[%s]", c.forms(), dtype)
	} else {
		b.add(2, "form = %s[%s][0]", c.forms(), dtype)
	}
	for _, v := range values {
		all = append(all, "type("+v+") is of", "low <= "+v+" <= high")
	}
	b.condition(2, all)
	args := slices.Concat([]string{"address"}, values, []string{"pe"})
	if c.row.Result != "" {
		b.add(3, "return dtype.type(form(%s))", strings.Join(args, ", "))
		return
	}
	b.call(3, "form", args)
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

// call is a call with its arguments.
func (b *pythonLines) call(depth int, function string, args []string) {
	b.WriteString(pythonCommas(depth, function, args, ""))
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

// begin takes the functions, for a call that may wait.
func (b *pythonLines) begin(c *pythonCall) {
	b.add(1, "call = %q", c.name())
	b.add(1, "functions = library(call)")
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
// or on one each. Of an import, which has parentheses only where it is long, before ends with a blank.
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

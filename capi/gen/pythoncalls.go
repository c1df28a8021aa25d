package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"libshmem/capi/spec"
)

// A pythonCall is one function of Python that forwards to the library: the function of a row of the
// table, or its nonblocking form.
type pythonCall struct {
	row *spec.Family
	doc string
	nbi bool
}

// name returns the function's name in Python.
func (c *pythonCall) name() string {
	if c.nbi {
		return c.row.Name + "_nbi"
	}
	return c.row.Name
}

// forms returns the name of the Python table with the functions of the fast path, by dtype. The
// nonblocking form, which has no fast path, looks its types up there.
func (c *pythonCall) forms() string { return "_" + strings.ToUpper(c.row.Name) }

// params returns the row's parameters, except those that only its other form (blocking or
// nonblocking) has.
func (c *pythonCall) params() []spec.Param {
	return slices.DeleteFunc(slices.Clone(c.row.Params), func(p spec.Param) bool { return p.Nbi && !c.nbi })
}

// param returns the first parameter for which `is` returns true, or a parameter without a name.
func (c *pythonCall) param(is func(p *spec.Param) bool) spec.Param {
	for _, p := range c.params() {
		if is(&p) {
			return p
		}
	}
	return spec.Param{}
}

// has reports whether the function has a parameter of this name.
func (c *pythonCall) has(name string) bool {
	return c.param(func(p *spec.Param) bool { return p.Name == name }).Name != ""
}

// remote returns the parameter of the function that points to memory of the other PE.
func (c *pythonCall) remote() spec.Param {
	return c.param(func(p *spec.Param) bool { return p.IsElement() && isRemote(p.Role) })
}

const signalType = "uint64_t"

// isRemote reports whether a parameter of the role points to memory of the other PE.
func isRemote(r spec.Role) bool { return r == spec.Written || r == spec.Read || r == spec.Updated }

// values returns the names of the parameters that are numbers: elements (T), and values of a
// signal.
func (c *pythonCall) values() []string {
	var out []string
	for _, p := range c.params() {
		if p.C == "T" || p.C == signalType {
			out = append(out, p.PythonName())
		}
	}
	return out
}

// callWords returns the words, in Python, of the arguments of a call into C: for each parameter the
// expression in as, else the one in pythonWords, else the parameter's own name.
func callWords(params []spec.Param, as map[string]string) []string {
	words := make([]string, len(params))
	for i, p := range params {
		words[i] = cmp.Or(as[p.Name], pythonWords[p.Name], p.PythonName())
	}
	return words
}

// pythonWords are the variables that all generated functions use for some parameters.
var pythonWords = map[string]string{"ctx": "handle", "sig_addr": "address", "stream": "on"}

// result returns the type hint of what the Python function returns; a status of C, 0 or not, is a
// bool.
func (c *pythonCall) result() string {
	switch {
	case c.row.Result == "" || c.nbi:
		return "None"
	case c.row.Result == signalType:
		return "int"
	case c.row.Result == "int":
		return "bool"
	}
	return "Any"
}

// writeElement writes the Python function of a call on one element of a symmetric array, such as an
// atomic operation, and returns the type hint of the function's result. A call on near memory does
// not wait, so it does not release the interpreter's lock (quick).
func (c *pythonCall) writeElement(m *pythonModule, b *pythonLines) (string, error) {
	far, prefix := c.remote(), c.row.Surface().Prefix()
	if far.Name == "" {
		return "", errors.New("no element")
	}
	if !c.nbi {
		c.quickElement(m, b, far)
	}
	b.begin(c)
	b.add(1, "array, address = element(call, %[1]q, %[1]s, index)", far.PythonName())
	b.add(1, "kind = name_of(call, array.dtype, %s.table)", c.forms())
	if c.nbi {
		b.add(1, "into = receiver(call, \"fetch\", fetch, array.dtype)")
	}
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
		function = "result = function"
	}
	args := callWords(c.params(), map[string]string{"fetch": "address_of(into)", far.Name: "address"})
	b.call(1, function, append([]string{"handle"}, args...))
	if c.nbi {
		b.add(1, "ctx.keep(into)")
	}
	b.settle()
	if c.result() != "None" {
		b.add(1, "return array.dtype.type(result)")
	}
	return c.result(), nil
}

// writeWord writes the Python function that copies one element of any dtype, p or g: as an unsigned
// integer if C has one of the element's size, else by the function that copies bytes, of the row
// Longer. It returns the type hint of the function's result, as the other write functions do.
func (c *pythonCall) writeWord(m *pythonModule, b *pythonLines) (string, error) {
	far, s := c.remote(), c.row.Surface()
	longer, err := bytesFunction(s, c.row.Python.Longer, false)
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
	} else { // the program cannot read a Ghost, which is in GPU memory
		b.condition(1, []string{"not isinstance(one, Ghost)", "(" + word + ")"})
		b.add(2, "getattr(functions, word[0])(handle, address, one.view(word[1]).item(), pe)")
	}
	b.add(1, "else:")
	as := map[string]string{"dest": "address_of(one)", "source": "address_of(one)", "nelems": "one.nbytes"}
	as[far.Name] = "address"
	b.call(2, "functions."+longer.Name, callWords(longer.Params(), as))
	b.add(1, "if context is None:")
	b.add(2, "is_near(pe, address)")
	b.settle()
	if reads {
		b.add(1, "return one[()]")
	}
	return c.result(), nil
}

// writeSignal writes the Python function that changes a signal of another PE, or reads one of this
// PE.
func (c *pythonCall) writeSignal(m *pythonModule, b *pythonLines) (string, error) {
	python, forms := c.row.Python, c.row.Functions()
	word := c.param(func(p *spec.Param) bool { return p.Name == "sig_addr" })
	find := fmt.Sprintf("signal_word(call, %s, index)", word.PythonName())
	if !c.has("pe") {
		b.add(1, "call = %q", c.name())
		b.add(1, "functions = library(call) if state.heap == \"device\" else quick(call)")
		b.add(1, "return functions.%s(%s)", forms[0].Name, find)
		return c.result(), nil
	}
	streamed, err := streamFunction(c.row.Surface(), python.Stream, false)
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
	as := map[string]string{"sig_op": "_abi." + python.Op}
	b.add(1, "if stream is not None:")
	b.add(2, "on = stream_of(call, stream, context)")
	b.call(2, "functions."+streamed.Name, callWords(streamed.Params(), as))
	b.add(1, "else:")
	onContext := forms[slices.IndexFunc(forms, func(fn spec.Function) bool { return fn.Ctx })]
	b.call(2, "functions."+onContext.Name, callWords(onContext.Params(), as))
	b.add(2, "if context is None:")
	b.add(3, "is_near(pe, address)")
	b.settle()
	return c.result(), nil
}

// writeWatch writes the Python function of a test or a wait, which compares a word of this PE. The
// C function has the element type in its name (kind), unless it is for signals. The function has
// no fast path, because a test may have to poll the network.
func (c *pythonCall) writeWatch(m *pythonModule, b *pythonLines) (string, error) {
	python, s, kind := c.row.Python, c.row.Surface(), ""
	word, value := c.params()[0].PythonName(), c.values()[0]
	b.begin(c)
	if len(c.row.Types) > 0 {
		kind = "{kind}_"
		m.before += pythonCommas(0, c.forms()+" = types", []string{fmt.Sprintf("%q", pythonTypes(c.row.Types))}, "")
		b.add(1, "array, address = element(call, %[1]q, %[1]s, index)", word)
		b.add(1, "kind = name_of(call, array.dtype, %s)", c.forms())
	} else {
		b.add(1, "address = signal_word(call, %s, index)", word)
	}
	b.add(1, "cmp = comparison(call, cmp)")
	if kind != "" {
		b.add(1, "%[1]s = number(call, %[1]q, array.dtype, %[1]s)", value)
	} else {
		b.add(1, "%[1]s = unsigned(call, %[1]s)", value)
	}
	function := func(name string) string {
		if kind != "" {
			return fmt.Sprintf("getattr(functions, f%q)", name)
		}
		return "functions." + name
	}
	args := []string{"address", "cmp", value}
	if python.Stream != "" {
		b.add(1, "if stream is not None:")
		if python.Waits {
			b.add(2, "on = stream_of(call, stream, timeout=timeout)")
		} else {
			b.add(2, "on = stream_of(call, stream)")
		}
		b.call(2, function(s.Extension()+kind+python.Stream+c.row.OnStream().Suffix), append(slices.Clone(args), "on"))
		if c.row.Result != "" {
			b.add(2, "return %s", value)
		} else {
			b.add(2, "return")
		}
	}
	called := function(s.Prefix() + kind + c.row.Name)
	if python.Waits {
		called, args = "wait", slices.Concat([]string{"call", called}, args, []string{"timeout=timeout"})
	}
	if c.row.Result != "" {
		called = "result: int = " + called
	}
	b.call(1, called, args)
	b.settle()
	switch c.result() {
	case "bool":
		b.add(1, "return result != 0")
	case "int":
		b.add(1, "return result")
	}
	return c.result(), nil
}

// writeCopy writes the Python function of a put or a get of arrays, with its variants on a CUDA
// stream, with a signal or with a notification. In the Python that it writes, outgoing and incoming
// check the arrays. They return a row: the two addresses (to and of) and the contiguous array whose
// bytes are copied (whole); or, if an array has gaps, a StridedCopy, which copies it by several
// blocking calls. keep stores a reference to that array, so that it lives until the copy is
// complete.
func (c *pythonCall) writeCopy(m *pythonModule, b *pythonLines) (string, error) {
	far, s := c.remote(), c.row.Surface()
	near := c.param(func(p *spec.Param) bool { return p.Role == spec.Source || p.Role == spec.Result })
	function, err := bytesFunction(s, c.row.Name, c.nbi)
	if err != nil {
		return "", err
	}
	streamed, err := streamFunction(s, c.row.Python.Stream, c.nbi)
	if err != nil {
		return "", err
	}
	signals, notifies := c.has("sig_addr"), c.row.Python.Notify != ""
	if !c.nbi && !signals {
		c.quickCopy(m, b, far, near)
	}
	b.begin(c)
	b.context()
	direction, method := "outgoing", "put"
	if near.Role == spec.Result {
		direction, method = "incoming", "get"
	}
	if signals {
		b.add(1, "to, of, whole = outgoing_row(call, dest, source)")
		b.add(1, "address = signal_word(call, signal, index)")
		b.add(1, "value = unsigned(call, value)")
		b.add(1, "op = signal_op(call, op)")
	} else {
		if notifies {
			b.add(1, "if notify is not None:")
			b.add(2, "counter = counter_of(call, notify)")
			b.add(2, "to, of, whole = outgoing_row(call, dest, source)")
			notifying, err := notifyingFunction(s, c.row.Python.Notify, c.nbi)
			if err != nil {
				return "", err
			}
			notifyingStreamed, err := streamFunction(s, c.row.Python.Notify, c.nbi)
			if err != nil {
				return "", err
			}
			as := map[string]string{"dest": "to", "source": "of", "nbytes": "whole.nbytes", "notify": "counter"}
			b.add(2, "if stream is not None:")
			b.add(3, "on = stream_of(call, stream, context)")
			b.call(3, "functions."+notifyingStreamed.Name, callWords(notifyingStreamed.Params(), as))
			b.add(3, "keep(whole, on)")
			b.add(2, "else:")
			b.call(3, "functions."+notifying.Name, callWords(notifying.Params(), as))
			if c.nbi {
				b.add(3, "ctx.keep(whole)")
			}
			b.add(2, "if state.failed:")
			b.add(3, "settle(call)")
			b.add(2, "return")
		}
		b.add(1, "row = %s(call, dest, source)", direction)
		b.add(1, "if isinstance(row, StridedCopy):")
		if c.nbi && near.Role == spec.Result { // a copy with gaps blocks until it is complete
			b.add(2, "raise row.refused(call)")
		} else {
			b.add(2, "row.%s(call, handle, pe, stream)", method)
			b.add(2, "return")
		}
		b.add(1, "to, of, whole = row")
	}
	as := map[string]string{"dest": "to", "source": "of", "nelems": "whole.nbytes"}
	b.add(1, "if stream is not None:")
	b.add(2, "on = stream_of(call, stream, context)")
	b.call(2, "functions."+streamed.Name, callWords(streamed.Params(), as))
	b.add(2, "keep(whole, on)")
	b.add(1, "else:")
	b.call(2, "functions."+function.Name, callWords(function.Params(), as))
	if c.nbi {
		b.add(2, "ctx.keep(whole)")
	} else if !signals {
		b.add(2, "if context is None:")
		b.add(3, "is_near(pe, %s)", as[far.Name])
	}
	b.settle()
	return c.result(), nil
}

// quickCopy writes the fast path of a copy, which a call uses if both arrays are short, contiguous
// arrays of numpy, and this process can access the PE's memory.
func (c *pythonCall) quickCopy(m *pythonModule, b *pythonLines, far, near spec.Param) {
	name := c.row.Surface().Prefix() + c.row.Name + "mem"
	m.untyped = append(m.untyped, name)
	defaults := []string{"context is None", "stream is None"} // what the fast path does not serve is left out
	if c.row.Python.Notify != "" {
		defaults = append(defaults, "notify is None")
	}
	b.condition(1, slices.Concat([]string{
		"type(dest) is ndarray", "type(source) is ndarray", "type(pe) is int", "pe in near", "dest.dtype is source.dtype",
	}, defaults, []string{
		fmt.Sprintf("(n := %s.nbytes) <= QUICK", near.Name),
		"dest.shape == source.shape",
	}))
	b.add(2, "try:")
	b.add(3, "there, here = pointer_to(%s), pointer_to(%s)", far.Name, near.Name)
	b.add(2, "except (TypeError, ValueError):")
	b.add(3, "pass  # with gaps, read-only, or of a type without a buffer: the long path")
	b.add(2, "else:")
	b.add(3, "address, heap = addressof(there), _blocks.heap")
	b.add(3, "if heap.low <= address and address + n <= heap.high or _blocks.find(address, n):")
	b.call(4, "_"+pythonBare(name), callWords(c.row.Params, map[string]string{
		far.Name: "there", near.Name: "here", "nelems": "sizes[n]",
	}))
	b.add(4, "return")
}

// quickElement writes the fast path of a function on one element, which a call uses if the array is
// one of numpy, the values are numbers of Python, and this process can access the PE's memory. In
// the Python that it writes, an entry of Forms has the C function for a dtype (form), the Python
// type of values (of), and the least and the greatest value (low, high).
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
	b.add(2, "plain: Any = %s", far.PythonName())
	dtype := "plain.dtype"
	if c.row.Result != "" {
		b.add(2, "dtype = %s", dtype)
		dtype = "dtype"
	}
	values, conditions := c.values(), []string{"form is not None"}
	for i, v := range values {
		values[i] = "plain_" + v
		b.add(2, "%s: Any = %s", values[i], v)
	}
	if len(values) > 0 {
		b.add(2, "form, of, low, high = %s[%s]", c.forms(), dtype)
	} else {
		b.add(2, "form = %s[%s][0]", c.forms(), dtype)
	}
	for _, v := range values {
		conditions = append(conditions, "type("+v+") is of", "low <= "+v+" <= high")
	}
	b.condition(2, conditions)
	args := slices.Concat([]string{"address"}, values, []string{"pe"})
	if c.row.Result != "" {
		b.add(3, "return dtype.type(form(%s))", strings.Join(args, ", "))
		return
	}
	b.call(3, "form", args)
	b.add(3, "return")
}

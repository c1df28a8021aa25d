package main

import (
	"fmt"
	"slices"
	"strings"

	"libshmem"
	"libshmem/capi/spec"
)

// pythonFiles makes the library's description for Python: its version, its constants and the
// signatures of its functions, and a stub for type checkers.
func pythonFiles(s *spec.Surface) ([]file, error) {
	functions := pythonFunctions(s)
	table, err := pythonTable(s, functions)
	if err != nil {
		return nil, err
	}
	stub, err := pythonStub(s, functions)
	if err != nil {
		return nil, err
	}
	return []file{
		{Path: "python/" + s.Name + "/_abi.py", Text: table},
		{Path: "python/" + s.Name + "/_abi.pyi", Text: stub},
	}, nil
}

// pythonFunctions returns the functions that the Python module may call, sorted by name: all of the
// host's, except extensions for types that only GPUs have (movesLate).
func pythonFunctions(s *spec.Surface) []spec.Function {
	var out []spec.Function
	for _, c := range s.Chapters() {
		for i := range c.Families {
			out = append(out, c.Families[i].Functions()...)
		}
	}
	extensions := s.Extensions()
	for i := range extensions {
		for _, f := range extensions[i].Functions() {
			if !movesLate(f) {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, func(a, b spec.Function) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// movesLate reports whether a function has a parameter or result of a type that only GPUs have
// (half or bfloat16).
func movesLate(f spec.Function) bool {
	return f.Type.Kind == spec.Late && (f.Result() == "T" ||
		slices.ContainsFunc(f.Params(), func(p spec.Param) bool { return p.C == "T" }))
}

// pythonCodes maps C types that are passed by value to the letters of Python's module struct, which
// ctypes uses, too. void has no letter there.
var pythonCodes = map[string]string{
	"void": "v", "float": "f", "double": "d", "long double": "g",
	"char": "b", "signed char": "b", "short": "h", "int": "i", "long": "l", "long long": "q",
	"unsigned char": "B", "unsigned short": "H", "unsigned int": "I", "unsigned long": "L",
	"unsigned long long": "Q", "const char *": "z",
}

// pythonCode returns the letter of a C type in the signatures for Python. Pointers are passed as
// numbers, which is how numpy has them. A const char * is a text only in a function without element
// types, because in others it may point to elements of type char.
func pythonCode(f spec.Function, c string) (string, error) {
	if c == "const char *" && len(f.Family.Types) > 0 {
		return "P", nil
	}
	if code, ok := pythonCodes[spec.SameAs(strings.TrimPrefix(c, "const "))]; ok {
		return code, nil
	}
	for _, h := range f.Family.Surface().Handles {
		if h.C == c {
			return h.Letter, nil
		}
	}
	if code, ok := pythonCodes[c]; ok {
		return code, nil
	}
	if strings.HasSuffix(c, "*") {
		return "P", nil
	}
	return "", fmt.Errorf("type %q has no letter (add it to pythonCodes)", c)
}

// pythonType returns the hint for type checkers that belongs to a letter of a signature.
func pythonType(code string, result bool) string {
	switch code {
	case "v":
		return "None"
	case "f", "d", "g":
		return "float"
	case "z":
		if result {
			return "bytes | None"
		}
		return "bytes"
	}
	return "int"
}

// pythonSignature returns the letters of a function: that of its result, then its parameters'.
func pythonSignature(f spec.Function) (string, error) {
	out, err := pythonCode(f, cType(f.Result(), f.Type))
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name, err)
	}
	for _, p := range f.Params() {
		if p.C == "" {
			continue // the three dots, for which Python passes nothing
		}
		code, err := pythonCode(f, cType(p.C, f.Type))
		if err != nil {
			return "", fmt.Errorf("%s: %w", f.Name, err)
		}
		out += code
	}
	return out, nil
}

// pythonConstants calls f with the name of each constant of the library and its value as Python
// writes it.
func pythonConstants(s *spec.Surface, f func(name, value string, isText bool)) {
	for _, groups := range [][]spec.ConstantGroup{s.Constants(), s.ExtensionConstants()} {
		for _, g := range groups {
			for _, c := range g.Constants {
				value := strings.ReplaceAll(c.Value, "$VERSION", libshmem.Version)
				isText := strings.HasPrefix(value, `"`)
				if !isText { // a number, without the suffix of C's long, which Python does not know
					value = strings.TrimSuffix(strings.Trim(value, "()"), "L")
				}
				f(c.Name, value, isText)
			}
		}
	}
}

const pythonTop = `"""The library's interface: constants, and how each function is called.

A signature is the letter of the result and of each parameter, as the module struct has
them; v is void, z a text of C, and P an address, which is an int, 0 for NULL.
"""

import ctypes

`

const pythonLibrary = `
_TYPES = {
    "v": None,
    "b": ctypes.c_byte,
    "B": ctypes.c_ubyte,
    "h": ctypes.c_short,
    "H": ctypes.c_ushort,
    "i": ctypes.c_int,
    "I": ctypes.c_uint,
    "l": ctypes.c_long,
    "L": ctypes.c_ulong,
    "q": ctypes.c_longlong,
    "Q": ctypes.c_ulonglong,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
    "g": ctypes.c_longdouble,
    "z": ctypes.c_char_p,
    # A size_t is converted in half the time of a c_void_p, and is never None.
    "P": ctypes.c_size_t,
}


def functions():
    """The signature of each function, by its name."""
    return dict(line.split(" ") for line in _SIGNATURES.splitlines())


class Library:
    """The functions of one loaded library, each prepared when it is first used."""

    def __init__(self, handle):
        self._handle = handle
        self._signatures = functions()

    def __getattr__(self, name):
        signature = self._signatures.get(name)
        if signature is None:
            raise AttributeError(name)
        function = getattr(self._handle, name)
        function.restype = _TYPES[signature[0]]
        function.argtypes = [_TYPES[letter] for letter in signature[1:]]
        setattr(self, name, function)
        return function
`

// pythonTable returns _abi.py: the version, the constants and the signatures of the functions.
func pythonTable(s *spec.Surface, functions []spec.Function) (string, error) {
	var b strings.Builder
	b.WriteString(banner("# ", ""))
	b.WriteString(pythonTop)
	fmt.Fprintf(&b, "VERSION = %q\n", libshmem.Version)
	pythonConstants(s, func(name, value string, _ bool) { fmt.Fprintf(&b, "%s = %s\n", name, value) })
	b.WriteString("\n_SIGNATURES = \"\"\"\\\n")
	for _, f := range functions {
		signature, err := pythonSignature(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %s\n", f.Name, signature)
	}
	b.WriteString("\"\"\"\n" + pythonLibrary)
	return b.String(), nil
}

// pythonStub returns _abi.pyi, which declares the contents of _abi.py for type checkers.
func pythonStub(s *spec.Surface, functions []spec.Function) (string, error) {
	var b strings.Builder
	b.WriteString(banner("# ", ""))
	b.WriteString("import ctypes\n\nVERSION: str\n")
	pythonConstants(s, func(name, _ string, isText bool) {
		kind := "int"
		if isText {
			kind = "str"
		}
		fmt.Fprintf(&b, "%s: %s\n", name, kind)
	})
	b.WriteString("\ndef functions() -> dict[str, str]: ...\n\nclass Library:\n    def __init__(self, handle: ctypes.CDLL) -> None: ...\n")
	for _, f := range functions {
		signature, err := pythonSignature(f)
		if err != nil {
			return "", err
		}
		params := "self"
		for _, p := range f.Params() {
			if p.C != "" {
				code, _ := pythonCode(f, cType(p.C, f.Type)) // pythonSignature has returned the errors
				params += fmt.Sprintf(", %s: %s", p.Name, pythonType(code, false))
			}
		}
		if len(f.Params()) > 0 {
			params += ", /"
		}
		fmt.Fprintf(&b, "    def %s(%s) -> %s: ...\n", f.Name, params, pythonType(signature[:1], true))
	}
	return b.String(), nil
}

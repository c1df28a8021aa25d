package repo

import (
	"go/ast"
	"go/constant"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"libshmem/abi/table"
)

// ownNumbers are constants that share their name with a number of the table but mean something
// else, by name or by file and name, with their meaning.
var ownNumbers = map[string]string{
	"page":                              "memory has pages where the table says nothing, too",
	"runtime/shmerr/status.go NoMemory": "a status that programs see",
	"examples/reshard/symmetric.c CACHE_LINE": "a program of a user's, which has no header of abi",
}

// TestNumbersStandOnce finds hand-written constants with the name of a number of the table, in Go
// also with its name in Go, in any spelling. A name of a single word may mean many things: such a
// constant counts only if it has the same value, too.
func TestNumbersStandOnce(t *testing.T) {
	inC, inGo := numbers{}, numbers{}
	add := func(name string, value int) {
		inC.add(name, int64(value))
		inGo.add(name, int64(value))
	}
	for _, c := range table.Constants {
		add(c.Name, c.Value)
	}
	for _, u := range table.Units() {
		for _, c := range u.Constants {
			add(c.Name, c.Value)
		}
		for i := range u.Enums {
			for j, v := range u.Enums[i].Values {
				add(u.Enums[i].Prefix+v.Name, u.Enums[i].Number(j))
			}
		}
	}
	parsed := sources(t)
	for _, s := range parsed {
		if strings.Contains(string(firstLine(s.data)), "abi/gen") {
			goNumbers(s.ast, func(id *ast.Ident, value int64) { inGo.add(id.Name, value) })
		}
	}
	if len(inGo) < len(inC)+100 {
		t.Errorf("%d names of numbers in C, %d with those in Go: the test looks in the wrong place", len(inC), len(inGo))
	}
	met := map[string]bool{}
	tell := func(f file, line int, in numbers, name string, value int64) {
		if f.generated() || path.Dir(f.path) == "abi/table" || !in.repeated(name, value) {
			return
		}
		for _, key := range []string{folded(name), f.path + " " + name} {
			if ownNumbers[key] != "" {
				met[key] = true
				return
			}
		}
		t.Errorf("%s:%d: %s = %d stands in abi/table already (use the constant that comes of it)", f.path, line, name, value)
	}
	for _, s := range parsed {
		goNumbers(s.ast, func(id *ast.Ident, value int64) { tell(s.file, s.at(id).Line, inGo, id.Name, value) })
	}
	for _, f := range files(t) {
		if ext := path.Ext(f.path); ext != "" && strings.Contains(".c.h.cc.cu.cuh", ext) {
			cNumbers(f.data, func(at int, name string, value int64) { tell(f, lineOf(f.data, at), inC, name, value) })
		}
	}
	for key := range ownNumbers {
		if !met[key] {
			t.Errorf("ownNumbers has %s, which is nowhere", key)
		}
	}
}

// numbers are those of a name, which is folded.
type numbers map[string]struct {
	values []int64
	words  bool // the name has several
}

// severalWords is a name of them in C or in Go.
var severalWords = regexp.MustCompile(`\w_\w|[a-z][A-Z]`)

func (n numbers) add(name string, value int64) {
	k := n[folded(name)]
	k.values = append(k.values, value)
	k.words = k.words || severalWords.MatchString(name)
	n[folded(name)] = k
}

func (n numbers) repeated(name string, value int64) bool {
	k := n[folded(name)]
	return k.words || slices.Contains(k.values, value)
}

// folded returns a name as all spellings of it are.
func folded(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(name), "shmemi_"), "_", "")
}

// goNumbers calls f with each constant of a file that is written as a number.
func goNumbers(in *ast.File, f func(id *ast.Ident, value int64)) {
	ast.Inspect(in, func(n ast.Node) bool {
		list, ok := n.(*ast.GenDecl)
		if !ok || list.Tok != token.CONST {
			return true
		}
		var before []ast.Expr // a line without values repeats them
		for i, spec := range list.Specs {
			s := spec.(*ast.ValueSpec)
			if len(s.Values) > 0 {
				before = s.Values
			}
			for j, id := range s.Names {
				if j >= len(before) {
					break
				}
				if value, ok := constant.Int64Val(number(before[j], int64(i))); ok {
					f(id, value)
				}
			}
		}
		return true
	})
}

// number returns the value of an expression of numbers and iota, else it is unknown.
func number(e ast.Expr, iota int64) constant.Value {
	known := func(v constant.Value) bool { return v.Kind() == constant.Int }
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.INT {
			return constant.MakeFromLiteral(e.Value, e.Kind, 0)
		}
	case *ast.Ident:
		if e.Name == "iota" {
			return constant.MakeInt64(iota)
		}
	case *ast.ParenExpr:
		return number(e.X, iota)
	case *ast.UnaryExpr:
		if x := number(e.X, iota); known(x) && e.Op == token.SUB {
			return constant.UnaryOp(e.Op, x, 0)
		}
	case *ast.BinaryExpr:
		x, y := number(e.X, iota), number(e.Y, iota)
		if !known(x) || !known(y) {
			break
		}
		switch e.Op {
		case token.SHL:
			n, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(n))
		case token.ADD, token.SUB, token.MUL, token.OR:
			return constant.BinaryOp(x, e.Op, y)
		}
	}
	return constant.MakeUnknown()
}

// What gives a number a name in C, besides an enum.
var (
	cMacro = regexp.MustCompile(`(?m)^\s*#\s*define\s+(\w+)\s+(\S.*?)\s*(?:/\*.*)?$`)
	cConst = regexp.MustCompile(`\bconst(?:expr)?\s+(?:\w+\s+)+(\w+)\s*=\s*([^;,]+)[;,]`)
	cEntry = regexp.MustCompile(`^\s*(\w+)\s*(?:=\s*(.*?)\s*)?$`)
	cShift = regexp.MustCompile(`^(\w+)\s*<<\s*(\w+)$`)
)

// cNumbers calls f with each name of a number.
func cNumbers(data []byte, f func(at int, name string, value int64)) {
	for _, defines := range []*regexp.Regexp{cMacro, cConst} {
		for _, m := range defines.FindAllSubmatchIndex(data, -1) {
			if value, ok := cNumber(string(data[m[4]:m[5]])); ok {
				f(m[2], string(data[m[2]:m[3]]), value)
			}
		}
	}
	for _, m := range cEnum.FindAllSubmatchIndex(data, -1) {
		next := int64(0)
		for _, entry := range strings.Split(string(comment.ReplaceAll(data[m[2]:m[3]], nil)), ",") {
			e := cEntry.FindStringSubmatch(entry)
			if e == nil {
				continue
			}
			if e[2] != "" {
				value, ok := cNumber(e[2])
				if !ok {
					break
				}
				next = value
			}
			f(m[0], e[1], next)
			next++
		}
	}
}

// cNumber returns the value of a number as C has it.
func cNumber(text string) (int64, bool) {
	text = strings.Trim(text, "() ")
	if m := cShift.FindStringSubmatch(text); m != nil {
		x, a := cNumber(m[1])
		y, b := cNumber(m[2])
		return x << (y & 63), a && b
	}
	value, err := strconv.ParseInt(strings.TrimRight(text, "uUlL"), 0, 64)
	return value, err == nil
}

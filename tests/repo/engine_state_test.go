package repo

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// engineFolders are the packages of an engine, and those that it shares with C and its loop.
var engineFolders = []string{"runtime/proxy", "runtime/sequence", "queue"}

func ofEngine(pkg string) bool {
	for _, folder := range engineFolders {
		if pkg == folder || strings.HasPrefix(pkg, folder+"/") {
			return true
		}
	}
	return false
}

// staticWord is a variable of C that keeps a value from one call to the next.
var staticWord = regexp.MustCompile(`(?m)^\s*(?:static\s+(?:_Thread_local\s+|__thread\s+)?)(?:const\s+)?[\w\s*]+\b\w+(?:\[\w*\])*\s*(?:=[^;]*)?;`)

// TestEngineState checks that what an engine knows is in that engine: several may be open in one
// process, each with its own network, log and end of its job. A variable of a package is a table or
// an error, which nothing changes.
func TestEngineState(t *testing.T) {
	vars := map[string]map[string]bool{} // by package
	var all []source
	for _, s := range sources(t) {
		if !ofEngine(s.pkg) || s.test {
			continue
		}
		all = append(all, s)
		for _, spec := range packageVars(s) {
			for _, n := range spec.Names {
				if n.Name == "_" {
					continue
				}
				if changes(spec) {
					t.Errorf("%s: variable %s of package %s can change (make it a member of the engine)", s.at(n), n.Name, s.pkg)
				}
				if vars[s.pkg] == nil {
					vars[s.pkg] = map[string]bool{}
				}
				vars[s.pkg][n.Name] = true
			}
		}
	}
	for _, s := range all {
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			own := declaredIn(f)
			ast.Inspect(f, func(n ast.Node) bool {
				for _, to := range written(n) {
					if vars[s.pkg][to.Name] && !own[to.Name] {
						t.Errorf("%s: changes variable %s of package %s (make it a member of the engine)", s.at(to), to.Name, s.pkg)
					}
				}
				return true
			})
		}
	}
	if len(vars["runtime/proxy"]) == 0 || len(vars["runtime/proxy/layout"]) == 0 {
		t.Errorf("no variables found: the test looks in the wrong place: %v", vars)
	}
	for _, f := range files(t) {
		if !ofEngine(f.path) || strings.Contains(f.path, "test") || !strings.HasSuffix(f.path, ".c") && !strings.HasSuffix(f.path, ".h") {
			continue
		}
		for _, at := range staticWord.FindAllIndex(f.data, -1) {
			if text := string(f.data[at[0]:at[1]]); !strings.Contains(text, "const ") && !strings.Contains(text, "(") {
				t.Errorf("%s:%d: %s keeps a value (put it into a struct of the engine)", f.path, lineOf(f.data, at[0]), strings.TrimSpace(text))
			}
		}
	}
}

func packageVars(s source) (all []*ast.ValueSpec) {
	for _, d := range s.ast.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, spec := range g.Specs {
				all = append(all, spec.(*ast.ValueSpec))
			}
		}
	}
	return all
}

// changes reports whether a variable has no value of its own, or one that changes without an
// assignment to it.
func changes(spec *ast.ValueSpec) bool {
	if len(spec.Values) == 0 {
		return true
	}
	for _, v := range spec.Values {
		switch v := v.(type) {
		case *ast.UnaryExpr:
			if v.Op == token.AND {
				return true
			}
		case *ast.CompositeLit:
			if _, ok := v.Type.(*ast.MapType); ok {
				return true
			}
		case *ast.CallExpr:
			if f, ok := v.Fun.(*ast.Ident); ok && (f.Name == "make" || f.Name == "new") {
				return true
			}
		}
	}
	return false
}

// written returns the variables that a statement assigns to, or whose address it takes.
func written(n ast.Node) (all []*ast.Ident) {
	var to []ast.Expr
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			to = n.Lhs
		}
	case *ast.IncDecStmt:
		to = []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			to = []ast.Expr{n.X}
		}
	}
	for _, x := range to {
		for {
			switch y := x.(type) {
			case *ast.IndexExpr:
				x = y.X
				continue
			case *ast.SelectorExpr:
				x = y.X
				continue
			case *ast.ParenExpr:
				x = y.X
				continue
			case *ast.Ident:
				all = append(all, y)
			}
			break
		}
	}
	return all
}

// declaredIn returns the names that a function declares.
func declaredIn(f *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	add := func(exprs ...ast.Expr) {
		for _, x := range exprs {
			if n, ok := x.(*ast.Ident); ok {
				names[n.Name] = true
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		}
		return true
	})
	return names
}

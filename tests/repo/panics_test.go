package repo

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestGoroutines: the library begins each goroutine through package guard, so a panic in it ends the
// job with a reason. It begins one by a go statement, by the Go of a WaitGroup, and by a timer or a
// context that calls a function. Commands are not part of the library.
func TestGoroutines(t *testing.T) {
	of := map[string][]source{}
	for _, s := range sources(t) {
		if !s.test {
			of[s.pkg] = append(of[s.pkg], s)
		}
	}
	library := []string{"capi/core"}
	begun := 0
	for i := 0; i < len(library); i++ {
		for _, s := range of[library[i]] {
			for _, imported := range s.ast.Imports {
				p, _ := strconv.Unquote(imported.Path.Value)
				if p, ok := strings.CutPrefix(p, module+"/"); ok && !slices.Contains(library, p) {
					library = append(library, p)
				}
			}
			if s.pkg == "runtime/guard" {
				continue
			}
			ast.Inspect(s.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s: a panic of this goroutine ends the process without a reason (use guard.Go)", s.at(n))
				case *ast.CallExpr:
					switch called(n) {
					case "Go", "AfterFunc":
						begun++
						if last, ok := n.Args[len(n.Args)-1].(*ast.CallExpr); !guards(n, "Go") && (!ok || !guards(last, "Func")) {
							t.Errorf("%s: a panic of this function ends the process without a reason (use guard.Func)", s.at(n))
						}
					}
				}
				return true
			})
		}
	}
	if len(library) < 50 || begun < 15 {
		t.Errorf("%d packages begin %d goroutines: the test has missed some", len(library), begun)
	}
}

// called returns the name of the method or function of another package that is called.
func called(c *ast.CallExpr) string {
	if sel, ok := c.Fun.(*ast.SelectorExpr); ok {
		return sel.Sel.Name
	}
	return ""
}

func guards(c *ast.CallExpr, name string) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "guard"
}

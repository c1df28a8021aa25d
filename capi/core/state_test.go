package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// TestEmpty holds that finalize resets each member of the state that init, or a call during the
// job, sets only for some jobs: the next job of the process would find the value of this one.
func TestEmpty(t *testing.T) {
	set, reset := map[string]string{}, map[string]bool{}
	for _, file := range []string{"state.go", "failure.go", "gpu.go", "main.go"} {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			switch {
			case !ok || f.Name.Name == "shmemgoInit" || f.Name.Name == "reportLost":
			case f.Name.Name == "empty" || f.Name.Name == "emptyLost":
				for _, name := range assigned(f, false) {
					reset[name] = true
				}
			default:
				for _, name := range assigned(f, true) {
					set[name] = f.Name.Name
				}
			}
		}
	}
	if len(set) < 20 {
		t.Errorf("only %d members were found", len(set))
	}
	for name, by := range set {
		if !reset[name] {
			t.Errorf("%s sets %s for some jobs, and empty leaves it", by, name)
		}
	}
}

// assigned returns the members of the state that a function assigns; with conditional only those
// within an if statement.
func assigned(f *ast.FuncDecl, conditional bool) (names []string) {
	ast.PreorderStack(f, nil, func(n ast.Node, stack []ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		within := slices.ContainsFunc(stack, func(n ast.Node) bool { _, is := n.(*ast.IfStmt); return is })
		if !ok || conditional && !within {
			return true
		}
		for _, to := range a.Lhs {
			if member, ok := to.(*ast.SelectorExpr); ok {
				if x, ok := member.X.(*ast.Ident); ok && (x.Name == "s" || x.Name == "state") {
					names = append(names, member.Sel.Name)
				}
			}
		}
		return true
	})
	return names
}

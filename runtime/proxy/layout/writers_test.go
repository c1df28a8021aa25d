package layout

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// writers lists the files that change a member of Peer, if those are not the files of this package.
// Paths are relative to runtime/proxy. Count has no row: counters are added to wherever something
// is counted.
var writers = map[string][]string{
	"Ring":     {"flight/recorder_unsafe.go"},
	"Recorded": {"flight/recorder_unsafe.go"},
	"Out":      {"numbers.go"}, // its numbers change by the methods of sequence.Out
	"Staged":   {"gpustage/departure.go"},
	"Behind":   {"gpustage/arrival.go", "gpustage/heaps.go"},
	"Fewer":    {"gpustage/gpustage.go"},
}

// TestWriters reads all sources of the engine: a member of Peer changes in a method of Peer, or in
// a file that writers names for it.
func TestWriters(t *testing.T) {
	members := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Peer]()) {
		members[f.Name] = f.IsExported() && f.Name != "Count"
	}
	found := map[string]map[string]bool{}
	here := map[string]bool{}
	for _, path := range sources(t) {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join("..", path), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, to := range changed(n) {
				member, ok := ofPeer(to)
				switch {
				case !ok || !members[member]:
				case strings.HasPrefix(path, "layout/"):
					here[member] = true
				case !slices.Contains(writers[member], path):
					t.Errorf("runtime/proxy/%s:%d: changes Peer.%s (call a method of Peer in runtime/proxy/layout, or write one)",
						path, set.Position(to.Pos()).Line, member)
				default:
					if found[member] == nil {
						found[member] = map[string]bool{}
					}
					found[member][path] = true
				}
			}
			return true
		})
	}
	for member, files := range writers {
		if got := slices.Sorted(maps.Keys(found[member])); !slices.Equal(got, files) {
			t.Errorf("Peer.%s is changed in %q, and the list has %q", member, got, files)
		}
	}
	for member, is := range members {
		if is && !here[member] && writers[member] == nil {
			t.Errorf("Peer.%s is changed nowhere: is its owner missing from the list?", member)
		}
	}
}

// sources lists the Go files of the engine but tests, relative to runtime/proxy.
func sources(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(p string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") {
			all = append(all, filepath.ToSlash(strings.TrimPrefix(p, ".."+string(filepath.Separator))))
		}
		return err
	})
	if err != nil || len(all) < 50 {
		t.Fatalf("%d sources of the engine, error %v", len(all), err)
	}
	return all
}

// changed returns the places that a statement changes.
func changed(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	}
	return nil
}

// ofPeer returns the member of a place that belongs to the record of a PE: by their convention such
// records are called p, or are elements of something called peers. Other types with a variable p
// have no members with these names in the packages that keep the records.
func ofPeer(e ast.Expr) (member string, ok bool) {
	for {
		s, is := e.(*ast.SelectorExpr)
		if !is {
			return "", false
		}
		switch x := s.X.(type) {
		case *ast.Ident:
			return s.Sel.Name, x.Name == "p"
		case *ast.IndexExpr:
			return s.Sel.Name, named(x.X) == "peers"
		case *ast.SelectorExpr: // a member of a member, such as p.Out.Space
			e = x
		default:
			return "", false
		}
	}
}

// named returns the last name of an expression, in lower case.
func named(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.ToLower(e.Name)
	case *ast.SelectorExpr:
		return strings.ToLower(e.Sel.Name)
	case *ast.CallExpr:
		return named(e.Fun)
	}
	return ""
}

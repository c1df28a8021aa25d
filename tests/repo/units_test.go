package repo

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	cText     = regexp.MustCompile(`"(?:\\.|[^"\\\n])*"`)
	cTag      = regexp.MustCompile(`\b(struct|enum) \w+`)
	cName     = regexp.MustCompile(`\bshmemi_\w+`)
	cFunction = regexp.MustCompile(`(?m)^[A-Za-z_][^;{}#]*\n\{`)
	cVariable = regexp.MustCompile(`(?m)^[a-z][^;{}()=#]*\b(shmemi_\w+)(?:\[\w+\])?;`)
	cDeclared = regexp.MustCompile(`(?m)^[A-Za-z_][^;{}]*;`)
)

// TestUnitsHaveOrder checks that no unit of capi/front, which is a C file and the header of the
// same name, needs itself through others. So each unit can be read and tested above those that it
// needs, and a change affects only the units above it. A unit needs another one when it includes
// that one's header, or names a function or a variable that the other one defines, in whatever
// header it is declared.
func TestUnitsHaveOrder(t *testing.T) {
	type unit struct{ includes, names, defines map[string]bool }
	units := map[string]*unit{}
	for _, f := range files(t) {
		if path.Dir(f.path) != "capi/front" || !strings.Contains(".c.h", path.Ext(f.path)) || f.generated() {
			continue
		}
		name := strings.TrimSuffix(path.Base(f.path), path.Ext(f.path))
		u := units[name]
		if u == nil {
			u = &unit{map[string]bool{}, map[string]bool{}, map[string]bool{}}
			units[name] = u
		}
		for _, m := range includeLine.FindAllSubmatch(f.data, -1) {
			u.includes[strings.TrimSuffix(string(m[1]), ".h")] = true
		}
		text := cText.ReplaceAllString(string(comment.ReplaceAll(f.data, nil)), "")
		text = cTag.ReplaceAllString(text, "$1")
		if path.Ext(f.path) == ".h" {
			text = cDeclared.ReplaceAllString(text, "") // of functions that may be another unit's
		} else {
			for _, head := range cFunction.FindAllString(text, -1) {
				if !strings.HasPrefix(head, "static") {
					u.defines[cName.FindString(head)] = true
				}
			}
			for _, m := range cVariable.FindAllStringSubmatch(text, -1) {
				if !strings.HasPrefix(m[0], "static") && !strings.HasPrefix(m[0], "extern") {
					u.defines[m[1]] = true
				}
			}
		}
		for _, n := range cName.FindAllString(text, -1) {
			u.names[n] = true
		}
	}
	owner := map[string]string{}
	for name, u := range units {
		for n := range u.defines {
			owner[n] = name
		}
	}
	needs, edges := map[string]map[string]string{}, 0
	for name, u := range units {
		needs[name] = map[string]string{}
		for n := range u.names {
			if other := owner[n]; other != "" && other != name {
				needs[name][other] = n
			}
		}
		for other := range u.includes {
			if units[other] != nil && other != name {
				needs[name][other] = other + ".h"
			}
		}
		edges += len(needs[name])
	}
	if len(units) < 50 || edges < 200 || owner["shmemi_wait_step"] != "wait" || owner["shmemi_state"] != "base" {
		t.Fatalf("%d units of capi/front need others %d times: the test looks in the wrong place", len(units), edges)
	}

	done := map[string]bool{}
	var visit func(name string, open []string)
	visit = func(name string, open []string) {
		if at := slices.Index(open, name); at >= 0 {
			circle := open[at]
			for i, n := range open[at:] {
				next := append(open, name)[at+i+1]
				circle += fmt.Sprintf(" -> %s (%s)", next, needs[n][next])
			}
			t.Errorf("capi/front: %s (move what both ends of one arrow need to a unit below them)", circle)
			return
		}
		if done[name] {
			return
		}
		for other := range needs[name] {
			visit(other, append(slices.Clone(open), name))
		}
		done[name] = true
	}
	for name := range units {
		visit(name, nil)
	}
}

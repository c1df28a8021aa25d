package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"libshmem/capi/spec"
)

// Lists of the names in the specification, a line for each: functions, deprecated functions, and
// generic names of C11.
const (
	standardList   = "capi/spec/testdata/openshmem.tsv"
	deprecatedList = "capi/spec/testdata/deprecated.tsv"
	genericList    = "capi/spec/testdata/generics.tsv"
)

// A tally counts names of the specification: all names, those that the table of capi/spec has, and
// those of them that a test program calls.
type tally struct{ wanted, there, tested int }

// add counts a name of the specification: there if the table has it, tested if a test program calls
// it.
func (t *tally) add(there, tested bool) {
	t.wanted++
	if there {
		t.there++
	}
	if there && tested {
		t.tested++
	}
}

// row returns the tally as a row of a Markdown table.
func (t tally) row(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d |\n", name, t.wanted, t.there, t.tested)
}

// calledName matches the name in a call. A name in parentheses is called, too: as a function, where
// it is also a macro.
var calledName = regexp.MustCompile(`\b(\w+)\)?\(`)

// namesCalled returns the names that the programs of tests/c call, including the generated
// programs.
func namesCalled(root string) (map[string]bool, error) {
	names := map[string]bool{}
	note := func(text string) {
		for _, m := range calledName.FindAllStringSubmatch(text, -1) {
			names[m[1]] = true
		}
	}
	for _, f := range checks(spec.Shmem) {
		note(f.Text)
	}
	paths, err := filepath.Glob(filepath.Join(root, "tests", "c", "*.[ch]"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		note(string(data))
	}
	return names, nil
}

// checkAllTested returns an error that names the functions of the table that no program of tests/c
// calls, or nil.
func checkAllTested(tested map[string]bool) error {
	var missing []string
	for _, name := range spec.Shmem.Names() {
		if !tested[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("test %s: no program of tests/c calls it (name a Check in its row, or write a program)",
			strings.Join(missing, ", "))
	}
	return nil
}

// count reads a list of the specification's functions from path, and returns a Markdown table with
// a row of tallies for each family and one for all.
func count(path string, there, tested map[string]bool) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var order []string
	families, all := map[string]*tally{}, tally{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(strings.TrimSpace(line), "\t")
		name, family := fields[0], fields[1]
		if families[family] == nil {
			families[family] = &tally{}
			order = append(order, family)
		}
		families[family].add(there[name], tested[name])
		all.add(there[name], tested[name])
	}
	out := "| family | in the specification | available | called by a test |\n|---|--:|--:|--:|\n"
	for _, f := range order {
		out += families[f].row(f)
	}
	return out + all.row("all"), nil
}

// countGenerics reads the list of generic names from path, and returns the row with the tally of
// the names with a status, which is "current" or "deprecated".
func countGenerics(path, status string, there, tested map[string]bool) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var all tally
	for line := range strings.Lines(string(data)) {
		if fields := strings.Split(line, "\t"); len(fields) > 1 && fields[1] == status {
			all.add(there[fields[0]], tested[fields[0]])
		}
	}
	return all.row(status), nil
}

// coverage returns the page that counts which functions of the specification the library has.
func coverage(root string) (string, error) {
	tested, err := namesCalled(root)
	if err != nil {
		return "", err
	}
	there, macros := map[string]bool{}, map[string]bool{}
	for _, n := range spec.Shmem.Names() {
		there[n], macros[n] = true, true // a function without types is its own generic name
	}
	for _, n := range genericNames(spec.Shmem) {
		macros[n] = true
	}
	if err := checkAllTested(tested); err != nil {
		return "", err
	}
	now, err := count(filepath.Join(root, standardList), there, tested)
	if err != nil {
		return "", err
	}
	old, err := count(filepath.Join(root, deprecatedList), there, tested)
	if err != nil {
		return "", err
	}
	generics, err := countGenerics(filepath.Join(root, genericList), "current", macros, tested)
	if err != nil {
		return "", err
	}
	oldGenerics, err := countGenerics(filepath.Join(root, genericList), "deprecated", macros, tested)
	if err != nil {
		return "", err
	}
	return banner("<!-- ", " -->") + `# Coverage of OpenSHMEM 1.6

A function that is not available is not in the header either: there are no stubs. The list of
names is tests/abi/symbols.txt, with one line for each family. The last column counts the names that
the programs in tests/c call; the generator refuses a name without a call.

## Functions

` + now + `
## Functions that the specification calls deprecated

` + old + `
## Generic names for C11

| names | in the specification | available | called by a test |
|---|--:|--:|--:|
` + generics + oldGenerics, nil
}

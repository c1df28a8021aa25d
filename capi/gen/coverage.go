package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"libshmem/capi/spec"
)

// standardList has the functions of the specification, a line for each.
const standardList = "capi/spec/testdata/openshmem.tsv"

// genericList has its macros for C11.
const genericList = "capi/spec/testdata/generics.txt"

// coverage is the page that says how much of the specification is there.
func coverage(root string) (string, error) {
	data, err := os.ReadFile(filepath.Join(root, standardList))
	if err != nil {
		return "", err
	}
	list, err := os.ReadFile(filepath.Join(root, genericList))
	if err != nil {
		return "", err
	}
	have := map[string]bool{}
	for _, n := range spec.Names() {
		have[n] = true
	}
	var families []string
	total, done := map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(line, "\t")
		family, _, _ := strings.Cut(rest, "\t")
		if family = strings.TrimSuffix(family, "\n"); total[family] == 0 {
			families = append(families, family)
		}
		total[family]++
		total[""]++
		if have[name] {
			done[family]++
			done[""]++
		}
	}
	var b strings.Builder
	b.WriteString(banner("<!-- ", " -->"))
	b.WriteString(`# What of OpenSHMEM 1.6 is there

Functions, without those that the specification calls deprecated. A name that is
not there is not in the header either: no function fails because it is a stub.
The list of names is tests/abi/symbols.golden.

| family | there | in the specification |
|---|--:|--:|
`)
	for _, f := range families {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", f, done[f], total[f])
	}
	fmt.Fprintf(&b, "| all | %d | %d |\n", done[""], total[""])
	made, wanted := 0, 0
	for _, name := range genericNames() {
		have[name] = true
	}
	for name := range strings.Lines(string(list)) {
		if name = strings.TrimSpace(name); !strings.HasPrefix(name, "#") {
			wanted++
			if have[name] {
				made++
			}
		}
	}
	fmt.Fprintf(&b, "\nOf the %d generic names for C11 %d are there.\n", wanted, made)
	return b.String(), nil
}

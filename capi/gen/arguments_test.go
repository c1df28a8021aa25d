package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"libshmem/capi/spec"
)

var (
	described = regexp.MustCompile(`(?m)^ \* @(\w+)`)
	declared  = regexp.MustCompile(`^[^#/ ][^"]*?\b\w+\((.*)\);$`)
	deprecate = regexp.MustCompile(`^\w+_DEPRECATED(_C)?\("[^"]*"\) `)
	called    = regexp.MustCompile(`(\w+)(\[\w*\])?$|\(\*(\w+)\)`) // the name in a declaration of a parameter
)

// ofSpecification is the line that names a section of OpenSHMEM's specification.
var ofSpecification = regexp.MustCompile(`(?m)^ \* OpenSHMEM 1.6, .*$`)

// undescribed returns the parameters of the functions beneath a comment of a header that the
// comment does not describe, and the names that it describes and no function has. A comment of one
// line above some of the functions describes a parameter by naming it.
func undescribed(section string) (missing, strange []string) {
	long, rest, _ := strings.Cut(section, "\n */\n")
	own, above := map[string]bool{}, ""
	for _, m := range described.FindAllStringSubmatch(long, -1) {
		own[m[1]] = false
	}
	for line := range strings.Lines(rest) {
		line = deprecate.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
		if strings.HasPrefix(line, "/* ") {
			above = line
		}
		m := declared.FindStringSubmatch(line)
		if m == nil || m[1] == "void" {
			continue
		}
		for p := range strings.SplitSeq(regexp.MustCompile(`\)\(.*?\)`).ReplaceAllString(m[1], ")"), ", ") {
			found := called.FindStringSubmatch(p)
			if found == nil || p == "..." {
				continue
			}
			name := found[1] + found[3]
			if _, ok := own[name]; ok {
				own[name] = true
			} else if !slices.Contains(regexp.MustCompile(`\w+`).FindAllString(above, -1), name) {
				missing = append(missing, name)
			}
		}
	}
	for name, used := range own {
		if !used {
			strange = append(strange, name)
		}
	}
	return missing, strange
}

// TestArguments holds the comments of the headers to the functions beneath them: a comment describes
// each of their parameters, and no other, and names functions and constants as its header does.
func TestArguments(t *testing.T) {
	for _, s := range []*spec.Surface{spec.Shmem, spec.Nvshmem} {
		for name, text := range map[string]string{s.File: header(s), s.Beyond.File: extensionHeader(s)} {
			if s.Generics {
				text, _, _ = strings.Cut(text, aliases(s)) // further names of functions declared before
			}
			sections, found := strings.Split(text, "\n/*\n"), 0
			for _, section := range sections[1:] {
				if !strings.Contains(section, "Since libshmem ") {
					continue
				}
				missing, strange := undescribed(section)
				title, _, _ := strings.Cut(section, "\n")
				own, _, _ := strings.Cut(ofSpecification.ReplaceAllString(section, ""), "\n */\n")
				if s.Spell(own) != own {
					t.Errorf("%s:%s: the comment has names of OpenSHMEM:\n%s", name, title, own)
				}
				for _, p := range missing {
					t.Errorf("%s:%s: the comment does not describe %s", name, title, p)
				}
				for _, p := range strange {
					t.Errorf("%s:%s: the comment describes %s, which no function beneath it has", name, title, p)
				}
				found += len(described.FindAllString(section, -1))
			}
			if found < 30 {
				t.Errorf("%s: only %d descriptions of parameters were found", name, found)
			}
		}
	}
}

// Package fold expands a list of names that has one line for each family of them. It owns only that
// form: it imports neither the table of functions nor its generator, because tests compare its
// names with theirs.
//
//	real = float double      a set: its words, and after them those of sets in <>
//	all = <real> int
//	get[_nbi]                with _nbi and without
//	<all>_put                one for each word of the set
//	lock_{set,clear}         one for each word in the braces
//
// Lines that begin with # are comments.
package fold

import (
	"fmt"
	"slices"
	"strings"
)

// Expand returns the names of a list, sorted. It refuses a list that has a name twice, or a set
// that no line uses: one of the two lines is a mistake.
func Expand(text string) ([]string, error) {
	sets, used := map[string][]string{}, map[string]bool{}
	line := map[string]int{} // the line of each name
	n := 0
	for row := range strings.Lines(text) {
		n++
		row = strings.TrimSpace(row)
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		if set, words, ok := strings.Cut(row, " = "); ok {
			set = strings.TrimSpace(set)
			if sets[set] != nil {
				return nil, fmt.Errorf("line %d: set %s: a line above defines it", n, set)
			}
			for _, word := range strings.Fields(words) {
				all, err := product(word, sets, used)
				if err != nil {
					return nil, fmt.Errorf("line %d: %v", n, err)
				}
				sets[set] = append(sets[set], all...)
			}
			continue
		}
		names, err := product(row, sets, used)
		if err != nil {
			return nil, fmt.Errorf("line %d: %v", n, err)
		}
		for _, name := range names {
			if line[name] != 0 {
				return nil, fmt.Errorf("line %d: %s: line %d has it", n, name, line[name])
			}
			line[name] = n
		}
	}
	for set := range sets {
		if !used[set] {
			return nil, fmt.Errorf("set %s: no line uses it", set)
		}
	}
	names := make([]string, 0, len(line))
	for name := range line {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// product returns all names of a row. Choices do not contain each other.
func product(row string, sets map[string][]string, used map[string]bool) ([]string, error) {
	out := []string{""}
	rest := row
	for rest != "" {
		at := strings.IndexAny(rest, "<[{>]} ")
		choices := []string{rest}
		switch {
		case at < 0:
			rest = ""
		case at > 0:
			choices, rest = []string{rest[:at]}, rest[at:]
		default:
			inside, behind, closed := strings.Cut(rest[1:], map[byte]string{'<': ">", '[': "]", '{': "}"}[rest[0]])
			if !closed || strings.ContainsAny(inside, "<[{>]} ") || inside == "" {
				return nil, fmt.Errorf("%s: %q does not begin a choice", row, rest)
			}
			switch rest[0] {
			case '<':
				if choices = sets[inside]; choices == nil {
					return nil, fmt.Errorf("%s: set %s: no line above defines it", row, inside)
				}
				used[inside] = true
			case '[':
				choices = []string{"", inside}
			case '{':
				choices = strings.Split(inside, ",")
			}
			rest = behind
		}
		var longer []string
		for _, begun := range out {
			for _, choice := range choices {
				longer = append(longer, begun+choice)
			}
		}
		out = longer
	}
	return out, nil
}

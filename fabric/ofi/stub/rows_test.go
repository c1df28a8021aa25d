package stub

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rule is a row of rules.tsv.
type rule struct {
	id, provider, fabric, from, to, what, answer string
}

// rules returns the rows by id.
func rules(t *testing.T) map[string]rule {
	t.Helper()
	text, err := os.ReadFile("rules.tsv")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]rule{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(line, "\t"); len(f) == 9 && !strings.HasPrefix(line, "#") {
			all[f[0]] = rule{f[0], f[1], f[2], f[3], f[4], f[5], f[6]}
		}
	}
	return all
}

// played are the versions of a provider that the stub simulates.
var played = map[string][]string{
	"efa":           {"1.22", "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6"},
	"cxi":           {"1.22", "2.0", "2.1", "2.2", "2.3"},
	"verbs;ofi_rxm": {"1.22", "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6"},
}

// holdsIn returns in held the first and the last version in which a row holds, and in around the
// versions before and after, in which it does not.
func (r rule) holdsIn(t *testing.T) (held, around []string) {
	t.Helper()
	all := played[r.provider]
	first, last := 0, len(all)-1
	if r.from != "-" {
		first = slices.Index(all, r.from)
	}
	if r.to != "-" {
		last = slices.Index(all, r.to)
	}
	if first < 0 || last < first {
		t.Fatalf("%s: from %s to %s is in no simulated version of %s", r.id, r.from, r.to, r.provider)
	}
	held = slices.Compact([]string{all[first], all[last]})
	if first > 0 {
		around = append(around, all[first-1])
	}
	if last < len(all)-1 {
		around = append(around, all[last+1])
	}
	return held, around
}

// fabrics lists the fabrics of a row in a version. "" is the only one.
func (r rule) fabrics(version string) []string {
	switch {
	case r.provider != "efa":
		return []string{""}
	case r.fabric != "*":
		return []string{r.fabric}
	case slices.Index(played["efa"], version) < slices.Index(played["efa"], "2.1"):
		return []string{rdm}
	}
	return []string{rdm, direct}
}

// settings make the provider in a version.
func (r rule) settings(version string) string {
	provider, _, _ := strings.Cut(r.provider, ";")
	return "provider=" + provider + " version=" + version
}

var (
	flagForm   = regexp.MustCompile(`FI_[A-Z0-9_]+`)
	flagsForm  = regexp.MustCompile(`^FI_[A-Z0-9_]+(,FI_[A-Z0-9_]+)*$`)
	numberForm = regexp.MustCompile(`\b\d+\b`)
)

// value returns an answer as a program prints it: flags in alphabetical order, or a number. Text in
// parentheses is for people.
func (r rule) value() string {
	answer, _, _ := strings.Cut(r.answer, " (")
	if flagsForm.MatchString(answer) {
		return sorted(answer)
	}
	return numberForm.FindString(answer)
}

func sorted(flags string) string {
	f := strings.Split(flags, ",")
	slices.Sort(f)
	return strings.Join(f, ",")
}

// uncovered returns the rows of a letter that no test breaks.
func uncovered(rows map[string]rule, letter string, covered map[string]bool) (open []string) {
	for id := range rows {
		if strings.HasPrefix(id, letter) && !covered[id] {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	return open
}

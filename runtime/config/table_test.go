package config

import (
	"slices"
	"strings"
	"testing"
)

func TestTableIsSortedAndComplete(t *testing.T) {
	if !slices.IsSortedFunc(Table, func(a, b Setting) int {
		if a.Category != b.Category {
			return int(a.Category) - int(b.Category)
		}
		return strings.Compare(a.Name, b.Name)
	}) {
		t.Error("the table is not sorted by category and name")
	}
	seen := make(map[string]bool)
	for _, s := range Table {
		for _, name := range append([]string{s.Name}, s.Aliases...) {
			if seen[name] {
				t.Errorf("%s occurs twice", name)
			}
			seen[name] = true
			if Lookup(name).Name != s.Name {
				t.Errorf("Lookup(%s) finds another setting", name)
			}
		}
		if !strings.HasPrefix(s.Name, Prefix) || s.Since == "" || s.set == nil || !strings.HasSuffix(s.Text, ".") {
			t.Errorf("%s: name, release, text or effect is missing", s.Name)
		}
		for _, a := range s.Aliases {
			if !strings.HasPrefix(a, "NVSHMEM_") && !strings.HasPrefix(a, oldPrefix) {
				t.Errorf("%s: alias %s is not looked for", s.Name, a)
			}
		}
		if _, err := s.parse(s.Default); err != nil && s.Kind != Integer {
			t.Errorf("%s: the default is not valid: %v", s.Name, err)
		}
		if (s.Kind == Choice) != (s.Choices != nil) && s.Kind != List {
			t.Errorf("%s: choices and kind do not fit", s.Name)
		}
		for _, c := range s.Choices {
			if c != strings.ToLower(c) {
				t.Errorf("%s: choice %s is not in lower case and can never be taken", s.Name, c)
			}
		}
		if (s.Kind == Size || s.Kind == Seconds || s.Kind == Integer) && s.Min >= s.Max {
			t.Errorf("%s: the range is empty", s.Name)
		}
		if s.PowerOf2 && s.Kind != Integer {
			t.Errorf("%s: only an integer is held to powers of two", s.Name)
		}
	}
}

// Two rows that set the same field would be two settings of which one does
// nothing.
func TestEverySettingReachesTheConfig(t *testing.T) {
	samples := map[Kind]string{Flag: "1", Size: "2m", Seconds: "7", Integer: "3", List: "heap", Text: "x"}
	texts := make(map[string]string)
	base, _, err := Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Table {
		value := samples[s.Kind]
		if s.Kind == Choice {
			if len(s.Choices) == 1 {
				continue // nothing to change yet
			}
			value = s.Choices[len(s.Choices)-1]
		}
		if s.Kind == List && s.Choices != nil {
			value = s.Choices[len(s.Choices)-1]
		}
		if s.PowerOf2 || s.Min > 3 && s.Kind == Integer {
			value = "512"
		}
		c, warnings, err := Parse([]string{s.Name + "=" + value})
		if err != nil || len(warnings) != 0 {
			t.Errorf("%s=%s: %v, %v", s.Name, value, warnings, err)
			continue
		}
		got := dump(c)
		if got == dump(base) {
			t.Errorf("%s=%s changes nothing", s.Name, value)
		}
		if other, ok := texts[got]; ok {
			t.Errorf("%s and %s change the same thing", s.Name, other)
		}
		texts[got] = s.Name
	}
}

func TestChoicesPrintAsWritten(t *testing.T) {
	for got, want := range map[string]string{
		ChecksFull.String(): "full", LogTrace.String(): "trace", LogError.String(): "error",
		HeapHost.String(): "host", RingByPE.String(): "pe", RingBAR.String(): "bar", Checks(9).String(): "unknown",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

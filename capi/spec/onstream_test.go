package spec

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// later are the names of NVSHMEM's that shmemx.h does not have, with the words of the page for them.
var later = map[string]string{
	`shmemx_(\w+_i|i)(put|get)(8|16|32|64|128)?_on_stream`: "strided puts and gets",
	`shmemx_\w+_reducescatter_on_stream`:                   "reduce-scatter",
	`shmemx_flush_on_stream`:                               "`flush`",
}

// TestExtensionsComplete: each name of the list is in the table, or there is a
// reason; and the table has no other ones on a stream.
func TestExtensionsComplete(t *testing.T) {
	data, err := os.ReadFile("testdata/stream.tsv")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, name := range Shmem.ExtensionNames() {
		if have[name] {
			t.Errorf("%s: two rows make this name", name)
		}
		have[name] = true
	}
	used, listed := map[string]int{}, map[string]bool{}
	for line := range strings.Lines(string(data)) {
		name, _, _ := strings.Cut(line, "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		listed[name] = true
		reason := ""
		for pattern := range later {
			if regexp.MustCompile("^(" + pattern + ")$").MatchString(name) {
				reason = pattern
				used[pattern]++
			}
		}
		if have[name] == (reason != "") {
			t.Errorf("%s: is there: %v, and a pattern for what is not: %q", name, have[name], reason)
		}
	}
	if len(listed) < 650 {
		t.Errorf("read testdata/stream.tsv: %d names", len(listed))
	}
	for pattern := range later {
		if used[pattern] == 0 {
			t.Errorf("%q: no name is meant", pattern)
		}
	}
	own := regexp.MustCompile(`^shmemx_(putmem_notify(_nbi)?|notify_(wait|reset))` + onStream + `$`)
	for name := range have {
		if !listed[name] && strings.HasSuffix(name, onStream) && !own.MatchString(name) {
			t.Errorf("%s: is in no list", name)
		}
	}
}

// TestStreamPage: docs/reference/gpu-host-calls.md names what shmemx.h lacks, and says that the
// headers of NVSHMEM lack nothing.
func TestStreamPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/gpu-host-calls.md")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(string(page)), " ")
	_, lacks, there := strings.Cut(words, "`nvshmemx.h` declares all of NVSHMEM's calls on streams. `shmemx.h` lacks three kinds of them: ")
	if !there || len(later) != 3 {
		t.Fatalf("docs/reference/gpu-host-calls.md does not say that shmemx.h lacks %d kinds of calls", len(later))
	}
	lacks, _, _ = strings.Cut(lacks, ".")
	for _, kind := range later {
		if !strings.Contains(lacks, kind) {
			t.Errorf("docs/reference/gpu-host-calls.md: %q lacks %q", lacks, kind)
		}
	}
	have := map[string]bool{}
	for _, name := range Nvshmem.ExtensionNames() {
		have[name] = true
	}
	list, err := os.ReadFile("testdata/stream.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		if name, _, _ := strings.Cut(line, "\t"); !strings.HasPrefix(line, "#") && !have["nv"+name] {
			t.Errorf("docs/reference/gpu-host-calls.md says that nvshmemx.h declares nv%s, and it does not", name)
		}
	}
}

// TestExtensionRows finds rows that a reader of the header could not use.
func TestExtensionRows(t *testing.T) {
	extensions := Shmem.Extensions()
	for i := range extensions {
		c := &extensions[i]
		switch {
		case c.Since == "" || c.Doc == "" || c.Errors == "" || !strings.Contains(c.Front, "$call"):
			t.Errorf("%s: Since, Doc, Errors and a Front that passes $call must be set", c.Name)
		case (c.Variants&Nbi != 0) != (c.DocNbi != ""):
			t.Errorf("%s: DocNbi and the variant Nbi belong together", c.Name)
		case (c.Result != "") != (c.Returns != ""):
			t.Errorf("%s: Returns says what Result means, and needs one", c.Name)
		case c.Suffix == onStream && (c.Params[len(c.Params)-1] != stream || !strings.Contains(c.Front, "stream, $call")):
			t.Errorf("%s: the stream is the last parameter, and is passed", c.Name)
		}
		for _, text := range []string{c.Doc, c.DocNbi, c.Returns, c.Errors, c.Order} {
			if text != "" && !strings.HasSuffix(text, ".") {
				t.Errorf("%s: not a sentence: %q", c.Name, text)
			}
		}
		for _, p := range c.Params {
			if p.Doc == "" && p.Role == Plain {
				t.Errorf("%s: parameter %s has neither Role nor Doc", c.Name, p.Name)
			}
		}
	}
}

// TestElements: a type's number says its width, and what its values are.
func TestElements(t *testing.T) {
	for _, c := range []struct {
		of   Type
		want string
	}{
		{tUChar, "1"}, {tShort, "2 | SHMEMI_SIGNED"}, {tSize, "8"}, {tFloat, "SHMEMI_F32"}, {tDouble, "SHMEMI_F64"},
		{tStreamHalf, "SHMEMI_F16"}, {tStreamBFloat16, "SHMEMI_BF16"},
	} {
		if got := Element(c.of); got != c.want {
			t.Errorf("Element(%s) = %s, want %s", c.of.Name, got, c.want)
		}
	}
}

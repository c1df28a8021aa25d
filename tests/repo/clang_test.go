package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// TestClang: the check with clang reports mistakes, most of which gcc takes with the same warnings.
// Files without one come first, as one process compiles several.
func TestClang(t *testing.T) {
	need.Command(t, "clang")
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right := []string{
		file("right.c", "int right_c(int a);\nint right_c(int a)\n{\n    return a;\n}\n"),
		file("right.cc", "int right_cc(int a);\nint right_cc(int a)\n{\n    return a;\n}\n"),
		file("right.h", "#ifndef RIGHT_H\n#define RIGHT_H\nint right_h(int a);\n#endif\n"),
	}
	const unset = "(int a);\nint wrong(int a)\n{\n    int b;\n    if (a == 1 || (b = a) == 2)\n        return b;\n    return 0;\n}\n"
	type mistake struct{ name, text, says string }
	for _, mistakes := range [][]mistake{
		{},
		{{"c.c", "int wrong" + unset, "c.c:5:9: error: variable 'b' is used uninitialized"}},
		{{"cxx.cc", "int wrong" + unset, "cxx.cc:5:9: error: variable 'b' is used uninitialized"}},
		{
			{"twice.h", "struct twice {\n    int a;\n};\n", "twice.h:1:8: error: redefinition of 'twice'"},
			{"linkage.h", "#ifdef __cplusplus\nstruct linkage;\nextern \"C\" struct linkage wrong(void);\n#endif\n", "linkage.h:3:27: error: 'wrong' has C-linkage specified"},
			{"c11.h", "#if __STDC_VERSION__ == 201112L\n#error wrong\n#endif\n", "c11.h:2:2: error: wrong"},
			{"cxx11.h", "#if __cplusplus == 201103L\n#error wrong\n#endif\n", "cxx11.h:2:2: error: wrong"},
			{"cxx20.h", "#if __cplusplus > 201703L\n#error wrong\n#endif\n", "cxx20.h:2:2: error: wrong"},
		},
	} {
		files := right
		for _, m := range mistakes {
			files = append(files, file(m.name, m.text))
		}
		out, err := exec.Command("../../scripts/clang", files...).CombinedOutput()
		if (err != nil) != (len(mistakes) > 0) {
			t.Errorf("%v: %v, %q", files, err, out)
		}
		for _, m := range mistakes {
			if !strings.Contains(string(out), m.says) {
				t.Errorf("no %q in %q", m.says, out)
			}
		}
	}
}

// TestClangLines: the lines of several jobs do not mix, although a compiler writes a line in pieces.
func TestClangLines(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	compiler := write("clang", "#!/bin/sh\nprintf 'one ' >&2\nsleep 0.1\necho line >&2\nexit 1\n")
	check := exec.Command("../../scripts/clang", write("some.h", ""))
	check.Env = append(os.Environ(), "CLANG="+compiler)
	out, err := check.CombinedOutput()
	if want := strings.Repeat("one line\n", 5); err == nil || string(out) != want {
		t.Errorf("%v, %q, want an error and %q", err, out, want)
	}
}

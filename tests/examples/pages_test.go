package examples

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

// ran are the pages whose blocks of a language another test runs, or compares with a file that runs.
var ran = map[string]string{
	"docs/start/python-guide.md python":   "python/tests/test_guide.py",
	"docs/start/first-programs.md python": "python/tests/test_wheel.py",
	"docs/guides/torch.md python":         "python/tests/test_torch.py",
	"docs/guides/mesh.md python":          "python/tests/test_mesh.py",
	"docs/guides/kubernetes.md yaml":      "tests/pods/pods_test.go",
	"docs/start/recipes.md yaml":          "tests/pods/pods_test.go",
	"docs/start/from-nvshmem.md cmake":    "tests/install/nvshmem_test.go",
}

// fragment is what the lines of a block need around them.
type fragment struct {
	first  string // of its lines
	before string // the function
	params string
}

var fragments = []fragment{
	{"shmemx_uniqueid_t id =", "", "int me, int n"},
	{"MPI_Comm comm =", "typedef struct communicator *MPI_Comm;\nextern MPI_Comm MPI_COMM_WORLD;", "void"},
	{"shmemx_wait_limit(", "void look_for_something_else(void);", "uint64_t *flag"},
	{"while (shmem_long_sum_reduce(", "", "shmem_team_t team, long *dest, const long *source, size_t n"},
	{"cudaStreamSynchronize(", "typedef struct stream *cudaStream_t;\nint cudaStreamSynchronize(cudaStream_t);", "cudaStream_t stream, int peer"},
	{"int sent = shmemx_send_test(", "", "const void *out, void *in, size_t nbytes, int other"},
	{"size_t n = 0;", "", "char *buf, size_t capacity"},
	{"uint64_t bytes;", "", "int pe"},
}

// block is a part of a page that is set as code of a language.
type block struct {
	page, language, text string
	line                 int
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// blocks returns those of all pages.
func blocks(t *testing.T) []block {
	t.Helper()
	var all []block
	err := fs.WalkDir(os.DirFS(root), ".", func(page string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (page == "build" || strings.HasPrefix(page, ".git")):
			return fs.SkipDir
		case filepath.Ext(page) != ".md":
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, page))
		for _, m := range fence.FindAllSubmatchIndex(text, -1) {
			all = append(all, block{page, string(text[m[2]:m[3]]), string(text[m[4]:m[5]]), 1 + strings.Count(string(text[:m[0]]), "\n")})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestPages compiles, runs or parses the blocks of code in the pages of the documentation, except
// those that another test runs.
func TestPages(t *testing.T) {
	all := blocks(t)
	if len(all) < 40 {
		t.Errorf("the pages have %d blocks of code: the test looks for another form", len(all))
	}
	used := map[string]bool{}
	for i, b := range all {
		t.Run(b.page+":"+strconv.Itoa(b.line), func(t *testing.T) {
			if test := ran[b.page+" "+b.language]; test != "" {
				used[b.page+" "+b.language] = true
				text, err := os.ReadFile(filepath.Join(root, test))
				if err != nil || !strings.Contains(string(text), filepath.Base(b.page)) {
					t.Errorf("%s does not name the page: %v", test, err)
				}
				return
			}
			file := filepath.Join(programs, "block"+strconv.Itoa(i))
			switch b.language {
			case "c":
				b.compile(t, file)
			case "cuda":
				b.write(t, file+".cu", b.text)
				cc.Run(t, need.NVCC(t), "-std=c++17", "-arch=sm_90", "-ccbin", cc.C(), "-I"+filepath.Join(root, "device"),
					"-I"+filepath.Join(root, "include"), "-c", file+".cu", "-o", file+".o")
			case "sh":
				if out, err := exec.Command("bash", "-n", "-c", b.text).CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			case "python", "py":
				if out, err := exec.Command("python3", "-c", "import sys; compile(sys.argv[1], sys.argv[2], 'exec')", b.text, b.page).CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			default:
				t.Errorf("no test for a block of %s (add one, or name the test that has it)", b.language)
			}
		})
	}
	for row := range ran {
		if !used[row] {
			t.Errorf("%s: no page has such a block", row)
		}
	}
}

func (b *block) write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// compile compiles a program and runs it by two PEs, or compiles lines of a program in a function.
func (b *block) compile(t *testing.T, file string) {
	t.Helper()
	include := "-I" + filepath.Join(root, "include")
	if strings.Contains(b.text, "int main(void)") {
		b.write(t, file+".c", b.text)
		compile(t, include, "-o", file, file+".c", "-L"+filepath.Join(build, "lib"), "-lshmem")
		if r := shmemrun(t, nil, "-n", "2", file); r.status != 0 {
			t.Error(r)
		}
		return
	}
	i := slices.IndexFunc(fragments, func(f fragment) bool { return strings.HasPrefix(b.text, f.first) })
	if i < 0 {
		t.Fatalf("no row of fragments has the first of these lines:\n%s", b.text)
	}
	f := fragments[i]
	b.write(t, file+".c", "#include <shmem.h>\n#include <shmemx.h>\n#include <stdio.h>\n#include <stdlib.h>\n"+
		f.before+"\nvoid part("+f.params+");\nvoid part("+f.params+")\n{\n"+b.text+"}\n")
	compile(t, include, "-c", file+".c", "-o", file+".o")
}

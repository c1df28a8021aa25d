package device

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// surface is a set of names for kernels: its headers, and what a program includes.
type surface struct {
	name    string
	headers []string
	include string
}

var surfaces = []surface{
	{"shmem", []string{"../../device/shmem/zz_*.h", "../../device/shmem/queue.h"},
		"#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <shmem/eager.cuh>\n#include <shmem/shmem.cuh>\n"},
	{"nvshmem", []string{"../../include/nvshmem/device/nvshmem_defines.h", "../../include/nvshmem/device/nvshmemx_defines.h"},
		"#include <nvshmem.h>\n#include <nvshmemx.h>\n"},
}

// oneCall is a name that kernels call, with a kernel of that one call.
type oneCall struct {
	name, kernel string
	kind         string // names of one kind differ in types of the same size alone
	family       string // and those of one family in types
}

var (
	declared = regexp.MustCompile(`^(?:template <class H = (\w+)> )?SHMEMI_(?:SHARED|ONLY) (.*?)(\w+)\(([^()]*)\)\s*(SHMEMI_(?:DO|RUN).*)?$`)
	number   = regexp.MustCompile(`0x[0-9a-f]+u`)
	late     = "typename shmemi_late<H>::type"
	element  = regexp.MustCompile(`\b(?:(?:unsigned|signed) )?(?:char|short|int|long long|long|u?int\d+_t|size_t|ptrdiff_t|float|double|__half|__nv_bfloat16)\b`)
	factor   = regexp.MustCompile(`(nelems|nreduce) \* \d+`)
)

// bytesOf has the types of the table by how an instruction sees them.
var bytesOf = map[string]string{
	"char": "1", "signed char": "1", "unsigned char": "1", "int8_t": "1", "uint8_t": "1",
	"short": "2", "unsigned short": "2", "int16_t": "2", "uint16_t": "2",
	"int": "4", "unsigned int": "4", "int32_t": "4", "uint32_t": "4",
	"long": "8", "unsigned long": "8", "long long": "8", "unsigned long long": "8", "int64_t": "8", "uint64_t": "8", "size_t": "8", "ptrdiff_t": "8",
}

// calledBy reads the names of a surface from its headers.
func calledBy(t *testing.T, s surface) (all []oneCall) {
	t.Helper()
	for _, pattern := range s.headers {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("find %s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(string(text), "\n") {
				m := declared.FindStringSubmatch(line)
				if m == nil || m[5] == "" {
					continue
				}
				result, params := strings.ReplaceAll(m[2], late, m[1]), strings.ReplaceAll(m[4], late, m[1])
				all = append(all, callOf(len(all), strings.TrimSpace(result), m[3], params, m[5]))
			}
		}
	}
	return all
}

// callOf writes a kernel whose parameters are those of the call.
func callOf(i int, result, name, params, body string) oneCall {
	var list, args []string
	if params != "" && params != "void" {
		for _, p := range strings.Split(params, ",") {
			p = strings.TrimSpace(p)
			p, array := strings.CutSuffix(p, "[]")
			arg := p[strings.LastIndexAny(p, " *")+1:]
			if array {
				p = strings.TrimSuffix(p, arg) + "*" + arg
			}
			list, args = append(list, p), append(args, arg)
		}
	}
	set := ""
	if result != "void" {
		list, set = append([]string{result + " *kernel_result"}, list...), "*kernel_result = "
	}
	c := oneCall{name: name}
	c.kernel = fmt.Sprintf("extern \"C\" __global__ void k%d_%s(%s) { %s%s(%s); }", i, name, strings.Join(list, ", "), set, name, strings.Join(args, ", "))
	code := number.ReplaceAllString(body, "") + " " + strings.Join(list, ", ")
	c.kind = element.ReplaceAllStringFunc(code, func(t string) string {
		if b, ok := bytesOf[t]; ok {
			return b
		}
		return t
	})
	c.family = factor.ReplaceAllString(element.ReplaceAllString(code, "T"), "$1")
	return c
}

// TestCalledNames compares the names that kernels of TestLinked call with the generator's list.
func TestCalledNames(t *testing.T) {
	for _, s := range surfaces {
		found := map[string]bool{}
		for _, c := range calledBy(t, s) {
			found[c.name] = true
		}
		list, err := os.ReadFile(filepath.Join(folderOf(t), "gen", map[string]string{"shmem": "gpu", "nvshmem": "nvshmem/gpu"}[s.name], "zz_names.txt"))
		if err != nil {
			t.Fatalf("read the names of %s: %v (make build tests)", s.name, err)
		}
		for _, line := range strings.Split(string(list), "\n") {
			name, _, _ := strings.Cut(line, " ")
			if name != "" && name != "#" && !found[name] && !strings.Contains(name, "tile") {
				t.Errorf("%s: no kernel of TestLinked calls %s", s.name, name)
			}
		}
	}
}

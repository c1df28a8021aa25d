package device

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"libshmem/tests/need"
)

func folderOf(t *testing.T) string { return need.Folder(t) }

// most has what a kernel of one call may take: registers of a thread, and bytes of its stack. The
// first row whose words are all in the name holds; docs/reference/kernel-registers.md has the reasons.
var most = []struct {
	names            *regexp.Regexp
	registers, stack int
}{
	{regexp.MustCompile(`_reduce(scatter)?(_|$)`), 255, 1024},
	{regexp.MustCompile(`i(put|get)128`), perThread, 272}, // on sm_75 and sm_80
	{regexp.MustCompile(``), perThread, 256},
}

// a used is what a compiler reports of a kernel.
type used struct{ registers, stack int }

var (
	linkedName = regexp.MustCompile(`Function properties for '(\w+)'`)
	linkedUse  = regexp.MustCompile(`used (\d+) registers,.*?(\d+) stack`)
	wholeUse   = regexp.MustCompile(`(?s)Compiling entry function '(\w+)'.*?Used (\d+) registers(?:[^\n]*?(\d+) bytes cumulative stack)?`)
)

// relocatable compiles with -rdc=true, as the build files of NVSHMEM's programs do, and reads the
// report of the device linker, which gives a kernel the registers of all functions below it.
func relocatable(t *testing.T, source, arch string, flags []string) map[string]used {
	base := strings.TrimSuffix(source, ".cu") + "." + arch
	nvcc := need.NVCC(t)
	args := append([]string{"-arch=" + arch, "-rdc=true", "-cubin", "-o", base + ".cubin", source}, flags...)
	if out, err := exec.Command(nvcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("compile %s for %s with -rdc=true: %v\n%s", source, arch, err, out)
	}
	out, err := exec.Command(filepath.Join(filepath.Dir(nvcc), "nvlink"), "-arch="+arch, "-v", base+".cubin", "-o", base+".linked").CombinedOutput()
	if err != nil {
		t.Fatalf("link %s for %s: %v\n%s", source, arch, err, out)
	}
	all, name := map[string]used{}, ""
	for _, line := range strings.Split(string(out), "\n") {
		if m := linkedName.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if m := linkedUse.FindStringSubmatch(line); m != nil {
			all[name] = used{atoi(t, m[1]), atoi(t, m[2])}
		}
	}
	return all
}

// whole compiles without it, and reads the assembler's report.
func whole(t *testing.T, source, arch string, flags []string) map[string]used {
	args := append([]string{"-arch=" + arch, "-cubin", "-Xptxas", "-v", "-o", os.DevNull, source}, flags...)
	out, err := exec.Command(need.NVCC(t), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("compile %s for %s: %v\n%s", source, arch, err, out)
	}
	all := map[string]used{}
	for _, m := range wholeUse.FindAllStringSubmatch(string(out), -1) {
		u := used{registers: atoi(t, m[2])}
		if m[3] != "" {
			u.stack = atoi(t, m[3])
		}
		all[m[1]] = u
	}
	return all
}

func atoi(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLinked checks that a kernel of one call, without launch bounds, has registers for blocks of
// 1,024 threads, and how much stack it takes. On each push it compiles one call of each family of
// shmem that has a limit, for sm_90 with -rdc=true; in make test-full the calls of both surfaces, in
// one type of each kind and size, for all architectures and in both ways.
func TestLinked(t *testing.T) {
	fewer := need.Left("kernels")
	archs, ways := promised, map[string]func(*testing.T, string, string, []string) map[string]used{"rdc": relocatable, "whole": whole}
	if fewer {
		archs = []string{"sm_90"}
		delete(ways, "whole")
	}
	flags := []string{"-std=c++17", "-O3", "-I../../device", "-I../../include", "-I../../include/nvshmem"}
	var two = make(chan struct{}, 2)
	var wait sync.WaitGroup
	for _, s := range surfaces {
		if fewer && s.name != "shmem" {
			continue
		}
		var kernels []string
		names, seen := map[string]string{}, map[string]bool{}
		for i, c := range calledBy(t, s) {
			like := c.kind
			if fewer {
				like = c.family
			}
			if seen[like] || strings.Contains(c.name, "tile") || fewer && (limitOf(c.name).registers > perThread || strings.Contains(c.kernel, "shmem_context") || strings.Contains(c.name, "_ctx_")) {
				continue
			}
			seen[like] = true
			kernels, names["k"+strconv.Itoa(i)+"_"+c.name] = append(kernels, c.kernel), c.name
		}
		source := filepath.Join(t.TempDir(), s.name+".cu")
		if err := os.WriteFile(source, []byte(s.include+strings.Join(kernels, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, arch := range archs {
			for way, compile := range ways {
				two <- struct{}{}
				wait.Go(func() {
					defer func() { <-two }()
					judgeUse(t, s.name+", "+arch+", "+way, names, compile(t, source, arch, flags))
				})
			}
		}
	}
	wait.Wait()
}

// TestLinkedAlone does the same for kernels alone in their unit, where nvcc fits the functions below
// them to that one call, and for the architectures that TestLinked leaves to make test-full.
func TestLinkedAlone(t *testing.T) {
	archs, alone := promised, map[string]bool{"shmemx_putmem_block": true, "shmem_putmem_signal": true, "shmemx_getmem_warp": true, "shmemx_alltoallmem_block": true}
	if need.Left("kernels") {
		archs, alone = []string{"sm_120"}, map[string]bool{"shmemx_putmem_block": true}
	}
	found := 0
	for i, c := range calledBy(t, surfaces[0]) {
		if !alone[c.name] || strings.Contains(c.kernel, "shmem_context") {
			continue
		}
		found++
		source := filepath.Join(t.TempDir(), "alone.cu")
		if err := os.WriteFile(source, []byte("#include <shmem/shmem.cuh>\n"+c.kernel+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, arch := range archs {
			all := relocatable(t, source, arch, []string{"-std=c++17", "-O3", "-I../../device", "-I../../include"})
			judgeUse(t, c.name+" alone, "+arch, map[string]string{"k" + strconv.Itoa(i) + "_" + c.name: c.name}, all)
		}
	}
	if found != len(alone) {
		t.Errorf("found %d of the %d names", found, len(alone))
	}
}

func limitOf(name string) used {
	for _, m := range most {
		if m.names.MatchString(name) {
			return used{m.registers, m.stack}
		}
	}
	panic("the last row has no words")
}

// judgeUse compares what each kernel takes with its limit.
func judgeUse(t *testing.T, where string, names map[string]string, all map[string]used) {
	var top used
	for kernel, name := range names {
		u, ok := all[kernel]
		limit := limitOf(name)
		switch {
		case !ok:
			t.Errorf("%s: no report of %s", where, name)
		case u.registers > limit.registers:
			t.Errorf("%s: a kernel that calls %s takes %d registers, so that blocks of 1024 threads do not start (at most %d)", where, name, u.registers, limit.registers)
		case u.stack > limit.stack:
			t.Errorf("%s: a kernel that calls %s takes %d bytes of stack (at most %d)", where, name, u.stack, limit.stack)
		}
		if limit.registers == perThread {
			top.registers, top.stack = max(top.registers, u.registers), max(top.stack, u.stack)
		}
	}
	t.Logf("%s: %d kernels, at most %d registers and %d bytes of stack where there is a limit", where, len(all), top.registers, top.stack)
}

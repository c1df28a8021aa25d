package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// The builds of users: a program in C, one in C++, and a project of CMake with both.
const (
	programC = `#include <mpp/shmem.h>
#include <shmemx.h>
#include <stdio.h>

int main(void)
{
    shmem_init();
    long *at = shmem_calloc(1, sizeof *at);
    shmem_long_atomic_add(at, shmem_my_pe() + 1, 0);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        printf("sum %ld\n", *at);
    shmem_finalize();
}
`
	programCXX = `#include <shmem.h>
#include <iostream>

int main()
{
    shmem_init();
    long *at = static_cast<long *>(shmem_calloc(1, sizeof(long)));
    shmem_atomic_add(at, shmem_my_pe() + 1, 0);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        std::cout << "sum " << *at << std::endl;
    shmem_finalize();
}
`
	project = `cmake_minimum_required(VERSION 3.16)
project(sum C CXX)
find_package(shmem VERSION REQUIRED)
add_executable(one one.c)
target_link_libraries(one PRIVATE shmem::shmem)
add_executable(two two.cc)
target_link_libraries(two PRIVATE shmem::shmem)
message(STATUS "launcher ${shmem_LAUNCHER}")
`
)

// TestWays builds programs outside the tree in each way that users have, against an installation
// that was made for another folder, and runs them with oshrun.
func TestWays(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	makeTarget(t, "install", "PREFIX="+made)
	prefix := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(made, prefix); err != nil {
		t.Fatal(err)
	}
	read, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(string(read))
	osh := func(name string) string { return filepath.Join(prefix, "bin", name) }
	pkg := append([]string{"PKG_CONFIG_PATH=" + prefix + "/lib/pkgconfig"}, bare...)
	folder := func(t *testing.T, text string) string {
		t.Helper()
		dir := t.TempDir()
		for name, text := range map[string]string{"one.c": programC, "two.cc": programCXX, "CMakeLists.txt": text} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	runs := func(t *testing.T, dir, program string) {
		t.Helper()
		if out := command(t, dir, bare, osh("oshrun"), "-np", "3", program); out != "sum 6\n" {
			t.Errorf("oshrun -np 3 %s: %q", program, out)
		}
		// Also without a launcher, by the wrappers' run path or CMake's.
		if strings.HasPrefix(filepath.Base(program), "pkg") {
			return
		}
		if out := command(t, dir, bare, program); out != "sum 1\n" {
			t.Errorf("%s: %q", program, out)
		}
	}

	t.Run("oshcc", func(t *testing.T) {
		dir := folder(t, "")
		command(t, dir, bare, osh("oshcc"), "-Wall", "-Werror", "one.c", "-o", "a")
		runs(t, dir, "./a")
		command(t, dir, bare, osh("oshcc"), "-c", "one.c")
		command(t, dir, bare, osh("oshcc"), "one.o", "-o", "b")
		runs(t, dir, "./b")
	})
	for _, name := range []string{"oshc++", "oshcxx", "oshCC"} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, "")
			command(t, dir, bare, osh(name), "-Wall", "-Werror", "two.cc", "-o", "a")
			runs(t, dir, "./a")
		})
	}
	t.Run("showme", func(t *testing.T) {
		for _, c := range []struct{ name, option, want string }{
			{"oshcc", "-showme:compile", "-I" + prefix + "/include\n"},
			{"oshc++", "-showme:link", "-L" + prefix + "/lib -Wl,-rpath," + prefix + "/lib -lshmem\n"},
			{"oshcc", "-showme", "gcc -I" + prefix + "/include -c x.c\n"},
			{"oshcc", "-show", "gcc -I" + prefix + "/include -c x.c\n"},
			{"oshc++", "-showme", "g++ -I" + prefix + "/include -c x.c\n"},
		} {
			args := []string{osh(c.name), c.option}
			if !strings.Contains(c.option, ":") {
				args = append(args, "-c", "x.c")
			}
			if out := command(t, "", bare, args...); out != c.want {
				t.Errorf("%s %s: %q, want %q", c.name, c.option, out, c.want)
			}
		}
		other := append([]string{"OSHMEM_CC=cc -pipe"}, bare...)
		if out := command(t, "", other, osh("oshcc"), "-showme", "-c", "x.c"); !strings.HasPrefix(out, "cc -pipe -I") {
			t.Errorf("another compiler: %q", out)
		}
	})
	t.Run("version", func(t *testing.T) { versions(t, prefix, version) })
	t.Run("manual", func(t *testing.T) { manuals(t, prefix) })
	t.Run("completion", func(t *testing.T) { completions(t, prefix) })
	t.Run("examples", func(t *testing.T) { exampleBuild(t, prefix) })
	t.Run("pkg-config", func(t *testing.T) {
		dir := folder(t, "")
		command(t, dir, pkg, "sh", "-c", "gcc one.c -o pkg $(pkg-config --cflags --libs shmem)")
		runs(t, dir, "./pkg")
		if out := command(t, dir, pkg, "pkg-config", "--modversion", "shmem"); out != version+"\n" {
			t.Errorf("version %q, want %s", out, version)
		}
	})
	t.Run("CMake", func(t *testing.T) {
		dir := folder(t, strings.Replace(project, "VERSION REQUIRED", version+" REQUIRED", 1))
		out := command(t, dir, bare, "cmake", "-S", ".", "-B", "out", "-DCMAKE_PREFIX_PATH="+prefix)
		if !strings.Contains(out, "launcher "+osh("shmemrun")+"\n") {
			t.Errorf("cmake:\n%s", out)
		}
		command(t, dir, bare, "cmake", "--build", "out")
		runs(t, dir, "out/one")
		runs(t, dir, "out/two")
	})
	t.Run("CMake, another version", func(t *testing.T) {
		dir := folder(t, strings.Replace(project, "VERSION REQUIRED", "77.0", 1))
		out := command(t, dir, bare, "sh", "-c", "cmake -S . -B out -DCMAKE_PREFIX_PATH="+prefix+" 2>&1 || true")
		if !strings.Contains(out, `requested`) || !strings.Contains(out, "version: "+version) {
			t.Errorf("cmake takes %s for 77.0:\n%s", version, out)
		}
	})
	t.Run("man", func(t *testing.T) {
		need.Command(t, "man")
		for _, name := range []string{"shmem_int_put", "shmem_putmem_nbi", "shmem_barrier_all", "shmem"} {
			out := command(t, "", append([]string{"MANPATH=" + prefix + "/share/man", "MANWIDTH=100"}, bare...), "man", name)
			if !strings.Contains(out, "\nNAME\n") || !strings.Contains(out, "shmem") {
				t.Errorf("man %s:\n%s", name, out)
			}
		}
	})
	t.Run("oshmem_info", func(t *testing.T) {
		if out := command(t, "", bare, osh("oshmem_info")); !strings.Contains(out, version) {
			t.Errorf("it does not say %s:\n%s", version, out)
		}
	})
}

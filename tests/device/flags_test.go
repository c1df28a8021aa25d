package device

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"libshmem/tests/need"
)

// flagsProject has each library's kernels once with separable compilation and once without.
const flagsProject = `cmake_minimum_required(VERSION 3.16)
project(flags LANGUAGES CUDA)
find_package(shmem REQUIRED CONFIG)
find_package(NVSHMEM REQUIRED CONFIG)
foreach(way whole rdc)
  add_library(shmem_${way} OBJECT empty.cu)
  target_link_libraries(shmem_${way} PRIVATE shmem::shmem)
  add_library(nvshmem_${way} OBJECT empty.cu)
  target_link_libraries(nvshmem_${way} PRIVATE nvshmem::nvshmem_host)
endforeach()
set_target_properties(shmem_rdc nvshmem_rdc PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
`

// TestRegisterFlags reads which flags CMake gives nvcc for relocatable device code: the limit of
// registers there, and nothing elsewhere, where the assembler would warn.
func TestRegisterFlags(t *testing.T) {
	if need.Left("kernels") {
		t.Skip("CMake tries the compiler for five seconds: make test-full does it")
	}
	work := t.TempDir()
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(work, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(work, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("CMakeLists.txt", flagsProject)
	write("empty.cu", "")
	for place, source := range map[string]string{"shmem": "shmem-config.cmake", "nvshmem": "nvshmem/nvshmem-config.cmake"} {
		text, err := os.ReadFile(filepath.Join("../../scripts/install", source))
		if err != nil {
			t.Fatal(err)
		}
		write("prefix/lib/cmake/"+place+"/"+filepath.Base(source), string(text))
	}
	for _, folder := range []string{"include/nvshmem", "lib"} {
		write("prefix/"+folder+"/empty", "")
	}
	cmake := exec.Command("cmake", "-S", work, "-B", filepath.Join(work, "out"), "-DCMAKE_PREFIX_PATH="+filepath.Join(work, "prefix"),
		"-DCMAKE_CUDA_COMPILER="+need.NVCC(t), "-DCMAKE_CUDA_ARCHITECTURES=90")
	if out, err := cmake.CombinedOutput(); err != nil {
		t.Fatalf("configure: %v\n%s", err, out)
	}
	for _, library := range []string{"shmem", "nvshmem"} {
		for way, want := range map[string]bool{"whole": false, "rdc": true} {
			flags, err := os.ReadFile(filepath.Join(work, "out/CMakeFiles", library+"_"+way+".dir", "flags.make"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(flags), "-Xptxas -func-maxrregcount=64"); got != want {
				t.Errorf("%s, %s: a limit of registers: %v, want %v\n%s", library, way, got, want, flags)
			}
		}
	}
}

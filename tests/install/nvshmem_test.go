package install

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"libshmem/runtime/config"
)

// The builds of NVSHMEM's users: a program in C, one in C++, and a project of CMake with both.
const (
	nvshmemProgram = `#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>

int main(void)
{
    int major, minor, patch;
    nvshmem_init();
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    printf("PE %d of NVSHMEM %d.%d.%d\n", nvshmem_my_pe(), major, minor, patch);
    nvshmem_finalize();
    return 0;
}
`
	nvshmemProject = `cmake_minimum_required(VERSION 3.16)
project(nv C CXX)
find_package(NVSHMEM VERSION REQUIRED)
add_executable(one nv.c)
target_link_libraries(one PRIVATE nvshmem::nvshmem_host)
add_executable(two nv.cc)
target_link_libraries(two PRIVATE nvshmem::nvshmem_device nvshmem::nvshmem_host)
add_executable(three nv.cc)
target_link_libraries(three PRIVATE nvshmem::nvshmem)
message(STATUS "launcher ${NVSHMEM_LAUNCHER} of ${NVSHMEM_VERSION}")
`
)

// nvshmem builds programs of NVSHMEM as their users do (docs/start/from-nvshmem.md), with an installation that may have been
// moved. Then it installs over it without NVSHMEM.
func nvshmem(t *testing.T, prefix, work string) {
	for _, name := range []string{"nv.c", "nv.cc"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(nvshmemProgram), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runs := func(t *testing.T, program string) {
		t.Helper()
		out := command(t, work, bare, prefix+"/bin/nvshmrun", "-np", "2", "-ppn", "2", "-hosts", "localhost", program)
		for _, line := range []string{"PE 0 of NVSHMEM " + config.NvshmemVersion + "\n", "PE 1 of NVSHMEM " + config.NvshmemVersion + "\n"} {
			if !strings.Contains(out, line) {
				t.Errorf("%s prints\n%s", program, out)
			}
		}
	}
	t.Run("flags", func(t *testing.T) {
		command(t, work, bare, "gcc", "-I"+prefix+"/include/nvshmem", "nv.c", "-L"+prefix+"/lib", "-lnvshmem_host", "-lnvshmem_device", "-o", "nv")
		runs(t, "./nv")
	})
	t.Run("home", func(t *testing.T) {
		home := append([]string{"NVSHMEM_HOME=" + prefix + "/share/nvshmem"}, bare...)
		command(t, work, home, "sh", "-c", `test -f "$NVSHMEM_HOME/include/nvshmem.h" && gcc "-I$NVSHMEM_HOME/include" nv.c "-L$NVSHMEM_HOME/lib" -lnvshmem -lnvshmem_host "-Wl,-rpath,$NVSHMEM_HOME/lib" -o home`)
		runs(t, "./home")
		if out := command(t, work, home, "sh", "-c", `./home && "$NVSHMEM_HOME/bin/nvshmem-info" -v`); !strings.Contains(out, "PE 0 of NVSHMEM") || !strings.Contains(out, "NVSHMEM v"+config.NvshmemVersion+",") {
			t.Errorf("it prints\n%s", out)
		}
	})
	t.Run("pkg-config", func(t *testing.T) {
		pkg := append([]string{"PKG_CONFIG_PATH=" + prefix + "/lib/pkgconfig"}, bare...)
		command(t, work, pkg, "sh", "-c", "gcc nv.c -o pkg $(pkg-config --cflags --libs nvshmem)")
		runs(t, "./pkg")
		if out := command(t, work, pkg, "pkg-config", "--modversion", "nvshmem"); out != config.NvshmemVersion+"\n" {
			t.Errorf("version %q", out)
		}
	})
	cmake := func(version, hint string) string {
		text := strings.Replace(nvshmemProject, "VERSION REQUIRED", version+" REQUIRED", 1)
		if err := os.WriteFile(filepath.Join(work, "CMakeLists.txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return command(t, work, bare, "sh", "-c", "rm -rf out && cmake -S . -B out "+hint+" 2>&1 || true")
	}
	for name, hint := range map[string]string{
		"CMake":                  "-DCMAKE_PREFIX_PATH=" + prefix,
		"CMake, by NVSHMEM_DIR":  "-DNVSHMEM_DIR=" + prefix + "/lib/cmake/nvshmem",
		"CMake, by NVSHMEM_ROOT": "-DNVSHMEM_ROOT=" + prefix + "/share/nvshmem",
	} {
		t.Run(name, func(t *testing.T) {
			if out := cmake("3.4", hint); !regexp.MustCompile("launcher .*/bin/nvshmrun of " + config.NvshmemVersion + "\n").MatchString(out) {
				t.Fatalf("cmake:\n%s", out)
			}
			command(t, work, bare, "cmake", "--build", "out")
			for _, program := range []string{"out/one", "out/two", "out/three"} {
				runs(t, program)
			}
		})
	}
	t.Run("CMake, versions", func(t *testing.T) {
		for version, takes := range map[string]bool{"": true, "3.8.0": true, "3.8.1": false, "2.11": false, "4.0": false} {
			out := cmake(version, "-DCMAKE_PREFIX_PATH="+prefix)
			if strings.Contains(out, "launcher") != takes {
				t.Errorf("cmake with NVSHMEM %s:\n%s", version, out)
			}
		}
	})
	t.Run("nvshmem-info", func(t *testing.T) {
		out := command(t, work, append([]string{"NVSHMEM_QP_DEPTH=1000"}, bare...), prefix+"/bin/nvshmem-info", "-a")
		for i := range config.Nvshmem {
			if v := &config.Nvshmem[i]; !regexp.MustCompile("(?m)^" + v.Name + "(=.*)?\n    " + regexp.QuoteMeta(v.Says()) + "$").MatchString(out) {
				t.Errorf("it does not have %s: %s", v.Name, v.Says())
			}
		}
		if !strings.Contains(out, "\nNVSHMEM_QP_DEPTH=1000\n    sets SHMEM_RING_SIZE. ") {
			t.Errorf("it prints\n%s", out)
		}
		if out := command(t, work, bare, prefix+"/bin/nvshmem-info", "-h"); !strings.HasPrefix(out, "Usage: nvshmem-info ") {
			t.Errorf("-h prints\n%s", out)
		}
	})

	makeTarget(t, "install", "NVSHMEM=no", "PREFIX="+prefix)
	for _, f := range files(t, prefix) {
		// A page of documentation says what it would be, and shmem-perf measures NVIDIA's library beside.
		if strings.Contains(f, "nvsh") && !strings.HasPrefix(f, "share/doc/") && !strings.HasPrefix(f, "share/libshmem/perf/") {
			t.Errorf("with NVSHMEM=no there is %s", f)
		}
	}
}

package install

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// layout is in every installation, which may have more headers and commands.
var layout = []string{
	"bin/nvshmem-info",
	"bin/nvshmrun",
	"bin/oshCC",
	"bin/oshc++",
	"bin/oshcc",
	"bin/oshcxx",
	"bin/oshmem_info",
	"bin/oshrun",
	"bin/shmem-doctor",
	"bin/shmem-info",
	"bin/shmem-perf",
	"bin/shmem-trace",
	"bin/shmemrun",
	"include/mpp/shmem.h",
	"include/nvshmem/device/nvshmem_coll_defines.cuh",
	"include/nvshmem/device/nvshmem_defines.h",
	"include/nvshmem/device/tile/nvshmemx_tile_api.hpp",
	"include/nvshmem/device_host_transport/nvshmem_common_ibgda.h",
	"include/nvshmem/host/nvshmem_api.h",
	"include/nvshmem/host/nvshmemx_api.h",
	"include/nvshmem/non_abi/device/threadgroup/nvshmemi_common_device_defines.cuh",
	"include/nvshmem/nvshmem.h",
	"include/nvshmem/nvshmem_host.h",
	"include/nvshmem/nvshmemx.h",
	"include/pshmem.h",
	"include/shmem/kernels.h",
	"include/shmem.h",
	"include/shmemx.h",
	"include/shmemx_bootstrap.h",
	"lib/cmake/nvshmem/nvshmem-config-version.cmake",
	"lib/cmake/nvshmem/nvshmem-config.cmake",
	"lib/cmake/shmem/shmem-config-version.cmake",
	"lib/cmake/shmem/shmem-config.cmake",
	"lib/libnvshmem.a",
	"lib/libnvshmem_device.a",
	"lib/libnvshmem_host.so",
	"lib/libnvshmem_host.so.3",
	"lib/libshmem_nvshmem.so",
	"lib/libshmem.so",
	"lib/libshmem_core.so",
	"lib/libshmem_preload.so",
	"lib/libshmem_rma.so",
	"lib/pkgconfig/nvshmem.pc",
	"lib/pkgconfig/shmem.pc",
	"libexec/shmem/perf",
	"share/doc/libshmem/LICENSE",
	"share/doc/libshmem/docs/start/install.md",
	"share/libshmem/libshmem.gdb",
	"share/libshmem/perf/epyc-2.table",
	"share/libshmem/perf/measure/device.cu",
	"share/libshmem/perf/measure/gpu.cuh",
	"share/libshmem/perf/measure/nvshmem.cu",
	"share/libshmem/perf/measure/main.c",
	"share/libshmem/perf/measure/perf.h",
	"share/libshmem/valgrind.supp",
	"share/bash-completion/completions/oshc++",
	"share/bash-completion/completions/shmemrun",
	"share/man/man1/nvshmrun.1",
	"share/man/man1/oshrun.1",
	"share/man/man1/shmem-doctor.1",

	"share/man/man1/shmem-perf.1",
	"share/man/man3/pshmem.3",
	"share/man/man3/shmem_int_put.3",
	"share/man/man3/shmem_put.3",
	"share/man/man3/shmem_long_sum_to_all.3",
	"share/man/man3/shmemx_last_error.3",
	"share/man/man7/shmem.7",
	"share/nvshmem/bin",
	"share/nvshmem/include",
	"share/nvshmem/lib",
	"share/shmem/examples/Makefile",
	"share/shmem/examples/ring/ring.c",
	"share/zsh/site-functions/_shmemrun",
}

// bare is the environment of a user without settings.
var bare = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}

func command(t *testing.T, dir string, env []string, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

func makeTarget(t *testing.T, args ...string) {
	t.Helper()
	argv := append([]string{"make", "--no-print-directory", "-s", "-C", root}, args...)
	// The caller may itself be a recipe of make.
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MAKEFLAGS=") || strings.HasPrefix(v, "MAKELEVEL=") || strings.HasPrefix(v, "MFLAGS=")
	})
	command(t, "", env, argv...)
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			p, err = filepath.Rel(dir, p)
			all = append(all, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readmeExample returns the program in README.md.
func readmeExample(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)\n```c\n(.*?)\n```\n").FindSubmatch(text)
	if m == nil {
		t.Fatal("README.md has no C example")
	}
	return string(m[1]) + "\n"
}

func TestInstall(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "shmem")
	makeTarget(t, "install", "PREFIX="+prefix)

	installed, wanted := files(t, prefix), layout
	if clang, err := exec.Command("../../scripts/bitcode-clang").Output(); err != nil || len(clang) > 0 {
		wanted = append([]string{"lib/libnvshmem_device.bc", "lib/libnvshmem_device_sm_90.bc"}, wanted...)
	}
	for _, want := range wanted {
		if !slices.Contains(installed, want) {
			t.Errorf("%s is not installed", want)
		}
	}
	for _, f := range installed {
		if strings.HasPrefix(f, "lib64") {
			t.Errorf("%s: never lib64", f)
		}
	}

	work := t.TempDir()
	ring, err := os.ReadFile(filepath.Join(root, "examples", "ring", "ring.c"))
	if err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]string{"ring": string(ring), "readme": readmeExample(t)} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(work, name+".c"), []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
			command(t, work, bare, "gcc", "-I"+prefix+"/include", name+".c", "-L"+prefix+"/lib", "-lshmem", "-o", name)
			out := command(t, work, bare, prefix+"/bin/shmemrun", "-n", "3", "./"+name)
			for _, line := range []string{"PE 0 of 3: PE 2 wrote to me", "PE 1 of 3: PE 0 wrote to me", "PE 2 of 3: PE 1 wrote to me"} {
				if !strings.Contains(out, line) {
					t.Errorf("the output lacks %q:\n%s", line, out)
				}
			}
		})
	}

	t.Run("nvshmem", func(t *testing.T) { nvshmem(t, prefix, work) })
	makeTarget(t, "uninstall", "PREFIX="+prefix)
	if _, err := os.Stat(prefix); err == nil {
		t.Errorf("uninstall left %s with %v", prefix, files(t, prefix))
	}
}

// TestSpaces: PREFIX and DESTDIR may have spaces, and the installation works there.
func TestSpaces(t *testing.T) {
	prefix, stage := filepath.Join(t.TempDir(), "my programs", "shmem 1"), filepath.Join(t.TempDir(), "a stage")
	makeTarget(t, "install", "PREFIX="+prefix)
	makeTarget(t, "install", "PREFIX=/opt/my shmem", "DESTDIR="+stage)
	if got, want := files(t, filepath.Join(stage, "opt/my shmem")), files(t, prefix); !slices.Equal(got, want) {
		t.Errorf("with DESTDIR there is\n%v\nwithout\n%v", got, want)
	}
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "readme.c"), []byte(readmeExample(t)), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, work, bare, prefix+"/bin/oshcc", "readme.c", "-o", "by-wrapper")
	command(t, work, bare, "sh", "-c", `eval "$('`+prefix+`/bin/oshcc' -showme readme.c -o by-print)"`)
	command(t, work, append([]string{"PKG_CONFIG_PATH=" + prefix + "/lib/pkgconfig"}, bare...),
		"sh", "-c", `eval "gcc readme.c -o by-pkg-config $(pkg-config --cflags --libs shmem)"`)
	for _, program := range []string{"by-wrapper", "by-print", "by-pkg-config"} {
		if out := command(t, work, bare, prefix+"/bin/shmemrun", "-n", "2", "./"+program); !strings.Contains(out, "PE 1 of 2: PE 0 wrote to me") {
			t.Errorf("%s prints\n%s", program, out)
		}
	}
	makeTarget(t, "uninstall", "PREFIX="+prefix)
	makeTarget(t, "uninstall", "PREFIX=/opt/my shmem", "DESTDIR="+stage)
	for _, p := range []string{prefix, filepath.Join(stage, "opt/my shmem")} {
		if _, err := os.Stat(p); err == nil {
			t.Errorf("uninstall left %s with %v", p, files(t, p))
		}
	}
}

// TestDestdir: a package is made below one directory and used in another, so the files must not
// contain the first.
func TestDestdir(t *testing.T) {
	stage := t.TempDir()
	makeTarget(t, "install", "DESTDIR="+stage, "PREFIX=/usr")
	for _, f := range files(t, stage) {
		path := filepath.Join(stage, f)
		text, err := os.ReadFile(path)
		if to, linked := os.Readlink(path); linked == nil {
			text, err = []byte(to), nil // or a link to a folder
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), stage) {
			t.Errorf("%s knows the folder %s", f, stage)
		}
	}
	// A file of another package stays, and so do a system's own directories.
	other := filepath.Join(stage, "usr/lib/other.so")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	makeTarget(t, "uninstall", "DESTDIR="+stage, "PREFIX=/usr")
	if left := files(t, stage); !slices.Equal(left, []string{"usr/lib/other.so"}) {
		t.Errorf("uninstall left %v", left)
	}
}

package program

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gcc compiles C into a file of a folder.
func gcc(t *testing.T, file, source string, args ...string) string {
	t.Helper()
	c := file + ".c"
	if err := os.WriteFile(c, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	args = append(args, "-w", "-o", file, c)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %q: %v\n%s", args, err, out)
	}
	return file
}

// A world has a library of NVIDIA's soname, one of this project's, and programs.
type world struct{ theirs, ours, programs string }

func newWorld(t *testing.T) world {
	dir := t.TempDir()
	w := world{filepath.Join(dir, "theirs"), filepath.Join(dir, "ours"), filepath.Join(dir, "programs")}
	for _, d := range []string{w.theirs, w.ours, w.programs} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const names = "void nvshmem_malloc(){} void nvshmemx_hostlib_init_attr(){} void nvshmemid_hostlib_init_attr(){} int nvshmem_selected_device_transport;"
	gcc(t, filepath.Join(w.theirs, soname), names+"void nvshmemx_new_call(){}", "-shared", "-fPIC", "-Wl,-soname,"+soname)
	below := gcc(t, filepath.Join(w.ours, ownNames), "", "-shared", "-fPIC", "-Wl,-soname,"+ownNames)
	gcc(t, filepath.Join(w.ours, soname), names, "-shared", "-fPIC", "-Wl,--no-as-needed,-soname,"+soname, below)
	return w
}

// link builds a program, or with -shared a library, that needs NVIDIA's library.
func (w world) link(t *testing.T, name, source string, args ...string) string {
	t.Helper()
	args = append(args, "-Wl,--no-as-needed", "-L"+w.theirs, "-l:"+soname, "-Wl,--allow-shlib-undefined")
	return gcc(t, filepath.Join(w.programs, name), source, args...)
}

const hostProgram = "void nvshmem_malloc(); int main(){ nvshmem_malloc(); }"

// archive is what a program has of NVIDIA's device archive: the words of the version lie behind the
// name of its first function, at a distance.
func archive(distance int, words string) string {
	return fmt.Sprintf(`void nvshmemid_hostlib_init_attr();
extern int nvshmem_selected_device_transport;
const struct { char name[%d]; int version[3]; } constants __attribute__((aligned(64))) = {"nvshmemi_init_thread", {%s}};
int main(){ nvshmemid_hostlib_init_attr(&constants); return nvshmem_selected_device_transport; }`, distance, words)
}

func TestExamine(t *testing.T) {
	w := newWorld(t)
	here := Machine{Lib: w.ours}
	first := "LD_PRELOAD=" + filepath.Join(w.ours, soname)
	for _, tt := range []struct {
		name string
		file string
		here Machine
		want []string // of each finding, in order
	}{
		{
			"the host library alone", w.link(t, "host", hostProgram), Machine{Lib: w.ours, LibraryPath: w.ours},
			[]string{"ok  host: calls NVSHMEM's host library alone", "ok  host: needs 1 names of NVSHMEM, and " + filepath.Join(w.ours, soname) + " has all", "ok  host: binds to this library, " + filepath.Join(w.ours, soname) + ", by LD_LIBRARY_PATH"},
		},
		{
			"a name that is missing", w.link(t, "new", "void nvshmemx_new_call(); int main(){ nvshmemx_new_call(); }"), here,
			[]string{"ok  new: calls", "no  new: needs 1 names of NVSHMEM, and " + filepath.Join(w.ours, soname) + " lacks 1 of them: nvshmemx_new_call (", "no  new: finds no " + soname + " (LD_LIBRARY_PATH=" + w.ours + ")"},
		},
		{
			"the archive of 3.4", w.link(t, "old", archive(0x60, "3, 4, 5")), here,
			[]string{"ok  old: has NVIDIA's device archive in it, NVSHMEM 3.4.5: it runs if every PE has a GPU, on any network", "ok  old: needs 1 names", "no  old: finds"},
		},
		{
			"the archive of 3.7", w.link(t, "young", archive(0x40, "3, 7, 2")), here,
			[]string{"ok  young: has NVIDIA's device archive in it, NVSHMEM 3.7.2: it runs", "ok", "no"},
		},
		{
			"the archive of 3.9", w.link(t, "next", archive(0x40, "3, 9, 1")), here,
			[]string{"no  next: has NVIDIA's device archive in it, NVSHMEM 3.9.1: its kernels read structures of that release, and init refuses all but 3.3, 3.4, 3.5, 3.6, 3.7, 3.8 (compile", "ok", "no"},
		},
		{
			"an archive whose words are elsewhere", w.link(t, "odd", archive(0x48, "3, 7, 2")), here,
			[]string{"no  odd: has NVIDIA's device archive in it, NVSHMEM 3.6 or later: ", "ok", "no"},
		},
		{
			"DT_RPATH", w.link(t, "rpath", hostProgram, "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../theirs"), Machine{Lib: w.ours, LibraryPath: w.ours},
			[]string{"ok", "ok", "-   rpath: binds to " + filepath.Join(w.theirs, soname) + " by its run path (DT_RPATH), which is not this library (" + first + ", or load"},
		},
		{
			"the same, preloaded", filepath.Join(w.programs, "rpath"), Machine{Lib: w.ours, Preload: "/none.so:" + filepath.Join(w.ours, soname)},
			[]string{"ok", "ok", "ok  rpath: binds to this library, " + filepath.Join(w.ours, soname) + ", by LD_PRELOAD"},
		},
		{
			"DT_RUNPATH", w.link(t, "runpath", hostProgram, "-Wl,--enable-new-dtags,-rpath,${ORIGIN}/../theirs"), Machine{Lib: w.ours, LibraryPath: "/none"},
			[]string{"ok", "ok", "-   runpath: binds to " + filepath.Join(w.theirs, soname) + " by its run path (DT_RUNPATH), which is not this library (LD_LIBRARY_PATH=" + w.ours + ")"},
		},
		{
			"the same, with LD_LIBRARY_PATH", filepath.Join(w.programs, "runpath"), Machine{Lib: w.ours, LibraryPath: "/none:" + w.ours},
			[]string{"ok", "ok", "ok  runpath: binds to this library"},
		},
		{
			"the loader's folders", filepath.Join(w.programs, "host"), Machine{Lib: w.ours, Default: []string{"/none", w.theirs}},
			[]string{"ok", "ok", "-   host: binds to " + filepath.Join(w.theirs, soname) + " by the loader's default"},
		},
		{
			"a library", w.link(t, "lib.so", "void nvshmem_malloc(); void f(){ nvshmem_malloc(); }", "-shared", "-fPIC"), here,
			[]string{"ok", "ok", "-   lib.so: finds no " + soname + " itself: it binds to the one that its process has loaded (" + first},
		},
		{
			"one that opens the library", gcc(t, filepath.Join(w.programs, "opens"), `#include <dlfcn.h>
int main(){ dlopen("libnvshmem_host.so.3", RTLD_NOW); }`), here,
			[]string{"ok  opens: opens " + soname + " itself"},
		},
		{
			"linked with this library", gcc(t, filepath.Join(w.programs, "mine"), "int main(){}", "-Wl,--no-as-needed", filepath.Join(w.ours, ownNames)), here,
			[]string{"ok  mine: was linked with this library"},
		},
		{"another program", gcc(t, filepath.Join(w.programs, "other"), "int main(){}"), here, []string{"ok  other: does not need"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, err := tt.here.Examine(tt.file)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != len(tt.want) {
				t.Fatalf("%d findings, want %d: %v", len(found), len(tt.want), found)
			}
			for i, f := range found {
				if !strings.HasPrefix(f.String(), tt.want[i]) {
					t.Errorf("%s\nwant %s...", f, tt.want[i])
				}
			}
		})
	}
}

// cubin returns an ELF file of a GPU's code with a variable of n bytes.
func cubin(t *testing.T, dir, variable string, n int) []byte {
	t.Helper()
	return cubinOf(t, dir, fmt.Sprintf("char %s[%d];", variable, n))
}

// cubinOf returns an ELF file of a GPU's code with these variables.
func cubinOf(t *testing.T, dir, variables string) []byte {
	t.Helper()
	file := gcc(t, filepath.Join(dir, "object.o"), variables, "-c")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint16(b[18:], uint16(machineCUDA))
	return b
}

// TestCode looks at code for GPUs, alone, within a program and in a wheel.
func TestCode(t *testing.T) {
	w := newWorld(t)
	dir := w.programs
	write := func(name string, b []byte) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	within := func(name string, code []byte) string {
		t.Helper()
		write("fat.bin", append([]byte("fatbin header..."), code...))
		return gcc(t, filepath.Join(dir, name), `__asm__(".section .nv_fatbin,\"a\"\n.incbin \"`+filepath.Join(dir, "fat.bin")+`\"\n.previous"); int main(){}`)
	}
	wheel := func(name string, members map[string]string) string {
		t.Helper()
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		z := zip.NewWriter(f)
		for _, member := range []string{"a/lib.so", "b/kernels.bc", "c/text.py", "d/other.so"} {
			if source := members[member]; source != "" {
				b, err := os.ReadFile(source)
				if err != nil {
					t.Fatal(err)
				}
				m, err := z.Create(member)
				if err == nil {
					_, err = m.Write(b)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return f.Name()
	}
	theirs := cubin(t, dir, "nvshmemi_device_state_d", 816)
	theirBitcode := write("their.bc", []byte("BC\xc0\xde...nvshmemi_device_state_d...nvshmemi_device_lib_version_d"))
	library := w.link(t, "lib.so", "void nvshmem_malloc(); void f(){ nvshmem_malloc(); }", "-shared", "-fPIC", "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../nvidia")
	other := gcc(t, filepath.Join(dir, "other.so"), "", "-shared", "-fPIC")
	for _, tt := range []struct {
		file string
		want []string
	}{
		{write("their.cubin", theirs), []string{"ok  their.cubin: has kernels with NVIDIA's device code, whose structure has 816 bytes, as of NVSHMEM 3.7: it runs if every PE has a GPU, on any network"}},
		{write("next.cubin", cubin(t, dir, "nvshmemi_device_state_d", 900)), []string{"no  next.cubin: has kernels with NVIDIA's device code, whose structure has 900 bytes, of a version that is not known here"}},
		{
			write("between.cubin", cubinOf(t, dir, "char nvshmemi_device_state_d[776]; int before = 1, nvshmemi_device_lib_version_d[3] = {3, 2, 5};")),
			[]string{"no  between.cubin: has kernels with NVIDIA's device code, whose structure has 776 bytes, of NVSHMEM 3.2.5 (compile"},
		},
		{write("my.cubin", cubin(t, dir, "_Z11shmemi_here", 8)), []string{"ok  my.cubin: has kernels of this library's headers"}},
		{write("plain.cubin", cubin(t, dir, "counter", 8)), []string{"ok  plain.cubin: has code for GPUs that does not call NVSHMEM"}},
		{theirBitcode, []string{"ok  their.bc: is bitcode with NVIDIA's device code: of NVSHMEM 3.3, 3.4, 3.5, 3.6, 3.7, 3.8 it runs"}},
		{write("my.bc", []byte("BC\xc0\xde...shmemi_here...")), []string{"ok  my.bc: has kernels of this library's headers"}},
		{within("fat", theirs), []string{"ok  fat: does not need", "ok  fat: has kernels with NVIDIA's device code, whose structure has 816 bytes"}},
		{within("packed", []byte("compressed")), []string{"ok  packed: does not need", "-   packed: has code for GPUs that is compressed"}},
		{
			wheel("a.whl", map[string]string{"a/lib.so": library, "b/kernels.bc": theirBitcode, "c/text.py": other, "d/other.so": other}),
			[]string{"ok  a/lib.so: calls", "ok  a/lib.so: needs 1 names", "-   a/lib.so: binds to " + soname + " in $ORIGIN/../nvidia, its run path, before LD_LIBRARY_PATH (LD_PRELOAD=", "ok  b/kernels.bc: is bitcode", "ok  a.whl: 1 libraries"},
		},
	} {
		found, err := Machine{Lib: w.ours, LibraryPath: w.ours}.Examine(tt.file)
		if err != nil || len(found) != len(tt.want) {
			t.Errorf("%s: %v, %v, want %d findings", tt.file, found, err, len(tt.want))
			continue
		}
		for i, f := range found {
			if !strings.HasPrefix(f.String(), tt.want[i]) {
				t.Errorf("%s\nwant %s...", f, tt.want[i])
			}
		}
	}
}

// TestRefuses: what is no program gives an error that names it.
func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	object := gcc(t, filepath.Join(dir, "object.o"), "int f(){}", "-c")
	for name, content := range map[string]string{"text": "#!/bin/sh", "empty": "", "elf": "\x7fELF...", "zip": "PK\x03\x04..."} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		filepath.Join(dir, "text"): "it is neither", filepath.Join(dir, "empty"): "it is neither", filepath.Join(dir, "elf"): "read elf: ",
		filepath.Join(dir, "zip"): "read zip: ", object: "it is an object file", dir: "it is no file", filepath.Join(dir, "none"): "no such file",
	} {
		if found, err := (Machine{Lib: dir}).Examine(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", file, found, err, want)
		}
	}
}

// FuzzExamine looks at changed files: nothing that a file says makes it fail otherwise than by an
// error.
func FuzzExamine(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Add([]byte("PK\x03\x04"))
	f.Add([]byte("BC\xc0\xde"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = Machine{Lib: "/none"}.examine("file", "/none", bytes.NewReader(b), int64(len(b)))
	})
}

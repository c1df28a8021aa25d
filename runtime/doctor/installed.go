package doctor

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"libshmem"
)

// Installed checks the files of the installation to which a command belongs: a folder with bin and
// lib. executable is the file of that command. launched reports whether a launcher has started this
// process; if not, Installed also checks which shmemrun is in PATH. libraryPath is LD_LIBRARY_PATH.
func Installed(executable string, launched bool, libraryPath string) []Finding {
	const whole = "install the complete library: make install, or pip install the wheel"
	prefix := prefixOf(executable)
	var all []Finding
	for _, name := range []string{"libshmem.so", "libshmem_core.so"} {
		file := filepath.Join(prefix, "lib", name)
		if _, err := os.Stat(file); err != nil {
			all = append(all, Bad(name, whole, "%v", err))
		} else {
			all = append(all, Well(name, "%s of libshmem %s", file, libshmem.Version))
		}
	}
	if file := filepath.Join(prefix, "lib", "libshmem_kernels.fatbin"); !exists(file) {
		all = append(all, Lack("kernels", "build it with KERNELS=yes, or install it by make install", "%s is missing: calls on streams that need one fail", file))
	} else {
		all = append(all, Well("kernels", "%s", file))
	}
	if file := filepath.Join(prefix, "lib", "libshmem_nvshmem.so"); exists(file) {
		all = append(all, nvshmem(file, libraryPath))
	}
	if launched {
		return all
	}
	return append(all, launcher(prefix))
}

// prefixOf returns the folder of the installation that has the command executable in its bin.
func prefixOf(executable string) string {
	if resolved, err := filepath.EvalSymlinks(executable); err == nil {
		executable = resolved
	}
	return filepath.Dir(filepath.Dir(executable))
}

// nvshmem reports which library programs of NVSHMEM load: file, this project's, if they were linked
// with it, else the first file with NVIDIA's soname in LD_LIBRARY_PATH. The loader searches only a
// DT_RPATH before that; linkers write a DT_RUNPATH unless they are told otherwise.
func nvshmem(file, libraryPath string) Finding {
	const soname = "libnvshmem_host.so.3"
	for _, dir := range filepath.SplitList(libraryPath) {
		if other := filepath.Join(dir, soname); dir != "" && exists(other) {
			return Well("names of NVSHMEM", "%s; programs that need %s and have no DT_RPATH load %s", file, soname, other)
		}
	}
	return Well("names of NVSHMEM", "%s; LD_LIBRARY_PATH has no %s for programs that need that", file, soname)
}

// launcher reports whether the shmemrun that a user starts is this library's: Open MPI has one of
// the same name.
func launcher(prefix string) Finding {
	const subject = "shmemrun"
	ours := filepath.Join(prefix, "bin", "shmemrun")
	remedy := "PATH=" + filepath.Dir(ours) + ":$PATH"
	found, err := exec.LookPath("shmemrun")
	if err != nil {
		return Lack(subject, remedy, "it is not in PATH")
	}
	if sameFile(found, ours) || ofPython(found) {
		return Well(subject, "%s", found)
	}
	return Bad(subject, remedy, "%s is not this library's", found)
}

// ofPython reports whether a file is a script of this library's wheel that starts a command: such a
// script is in another folder than the installation's bin.
func ofPython(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	begin, err := io.ReadAll(io.LimitReader(f, 4096))
	return err == nil && bytes.HasPrefix(begin, []byte("#!")) && bytes.Contains(begin, []byte("shmem._commands"))
}

// exists reports whether there is a file of this name.
func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

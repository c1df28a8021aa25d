package program

import (
	"debug/elf"
	"path/filepath"
	"slices"
	"strings"

	"libshmem/runtime/doctor"
)

// checkBinding returns a finding about the library with NVSHMEM's soname to which the loader would
// bind the file f of this name in the folder dir, if f is started as a program of its own. A
// program that loads f later, as Python does, may have another such library in memory by then, to
// which the loader binds f.
func (m Machine) checkBinding(name, dir string, f *elf.File) doctor.Finding {
	own := filepath.Join(m.Lib, soname)
	first := "LD_PRELOAD=" + own + ", or load that file before (shmem.nvshmem_path() in Python)"
	rpath, runpath := folders(f, elf.DT_RPATH, dir), folders(f, elf.DT_RUNPATH, dir)
	if len(runpath) > 0 {
		rpath = nil // the loader ignores DT_RPATH if there is a DT_RUNPATH
	}
	if dir == "" && len(rpath) > 0 { // of a member of a wheel: what $ORIGIN stands for is not known
		return doctor.Lack(name, first, "binds to %s in %s, its run path, before LD_LIBRARY_PATH", soname, strings.Join(rpath, ":"))
	}
	for _, file := range filepath.SplitList(strings.ReplaceAll(m.Preload, " ", ":")) {
		if sonameOf(file) == soname {
			return m.bindingFinding(name, file, "LD_PRELOAD", "set LD_PRELOAD="+own)
		}
	}
	for _, place := range []struct { // in the loader's order
		what    string
		folders []string
		remedy  string
	}{
		{"its run path (DT_RPATH)", rpath, first},
		{"LD_LIBRARY_PATH", filepath.SplitList(m.LibraryPath), "put " + m.Lib + " first in LD_LIBRARY_PATH"},
		{"its run path (DT_RUNPATH)", runpath, "LD_LIBRARY_PATH=" + m.Lib},
		{"the loader's default", m.Default, "LD_LIBRARY_PATH=" + m.Lib},
	} {
		for _, folder := range place.folders {
			if file := filepath.Join(folder, soname); folder != "" && sonameOf(file) == soname {
				return m.bindingFinding(name, file, place.what, place.remedy)
			}
		}
	}
	if f.Section(".interp") == nil { // f is a library, and its process may have loaded NVSHMEM's
		return doctor.Lack(name, first, "finds no %s itself: it binds to the one that its process has loaded", soname)
	}
	return doctor.Bad(name, "LD_LIBRARY_PATH="+m.Lib, "finds no %s", soname)
}

// bindingFinding returns the finding about the file `name`, which the loader binds to the library
// `file`: whether that library is this project's. place is where the loader finds the library, such
// as LD_LIBRARY_PATH.
func (m Machine) bindingFinding(name, file, place, remedy string) doctor.Finding {
	if isOwn(file) {
		return doctor.Well(name, "binds to this library, %s, by %s", file, place)
	}
	return doctor.Lack(name, remedy, "binds to %s by %s, which is not this library", file, place)
}

// folders returns the folders of a run path of f: that of the tag DT_RPATH or DT_RUNPATH. dir, the
// folder of f, replaces $ORIGIN in them, unless dir is empty.
func folders(f *elf.File, tag elf.DynTag, dir string) (all []string) {
	texts, err := f.DynString(tag)
	if err != nil {
		return nil // the file has no dynamic section
	}
	for _, text := range texts {
		for _, folder := range strings.Split(text, ":") {
			if dir != "" {
				folder = strings.NewReplacer("${ORIGIN}", dir, "$ORIGIN", dir).Replace(folder)
			}
			all = append(all, folder)
		}
	}
	return all
}

// sonameOf returns the soname of a shared library; empty if the file cannot be read or has none.
func sonameOf(file string) string {
	f, err := elf.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	if names, err := f.DynString(elf.DT_SONAME); err == nil && len(names) == 1 {
		return names[0]
	}
	return ""
}

// isOwn reports whether a library with NVSHMEM's soname is this project's: that one needs ownNames.
func isOwn(file string) bool {
	f, err := elf.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	needed, err := f.ImportedLibraries()
	return err == nil && slices.Contains(needed, ownNames)
}

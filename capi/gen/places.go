package main

import (
	"strings"

	"libshmem/capi/spec"
)

// Where the files of a surface are. Those of the library's own have no name in theirs.

// made is where a build puts a file that is not committed, below the folder of all of them.
func made(s *spec.Surface, path string) string {
	if s.Over == nil {
		return path
	}
	return s.Name + "/" + path
}

// thunkFile has the functions of a chapter.
func thunkFile(s *spec.Surface, chapter string) string {
	return made(s, "front/zz_"+chapter+".c")
}

// mapFile is the version script of its library.
func mapFile(s *spec.Surface) string {
	return made(s, "front/zz_"+strings.TrimSuffix(s.Library, ".so")+".map")
}

// profiledFile is the header that has second names, where there are any, beside the first.
func profiledFile(s *spec.Surface) string {
	if !s.Profiled {
		return s.File
	}
	return "p" + s.File
}

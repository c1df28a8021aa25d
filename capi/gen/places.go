package main

import (
	"strings"

	"libshmem/capi/spec"
)

// The folders of a surface's files. Those of the library's own surface have no prefix.

// made returns the path of a generated file that is not committed, below the build folder of a
// surface.
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

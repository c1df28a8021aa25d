package main

import (
	"strings"

	"libshmem/capi/spec"
)

// This file names the generated files of a surface. Those of the library's own surface have no
// prefix.

// buildPath returns the path of a file of a surface that each build generates, relative to the
// folder of generated files: path itself for OpenSHMEM's names, else in a folder named after the
// surface.
func buildPath(s *spec.Surface, path string) string {
	if s.Over == nil {
		return path
	}
	return s.Name + "/" + path
}

// thunkFile returns the path of the C file with the public functions of a chapter.
func thunkFile(s *spec.Surface, chapter string) string {
	return buildPath(s, "front/zz_"+chapter+".c")
}

// mapFile returns the path of the version script of a surface's library.
func mapFile(s *spec.Surface) string {
	return buildPath(s, "front/zz_"+strings.TrimSuffix(s.Library, ".so")+".map")
}

// profiledFile returns the header that declares the functions with their second names for
// profilers, or the main header if the surface has no second names.
func profiledFile(s *spec.Surface) string {
	if !s.Profiled {
		return s.File
	}
	return "p" + s.File
}

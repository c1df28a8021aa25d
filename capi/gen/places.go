package main

import (
	"strings"

	"libshmem/capi/spec"
)

// Where the files of a surface are. Those of the library's own have no name in theirs.

// own is the name of a generated file in a folder that surfaces share.
func own(s *spec.Surface, what string) string {
	if s.Over == nil {
		return "zz_" + what
	}
	return "zz_" + s.Name + "_" + what
}

// frontFolder has the functions of its library.
func frontFolder(s *spec.Surface) string {
	if s.Over == nil {
		return "capi/front"
	}
	return "capi/" + s.Name
}

// testFolder has the programs that call each name.
func testFolder(s *spec.Surface) string {
	if s.Over == nil {
		return "tests/c"
	}
	return "tests/" + s.Name
}

// mapFile is the version script of its library.
func mapFile(s *spec.Surface) string {
	return frontFolder(s) + "/zz_" + strings.TrimSuffix(s.Library, ".so") + ".map"
}

// profiledFile is the header that has second names, where there are any, beside the first.
func profiledFile(s *spec.Surface) string {
	if !s.Profiled {
		return s.File
	}
	return "p" + s.File
}

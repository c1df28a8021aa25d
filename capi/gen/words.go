package main

import (
	"fmt"
	"slices"
	"strings"

	"libshmem/capi/spec"
)

// wordGroups begin the constants that the templates of device/shmem use.
var wordGroups = []string{"CMP_", "SIGNAL_", "TEAM_INVALID", "TEAM_WORLD", "TEAM_SHARED", "CTX_INVALID"}

// deviceWords is the header of types and constants that the templates of device/shmem share with
// every surface. Their names are the library's own, so that a program may have another library's
// shmem.h.
func deviceWords(s *spec.Surface) string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	b.WriteString(in(s, `/* clang-format off */
/*
 * zz_words.h: the handles and constants of the C interface, for the templates of device code.
 */
#ifndef @@_ZZ_WORDS_H
#define @@_ZZ_WORDS_H

#include "types.h"

typedef int32_t @i_team_t;
typedef int32_t @i_ctx_t;

`))
	for _, g := range s.Constants() {
		for _, c := range g.Constants {
			name, ok := strings.CutPrefix(c.Name, s.Capitals()+"_")
			if ok && slices.ContainsFunc(wordGroups, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
				fmt.Fprintf(&b, in(s, "#define @@I_%s %s\n"), name, c.Value)
			}
		}
	}
	b.WriteString("\n#endif\n")
	return b.String()
}

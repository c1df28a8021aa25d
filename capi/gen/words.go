package main

import (
	"fmt"
	"slices"
	"strings"

	"libshmem/capi/spec"
)

// wordGroups are the first letters of the constants that the templates of device/shmem use.
var wordGroups = []string{"CMP_", "SIGNAL_", "TEAM_INVALID", "TEAM_WORLD", "TEAM_SHARED", "CTX_INVALID"}

// deviceWords returns zz_words.h, the handles and constants for the templates of device/shmem.
// Their names begin with shmemi_ and SHMEMI_, so that a program may include another library's
// shmem.h.
func deviceWords(s *spec.Surface) string {
	var b strings.Builder
	b.WriteString(banner("/* ", " */"))
	b.WriteString(withPrefixes(s, `/* clang-format off */
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
				fmt.Fprintf(&b, withPrefixes(s, "#define @@I_%s %s\n"), name, c.Value)
			}
		}
	}
	b.WriteString("\n#endif\n")
	return b.String()
}

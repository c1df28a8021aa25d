package config

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// otherNames lists names with the library's prefix of which warnUnknown does not warn, although
// they are no settings: launchers of other OpenSHMEM libraries set them.
var otherNames = []string{
	"SHMEM_SYMMETRIC_HEAP_ALLOCATOR", // oshrun of Open MPI
}

// warnUnknown warns of names with the library's prefix that are not in the table, which are mostly
// typing errors. It does not warn of names of NVSHMEM, because a machine may have both libraries.
func warnUnknown(env map[string]string) []Warning {
	var warnings []Warning
	for name, value := range env {
		if value != "" && strings.HasPrefix(name, Prefix) && Lookup(name) == nil && !slices.Contains(otherNames, name) {
			warnings = append(warnings, Warning{name, fmt.Sprintf(
				"read setting %s: there is no such setting, it is ignored (the nearest name is %s; shmem-info --env lists all)",
				name, nearest(name))})
		}
	}
	return warnings
}

// nearest returns the setting whose name is the fewest edits away from an unknown name, for a
// warning; of several, the first in the table. Settings that only the launcher sets do not count.
func nearest(name string) string {
	return nearestOf(name, func(yield func(string) bool) {
		for i := range Table {
			if Table[i].Category != Launcher && !yield(Table[i].Name) {
				return
			}
		}
	})
}

// nearestOf returns the first of names that is the fewest edits away from name.
func nearestOf(name string, names iter.Seq[string]) string {
	best, bestDistance := "", 1<<30
	for n := range names {
		if d := distance(name, n); d < bestDistance {
			best, bestDistance = n, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that make a into b (the restricted Damerau distance).
func distance(a, b string) int {
	if len(a) > 256 { // bounds the work: a name of the environment may have any length
		a = a[:256]
	}
	// Rows of the table of distances: row[j] is the distance of a[:i] and b[:j], last is the row of
	// i-1, and before that of i-2.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

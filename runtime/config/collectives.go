package config

import (
	"slices"
	"strings"
)

// collectiveWords are the words of SHMEM_COLLECTIVES: auto, and then the bits of Collectives in
// their order.
var collectiveWords = []string{"auto", "flat", "straight", "pairs", "halves", "owners", "dest", "chain", "wide", "packed", "apart", "steps"}

// collectivesOf returns the algorithms that the words of SHMEM_COLLECTIVES name, as bits; 0 if the
// only word is auto.
func collectivesOf(words []string) Collectives {
	var c Collectives
	for _, w := range words {
		if i := slices.Index(collectiveWords, w); i > 0 {
			c |= 1 << (i - 1)
		}
	}
	return c
}

// String returns the algorithms as the words of SHMEM_COLLECTIVES.
func (c Collectives) String() string {
	var words []string
	for i, w := range collectiveWords[1:] {
		if c&(1<<i) != 0 {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return collectiveWords[0]
	}
	return strings.Join(words, ",")
}

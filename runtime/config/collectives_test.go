package config

import (
	"strings"
	"testing"
)

// TestCollectives: each word is the bit of the algorithm with its name.
func TestCollectives(t *testing.T) {
	for word, want := range map[string]Collectives{
		"auto": 0, "flat": CollectivesFlat, "straight": CollectivesStraight, "pairs": CollectivesPairs, "halves": CollectivesHalves, "owners": CollectivesOwners, "dest": CollectivesDest,
		"chain": CollectivesChain, "wide": CollectivesWide, "packed": CollectivesPacked, "apart": CollectivesApart, "steps": CollectivesSteps,
		"pairs,chain,apart": CollectivesPairs | CollectivesChain | CollectivesApart,
	} {
		c := collectivesOf(strings.Split(word, ","))
		if c != want || c.String() != word {
			t.Errorf("%s: %#x and %q, want %#x", word, c, c, want)
		}
	}
}

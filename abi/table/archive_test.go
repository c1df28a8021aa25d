package table

import (
	"slices"
	"testing"
)

// TestArchivePrefixes holds that the structures of an older release are the beginning of the newest
// ones, which libshmem.so writes for all releases, and that they have the sizes that NVIDIA's
// library compares.
func TestArchivePrefixes(t *testing.T) {
	newest := ArchiveReleases[len(ArchiveReleases)-1].Minor
	for name, s := range ArchiveStructs {
		last := s.Of(newest)
		if len(last.Members) != len(s.Members) {
			t.Errorf("%s: %d members, %d of them in the newest release", name, len(s.Members), len(last.Members))
		}
		for _, r := range ArchiveReleases {
			of := s.Of(r.Minor)
			if !slices.Equal(of.Offsets(), last.Offsets()[:len(of.Members)]) {
				t.Errorf("%s of %s is not the beginning of the newest", name, r.Version)
			}
		}
	}
	for _, r := range ArchiveReleases {
		state, team := archiveState.Of(r.Minor), archiveTeam.Of(r.Minor)
		if state.Bytes() != r.State || team.Bytes() != r.Team {
			t.Errorf("%s: %d and %d bytes, not %d and %d", r.Version, state.Bytes(), team.Bytes(), r.State, r.Team)
		}
	}
}

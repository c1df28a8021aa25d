package table

import (
	"slices"
	"testing"
)

// TestStructs holds that no member lies on another, or where C would not have it, and that
// each name stands once.
func TestStructs(t *testing.T) {
	names := map[string]bool{}
	for _, list := range all() {
		for i := range list {
			s := &list[i]
			if names[s.Name] {
				t.Errorf("struct %s stands twice", s.Name)
			}
			names[s.Name] = true
			end, members := 0, map[string]bool{}
			for j, at := range s.Offsets() {
				m := &s.Members[j]
				if at < end || at%Alignof(m.Type) != 0 || m.At != 0 && at != m.At {
					t.Errorf("%s.%s: at %d, after %d bytes", s.Name, m.Name, at, end)
				}
				if members[m.Name] {
					t.Errorf("%s.%s stands twice", s.Name, m.Name)
				}
				members[m.Name] = true
				end = at + m.Size()
			}
			if end > s.Bytes() || s.Bytes()%s.align() != 0 {
				t.Errorf("%s: %d bytes for %d of members", s.Name, s.Bytes(), end)
			}
		}
	}
}

// TestVersions describes a foreign layout whose third version has moved a member and dropped
// another.
func TestVersions(t *testing.T) {
	s := Struct{Name: "invented", Members: []Member{
		{Name: "size", Type: "u32"},
		{Name: "old", Type: "u64", Until: 3},
		{Name: "at", Type: "ptr", Until: 3},
		{Name: "at", Type: "ptr", At: 32, Since: 3},
		{Name: "late", Type: "u16", Count: 3, Since: 4},
	}}
	for version, want := range map[int]struct {
		names   []string
		offsets []int
		bytes   int
	}{
		1: {[]string{"size", "old", "at"}, []int{0, 8, 16}, 24},
		2: {[]string{"size", "old", "at"}, []int{0, 8, 16}, 24},
		3: {[]string{"size", "at"}, []int{0, 32}, 40},
		4: {[]string{"size", "at", "late"}, []int{0, 32, 40}, 48},
	} {
		of := s.Of(version)
		var names []string
		for _, m := range of.Members {
			names = append(names, m.Name)
		}
		if offsets := of.Offsets(); !slices.Equal(names, want.names) || !slices.Equal(offsets, want.offsets) || of.Bytes() != want.bytes {
			t.Errorf("version %d: members %v at %v, %d bytes; want %v at %v, %d", version, names, offsets, of.Bytes(), want.names, want.offsets, want.bytes)
		}
	}
}

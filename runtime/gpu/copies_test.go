package gpu

import (
	"cmp"
	"slices"
	"testing"
)

func TestJoin(t *testing.T) {
	one := func(to, from, n uint64) Copy { return Copy{To: Address(to), From: Address(from), N: n, Rows: 1} }
	const far = 1 << 40
	for _, c := range []struct {
		name   string
		copies []Copy
		want   []Copy
	}{
		{"none", nil, nil},
		{"one", []Copy{one(0, far, 8)}, []Copy{one(0, far, 8)}},
		{
			"packed", []Copy{one(0, far, 8), one(8, far+8, 8), one(16, far+16, 8)},
			[]Copy{{To: 0, From: far, N: 8, Rows: 3, ToPitch: 8, FromPitch: 8}},
		},
		{
			"a distance of each side", []Copy{one(0, far, 8), one(8, far+100, 8), one(16, far+200, 8), one(24, far+301, 8)},
			[]Copy{{To: 0, From: far, N: 8, Rows: 3, ToPitch: 8, FromPitch: 100}, one(24, far+301, 8)},
		},
		{
			"another size", []Copy{one(0, far, 8), one(8, far+8, 9), one(17, far+17, 9)},
			[]Copy{one(0, far, 8), {To: 8, From: far + 8, N: 9, Rows: 2, ToPitch: 9, FromPitch: 9}},
		},
		{"crosswise", []Copy{one(8, far, 8), one(0, far+8, 8)}, []Copy{one(0, far+8, 8), one(8, far, 8)}},
		{"one place twice", []Copy{one(0, far, 8), one(0, far+8, 8)}, []Copy{one(0, far, 8), one(0, far+8, 8)}},
		{
			"in another order", []Copy{one(16, far+16, 8), one(0, far, 8), one(8, far+8, 8)},
			[]Copy{{To: 0, From: far, N: 8, Rows: 3, ToPitch: 8, FromPitch: 8}},
		},
		{"an order with an effect", []Copy{one(8, far, 8), one(4, far+8, 8)}, []Copy{one(8, far, 8), one(4, far+8, 8)}},
		{"one from another", []Copy{one(8, far, 8), one(0, 8, 8)}, []Copy{one(8, far, 8), one(0, 8, 8)}},
		{"within a row", []Copy{one(0, far, 8), one(4, far+8, 8)}, []Copy{one(0, far, 8), one(4, far+8, 8)}},
		{"far apart", []Copy{one(0, far, 8), one(8, 2*far, 8)}, []Copy{one(0, far, 8), one(8, 2*far, 8)}},
		{"a row from the one before", []Copy{one(8, 0, 8), one(16, 8, 8)}, []Copy{one(8, 0, 8), one(16, 8, 8)}},
	} {
		got, anyOrder := Join(slices.Clone(c.copies), CopyOut)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if ordered := slices.Contains([]string{"one place twice", "an order with an effect", "one from another", "within a row", "a row from the one before"}, c.name); anyOrder == ordered {
			t.Errorf("%s: in any order: %v", c.name, anyOrder)
		}
		var rows []Copy
		for _, g := range got {
			for i := range g.Rows {
				rows = append(rows, g.Row(i))
			}
		}
		slices.SortStableFunc(c.copies, func(a, b Copy) int { return cmp.Compare(a.To, b.To) })
		if slices.SortStableFunc(rows, func(a, b Copy) int { return cmp.Compare(a.To, b.To) }); !slices.Equal(rows, c.copies) {
			t.Errorf("%s: rows %+v of copies %+v", c.name, rows, c.copies)
		}
	}
	if got, _ := Join([]Copy{one(0, far, 8), one(8, far+8, 8), one(16, far+24, 8)}, CopyAcross); len(got) != 2 || got[0].Rows != 2 {
		t.Errorf("between GPUs: %+v", got)
	}
}

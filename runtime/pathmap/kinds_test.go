package pathmap

import (
	"math/rand/v2"
	"testing"

	"libshmem/runtime/topo"
)

// TestClasses: the drawing of a class is right for each PE in it, whatever the ways are.
func TestClasses(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	together := 0
	for range 500 {
		n := 2 + random.IntN(8)
		// PEs of few sorts, and now and then one that differs by one way.
		sorts := 1 + random.IntN(3)
		var way [3][3]byte
		for i := range way {
			for k := range way[i] {
				way[i][k] = "gn"[random.IntN(2)]
			}
		}
		sort := make([]int, n)
		for i := range sort {
			sort[i] = random.IntN(sorts)
		}
		rows := make([]Row, n)
		for i := range rows {
			host, ways := make([]byte, n), make([]byte, n)
			for k := range ways {
				host[k], ways[k] = 'c', way[sort[i]][sort[k]]
			}
			if random.IntN(n) == 0 {
				ways[random.IntN(n)] ^= 'g' ^ 'n'
			}
			host[i], ways[i] = '.', '.'
			rows[i] = Row{Host: string(host), Kernels: string(ways)}
		}
		m, err := New(topo.NewNodes(make([]string, n)), rows)
		if err != nil {
			t.Fatal(err)
		}
		pes := m.nodes.Members[0]
		classes := m.classes(m.views(), pes)
		class := make([]int, n)
		for i, members := range classes {
			for _, place := range members {
				class[place] = i
			}
			together += len(members) - 1
		}
		for i := range n {
			for k := range n {
				from, to := classes[class[i]], classes[class[k]]
				drawn := m.Kernels(pes[from[0]], pes[to[len(to)-1]])
				if got := m.Kernels(pes[i], pes[k]); i != k && got != drawn {
					t.Fatalf("%q: PE %d to %d goes by %c, and %c is drawn of %v", rows, i, k, got, drawn, classes)
				}
			}
		}
	}
	if together == 0 {
		t.Error("no two PEs were ever alike")
	}
}

package queue_test

import (
	"fmt"
	"strings"
	"testing"

	"libshmem/queue"
	"libshmem/queue/queuetest"
)

// cases are small enough to go through whole. Three slots are no power of two;
// the model can have them, the ring cannot.
var cases = []setting{
	{size: 2, start: 0, ops: [2][]uint8{{1, 1, 1}, {1, 1, 1}}},
	{size: 2, start: 1, ops: [2][]uint8{{1, 2, 1}, {2, 1}}},
	{size: 2, start: 1<<64 - 1, ops: [2][]uint8{{2, 2}, {1, 1, 2}}},
	{size: 3, start: 1, ops: [2][]uint8{{2, 1, 1}, {1, 2}}},
	{size: 3, start: 5, ops: [2][]uint8{{3, 1}, {1, 1}}},
	{size: 3, start: 4, ops: [2][]uint8{{2, 2}, {2, 3}}},
	{size: 4, start: 1<<64 - 2, ops: [2][]uint8{{3, 1}, {2, 1}}},
	{size: 4, start: 3, ops: [2][]uint8{{2, 2}, {1, 3}}},
}

// TestExplore goes through every order of the steps of two producers and the consumer: each
// operation comes once, whole, in its producer's order and after the data that it names, and every
// state leads to the end. In each state the ring's own Next has to find the same as the model's
// consumer.
func TestExplore(t *testing.T) {
	total := 0
	for i := range cases {
		c := &cases[i]
		n, err := explore(c, sound, true)
		if err != nil {
			t.Errorf("%v: %v", c, err)
		}
		t.Logf("%v: %d states", c, n)
		total += n
	}
	if total < 100_000 {
		t.Errorf("%d states in all: the cases have become too small to say much", total)
	}
}

// TestPlayedFlaws holds that the exploration finds each flaw.
func TestPlayedFlaws(t *testing.T) {
	for f := sound + 1; f < flaws; f++ {
		var found error
		for i := range cases {
			if _, err := explore(&cases[i], f, false); err != nil {
				found = fmt.Errorf("%v: %w", &cases[i], err)
				break
			}
		}
		if found == nil {
			t.Errorf("%s: not found", flawNames[f])
		} else {
			t.Logf("%s: %.300s", flawNames[f], strings.ReplaceAll(found.Error(), "\n", "; "))
		}
	}
}

// node is a state that was reached, and how.
type node struct {
	state state
	from  int32
	label string
}

// explore goes through all states and returns how many there are.
func explore(c *setting, f flaw, bind bool) (int, error) {
	nodes := []node{{state: first(c, f), from: -1}}
	seen := map[state]int32{nodes[0].state: 0}
	var edges [][2]int32
	var b *binding
	if bind && c.size&(c.size-1) == 0 {
		b = newBinding(c)
	}
	for i := int32(0); int(i) < len(nodes); i++ {
		s := nodes[i].state
		reach := func(who string) func(string, state) {
			return func(label string, n state) {
				to, ok := seen[n]
				if !ok {
					to = int32(len(nodes))
					seen[n] = to
					nodes = append(nodes, node{n, i, who + ": " + label})
				}
				edges = append(edges, [2]int32{i, to})
			}
		}
		s.produce(c, f, 0, reach("first"))
		s.produce(c, f, 1, reach("second"))
		err := s.consume(c, f, reach("consumer"))
		if err == nil && b != nil {
			err = b.check(&s)
		}
		if err != nil {
			return len(nodes), fmt.Errorf("%w, after%s", err, trace(nodes, i))
		}
	}
	if i, ok := stuck(c, nodes, edges); ok {
		return len(nodes), fmt.Errorf("the end cannot be reached any more after%s", trace(nodes, i))
	}
	return len(nodes), nil
}

// stuck finds a state from which no order of steps leads to the end.
func stuck(c *setting, nodes []node, edges [][2]int32) (int32, bool) {
	// Edges by their target: edges to i are in before, from at[i] on.
	at := make([]int32, len(nodes)+1)
	for _, e := range edges {
		at[e[1]+1]++
	}
	for i := range nodes {
		at[i+1] += at[i]
	}
	before, fill := make([]int32, len(edges)), append([]int32(nil), at...)
	for _, e := range edges {
		before[fill[e[1]]] = e[0]
		fill[e[1]]++
	}
	good := make([]bool, len(nodes))
	var todo []int32
	for i := range nodes {
		if nodes[i].state.final(c) {
			good[i] = true
			todo = append(todo, int32(i))
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, j := range before[at[i]:at[i+1]] {
			if !good[j] {
				good[j] = true
				todo = append(todo, j)
			}
		}
	}
	for i := range good {
		if !good[i] {
			return int32(i), true
		}
	}
	return 0, false
}

func trace(nodes []node, i int32) string {
	var steps []string
	for ; nodes[i].from >= 0; i = nodes[i].from {
		steps = append(steps, nodes[i].label)
	}
	var b strings.Builder
	for j := len(steps) - 1; j >= 0; j-- {
		b.WriteString("\n\t" + steps[j])
	}
	return b.String()
}

// binding is a real ring that is put into the states of the model.
type binding struct {
	c    *setting
	rig  *queuetest.Rig
	last state // only slots and read
	ops  [8]queue.Op
	raw  [8][2 * queue.MaxSlots]uint64
}

func newBinding(c *setting) *binding {
	b := &binding{c: c, rig: queuetest.New(int(c.size), c.start)}
	for i, ops := range c.ops {
		for j, slots := range ops {
			id := opOf(i, uint8(j))
			op := queue.Op{PE: uint32(id), Value: uint64(id), Length: uint64(id), Local: ^uint64(id), SignalAt: uint64(id)}
			op.Code = []queue.Code{queue.CodeP, queue.CodePut, queue.CodePutSignal}[slots-1]
			op.Pack(&b.raw[id])
			b.ops[id] = op
		}
	}
	return b
}

// check compares the result of Next in the state's slots with that of the model's consumer, were it
// not interrupted.
func (b *binding) check(s *state) error {
	if s.have != 0 || s.slots == b.last.slots && s.read == b.last.read {
		return nil // in the middle, or all as in the last check
	}
	b.last.slots, b.last.read = s.slots, s.read
	for index := range uint64(b.c.size) {
		for i, w := range s.slots[index] {
			v := uint64(w.lap^1) << 63
			if w.i != 7 {
				v |= b.raw[w.op][w.i]
			}
			b.rig.Set(index, i, v)
		}
	}
	want, at := queue.Empty, *s
	for step := at; ; at = step {
		if err := at.consume(b.c, sound, func(label string, n state) {
			if label != "publish" {
				step = n
			}
		}); err != nil {
			return err
		}
		if step.count != s.count {
			want = queue.Found
			break
		}
		if step.have == 0 {
			break
		}
	}
	r := queue.NewAt(b.rig.Memory(), int(b.c.size), b.c.start+uint64(s.read))
	var op queue.Op
	if got := r.Next(&op); got != want {
		return fmt.Errorf("next finds %d, the model %d", got, want)
	}
	batch := queue.NewAt(b.rig.Memory(), int(b.c.size), b.c.start+uint64(s.read))
	var ops [1]queue.Op
	if n := batch.Read(ops[:]); (n == 1) != (want == queue.Found) || batch.Position() != r.Position() || n == 1 && ops[0].PE != op.PE {
		return fmt.Errorf("take finds %d, next %d", n, want)
	}
	if want == queue.Found && (op.Code != b.ops[op.PE].Code || op.Code == queue.CodePutSignal && op.SignalAt != uint64(op.PE)) {
		return fmt.Errorf("next finds %+v", op)
	}
	return nil
}

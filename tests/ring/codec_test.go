package ring

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"libshmem/abi/table"
	"libshmem/queue"
	"libshmem/queue/queuetest"
)

// codecSource returns a C program made from the table. A line of its input is a code, the ring's
// position, the values of the operation's fields and six words; its output is the slots that a push
// of the fields stored, and the values of the getters for the words. A line that begins with 99
// asks for the layout.
func codecSource() string {
	var b strings.Builder
	b.WriteString(`#include "memory_layout.h"

#include <inttypes.h>

static uint64_t number(void)
{
    uint64_t v = 0;
    if (scanf("%" SCNu64, &v) != 1)
        exit(0);
    return v;
}

static void push(const struct shmemi_words *words, int slots, uint64_t start)
{
    struct shmemi_ring r = ring_new(8, start);
    uint64_t p = shmemi_push(&r, words, slots);
    for (uint64_t i = 0; i < (uint64_t)slots; i++) {
        const uint64_t *w = (const uint64_t *)r.slots + 2 * ((p + i) & 255);
        printf("%" PRIu64 " %" PRIu64 " ", w[0], w[1]);
    }
    munmap(r.line, ring_bytes(8));
}

static void layout(void)
{
`)
	for _, s := range table.Structs {
		fmt.Fprintf(&b, "    printf(\"%%zu \", sizeof(struct shmemi_%s));\n", s.Name)
		for _, m := range s.Members {
			fmt.Fprintf(&b, "    printf(\"%%zu \", offsetof(struct shmemi_%s, %s));\n", s.Name, m.Name)
		}
	}
	b.WriteString("}\n\nint main(void)\n{\n    uint64_t a[16], w[6];\n    for (;;) {\n        uint64_t code = number(), start = 0;\n")
	b.WriteString("        if (code != 99)\n            start = number();\n        switch (code) {\n        case 99:\n            layout();\n            break;\n")
	for i := range table.Ops {
		op := &table.Ops[i]
		fields := op.Of()[1:]
		upper := strings.ToUpper(op.Name)
		fmt.Fprintf(&b, "        case SHMEMI_OP_%s: {\n", upper)
		args := make([]string, len(fields))
		for j := range fields {
			args[j] = fmt.Sprintf("a[%d]", j)
			fmt.Fprintf(&b, "            %s = number();\n", args[j])
		}
		b.WriteString("            for (int i = 0; i < 6; i++)\n                w[i] = number();\n")
		fmt.Fprintf(&b, "            struct shmemi_words words = shmemi_pack_%s(%s);\n", op.Name, strings.Join(args, ", "))
		fmt.Fprintf(&b, "            push(&words, SHMEMI_SLOTS_%s, start);\n", upper)
		fmt.Fprintf(&b, "            printf(\"%%\" PRIu64 \" \", shmemi_get_op(w));\n")
		for _, f := range fields {
			fmt.Fprintf(&b, "            printf(\"%%\" PRIu64 \" \", shmemi_get_%s(w));\n", f.Name)
		}
		b.WriteString("            break;\n        }\n")
	}
	b.WriteString("        default:\n            return 1;\n        }\n        printf(\"\\n\");\n        (void)a;\n        (void)w;\n    }\n}\n")
	return b.String()
}

// ask sends the lines to the program and returns the numbers of each line of output.
func ask(t *testing.T, lines [][]uint64) [][]uint64 {
	t.Helper()
	source := filepath.Join(t.TempDir(), "codec.c")
	if err := os.WriteFile(source, []byte(codecSource()), 0o644); err != nil {
		t.Fatal(err)
	}
	var in bytes.Buffer
	for _, line := range lines {
		for _, v := range line {
			fmt.Fprintf(&in, "%d ", v)
		}
		in.WriteByte('\n')
	}
	program := filepath.Join(t.TempDir(), "program")
	compileFile(t, source, program)
	cmd := command(t, program)
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answers [][]uint64
	for _, line := range strings.Split(strings.TrimRight(string(out), "\n"), "\n") {
		var numbers []uint64
		for _, word := range strings.Fields(line) {
			var v uint64
			if _, err := fmt.Sscan(word, &v); err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, v)
		}
		answers = append(answers, numbers)
	}
	if len(answers) != len(lines) {
		t.Fatalf("%d answers to %d lines", len(answers), len(lines))
	}
	return answers
}

// member returns the field of Op that belongs to a member of the table.
func member(op *queue.Op, f table.Field) reflect.Value {
	name := map[string]string{"pe": "PE", "value32": "Value"}[f.Name]
	if name == "" {
		for _, part := range strings.Split(f.Name, "_") {
			name += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return reflect.ValueOf(op).Elem().FieldByName(name)
}

// values returns the values of a field at the limits, and one unrelated to the others.
func values(f table.Field, salt int) []uint64 {
	all := ^uint64(0) >> (64 - f.Bits)
	return []uint64{0, all, 1, all>>1 + 1, all >> 1, 0x9e3779b97f4a7c15 * uint64(salt+1) >> (64 - f.Bits)}
}

// TestCodec checks that Go reads the slots that C pushes and C those that Go packs, for every
// operation and over every wrap of a position.
func TestCodec(t *testing.T) {
	var lines [][]uint64
	var ops []queue.Op
	var rows []*table.Op
	for i := range table.Ops {
		row := &table.Ops[i]
		fields := row.Of()[1:]
		for n := range 36 {
			op := queue.Op{Code: queue.Code(row.Code)}
			line := []uint64{uint64(row.Code), []uint64{0, 255, 511, 1<<32 - 1, 1<<63 - 1, ^uint64(0)}[n/6] - uint64(i%2)}
			for j, f := range fields {
				v := values(f, n+j)[(n+n/6*j)%6]
				line = append(line, v)
				if f.Name == "value32" {
					v = uint64(int64(int32(v))) // as Go returns it
				}
				member(&op, f).SetUint(v)
			}
			var w [2 * queue.MaxSlots]uint64
			slots := op.Pack(&w)
			for k := range w[:2*slots] {
				w[k] |= uint64(n) % 2 << 63 // getters ignore the lap
			}
			lines, ops, rows = append(lines, append(line, w[:]...)), append(ops, op), append(rows, row)
		}
	}
	for i, got := range ask(t, lines) {
		row, want, start := rows[i], &ops[i], lines[i][1]
		fields := row.Of()[1:]
		if len(got) != 2*row.Slots+1+len(fields) {
			t.Fatalf("%s: the answer has %d numbers", row.Name, len(got))
		}
		g := queuetest.New(queue.MinSlots, start)
		for k, v := range got[:2*row.Slots] {
			g.Set(start+uint64(k/2), k%2, v)
		}
		// The consumer begins at 0: it gets the slots from where they were stored, with the lap of
		// position 0.
		flip := g.Lap(start) ^ 1<<63
		at0 := queuetest.New(queue.MinSlots, 0)
		for k := range uint64(row.Slots) {
			for word := range 2 {
				v := g.Word(start+k, word)
				if (v^g.Lap(start+k))>>63 != 0 {
					t.Errorf("%s from %#x: slot %d has the wrong lap", row.Name, start, k)
				}
				at0.Set(k, word, v^flip^(g.Lap(start+k)^g.Lap(start)))
			}
		}
		r, err := queue.New(at0.Memory(), queue.MinSlots)
		if err != nil {
			t.Fatal(err)
		}
		var op queue.Op
		if found := r.Next(&op); found != queue.Found || op.Code != want.Code {
			t.Fatalf("%s from %#x: result %d, %v", row.Name, start, found, op.Code)
		}
		got = got[2*row.Slots:]
		if got[0] != uint64(want.Code) {
			t.Errorf("%s: C reads operation %d", row.Name, got[0])
		}
		for j, f := range fields {
			sent := member(want, f).Uint()
			if v := member(&op, f).Uint(); v != sent {
				t.Errorf("%s.%s: C packs %#x, Go reads %#x", row.Name, f.Name, sent, v)
			}
			if v := got[1+j]; v != sent && (f.Name != "value32" || uint32(v) != uint32(sent)) {
				t.Errorf("%s.%s: Go packs %#x, C reads %#x", row.Name, f.Name, sent, v)
			}
		}
	}
}

// TestLayout checks that C and Go have each member of each struct at one place, the table's.
func TestLayout(t *testing.T) {
	goTypes := map[string]any{
		"Progress": queue.Progress{}, "Reply": queue.Reply{}, "Near": queue.Near{}, "Desc": queue.Desc{}, "Peer": queue.Peer{}, "State": queue.State{}, "Report": queue.Report{}, "StreamCall": queue.StreamCall{}, "Team": queue.Team{},
	}
	c := ask(t, [][]uint64{{99}})[0]
	for _, s := range table.Structs {
		typ := reflect.TypeOf(goTypes[s.Go])
		if typ == nil {
			t.Fatalf("struct %s is new: add it here", s.Go)
		}
		if c[0] != uint64(s.Size) || typ.Size() != uintptr(s.Size) {
			t.Errorf("%s: %d bytes in the table, %d in C, %d in Go", s.Name, s.Size, c[0], typ.Size())
		}
		c = c[1:]
		var fields []reflect.StructField
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() {
				fields = append(fields, f)
			}
		}
		if len(fields) != len(s.Members) {
			t.Fatalf("%s: %d members in the table, %d in Go", s.Name, len(s.Members), len(fields))
		}
		for i, at := range s.Offsets() {
			if c[0] != uint64(at) || fields[i].Offset != uintptr(at) || int(fields[i].Type.Size()) != table.Sizeof(s.Members[i].Type) {
				t.Errorf("%s.%s: at %d in the table, at %d in C, %s at %d in Go", s.Name, s.Members[i].Name, at, c[0], fields[i].Name, fields[i].Offset)
			}
			c = c[1:]
		}
	}
}

package topo

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"libshmem/runtime/shmerr"
	"libshmem/tests/mutate"
)

func TestParseList(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"mlx5_0,mlx5_1", "mlx5_0,mlx5_1"},
		{"mlx5_0:1,mlx5_1:1", "mlx5_0,mlx5_1"},
		{"^mlx5_0:1,mlx5_1", "^mlx5_0,mlx5_1"},
		{"^mlx5_0,^mlx5_1", "^mlx5_0,mlx5_1"},
		{"^", "^"},
		{"mlx5_0,^mlx5_1", `name 2, "^mlx5_1": ^ is expected in front of the first name, or nowhere`},
		{"mlx5_0:2", `name 1, "mlx5_0:2": port 2, expected 1: libfabric opens the first port`},
		{"eth0,mlx5_0:x", `name 2, "mlx5_0:x": port "x", expected 1`},
		{":1", `name 1, ":1": a name is missing`},
		{"a/b", `name 1, "a/b": "/" in the name`},
		{"a^b", `name 1, "a^b": "^" in the name`},
	} {
		l, err := ParseList(strings.FieldsFunc(c.text, func(r rune) bool { return r == ',' }))
		got := l.String()
		if err != nil {
			if got = err.Error(); !errors.Is(err, shmerr.ErrSetting) || !strings.HasPrefix(got, "read setting SHMEM_NIC_LIST=") || !strings.HasSuffix(got, ")") {
				t.Errorf("%q: %v", c.text, err)
			}
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestParseMapping(t *testing.T) {
	one := func(n int, names ...string) Entry { return Entry{names, n} }
	for _, c := range []struct {
		text string
		want Mapping
		err  string
	}{
		{text: ""},
		{text: "mlx5_0:1:2,mlx5_1:1:2", want: Mapping{one(2, "mlx5_0"), one(2, "mlx5_1")}},
		{text: "mlx5_0, mlx5_1:1", want: Mapping{one(1, "mlx5_0"), one(1, "mlx5_1")}},
		{text: "a+b:1:3", want: Mapping{one(3, "a", "b")}},
		{text: "mlx5_0:1:x", err: `entry 1, "mlx5_0:1:x", at character 10: count of PEs "x", expected a number from 1 to 65536`},
		{text: "mlx5_0,mlx5_1:1:0", err: `entry 2, "mlx5_1:1:0", at character 17: count of PEs "0"`},
		{text: "mlx5_0:1:70000", err: `at character 10: count of PEs "70000"`},
		{text: "mlx5_0:2", err: `entry 1, "mlx5_0:2", at character 8: port 2, expected 1`},
		{text: "mlx5_0:", err: `at character 8: port "", expected 1`},
		{text: "mlx5_0:1:1:1", err: `at character 12: "1" behind a third colon, expected a comma`},
		{text: "mlx5_0,", err: `entry 2, "", at character 8: a name is missing`},
		{text: "a++b", err: `at character 1: a name is missing`},
		{text: "^mlx5_0", err: `"^" in the name, expected letters`},
	} {
		got, err := ParseMapping(c.text)
		if err != nil {
			if c.err == "" || !errors.Is(err, shmerr.ErrSetting) || !strings.Contains(err.Error(), c.err) ||
				!strings.HasSuffix(err.Error(), "port and PEs may be left out)") {
				t.Errorf("%q: %v, want %s", c.text, err, c.err)
			}
		} else if c.err != "" || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %v, want %v%s", c.text, got, c.want, c.err)
		}
	}
	m, err := ParseMapping("a:1:2,b,c+d:1:1")
	if err != nil || m.PEs() != 4 || strings.Join(m.Names(), " ") != "a b c d" {
		t.Fatalf("%v, %v", m, err)
	}
	for pe, want := range []string{"a", "a", "b", "c d", "a"} {
		if got := strings.Join(m.At(pe).Names, " "); got != want {
			t.Errorf("PE %d has %s, want %s", pe, got, want)
		}
	}
}

// whole is a file with one of everything, cut and changed by the tests.
const whole = `<?xml version="1.0"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
<object type="Machine" cpuset="0x0000000f">
<info name="DMIProductName" value="box"/>
<object type="Package" cpuset="0x0000000f">
<object type="NUMANode" os_index="0" cpuset="0x0000000f"/>
<object type="Bridge" bridge_type="0-1" bridge_pci="0000:[00-07]">
<object type="Bridge" bridge_type="1-1" bridge_pci="0000:[01-03]" pci_busid="0000:00:01.0">
<object type="PCIDev" pci_busid="0000:02:00.0" pci_type="0302 [10de:2330] [0000:0000] 00" pci_link_speed="63.0"/>
<object type="PCIDev" pci_busid="0000:03:00.0" pci_type="0207 [15b3:1021] [0000:0000] 00">
<object type="OSDev" name="ib0" osdev_type="2"/>
<object type="OSDev" name="mlx5_0" osdev_type="3"/>
</object>
<object type="PCIDev" pci_busid="0000:04:00.0" pci_type="0300 [1a03:2000] [0000:0000] 00"/>
</object>
</object>
</object>
</object>
</topology>
`

func TestReadXML(t *testing.T) {
	m, err := ReadXML([]byte(whole), "box.xml")
	if err != nil {
		t.Fatal(err)
	}
	want := &Machine{
		Name: "box", Source: "box.xml", CPUs: NewSet(0, 1, 2, 3), Packages: []Set{NewSet(0, 1, 2, 3)}, Nodes: []Node{{0, NewSet(0, 1, 2, 3)}},
		Devices: []Device{
			{Kind: GPU, PCI: "0000:02:00.0", Speed: 63, Place: Place{NewSet(0, 1, 2, 3), []string{"0000:00", "0000:00:01.0"}}},
			{Kind: RDMA, PCI: "0000:03:00.0", Names: []string{"mlx5_0", "ib0"}, Place: Place{NewSet(0, 1, 2, 3), []string{"0000:00", "0000:00:01.0"}}},
		},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("got %+v, want %+v", m, want)
	}
}

// TestBadXML: the error names the fault, its line, and the expected text.
func TestBadXML(t *testing.T) {
	swap := func(old, new string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("%q is not in the file", old)
		}
		return strings.Replace(whole, old, new, 1)
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "there is no object of type Machine, expected one in <topology>"},
		{"not XML", "machine?", "there is no object of type Machine"},
		{"cut", whole[:strings.Index(whole, "</object>")], "line 14: unexpected EOF"},
		{"closed by another", swap("</topology>", "</object>"), "line 20: element <topology> closed by </object>"},
		{"another root", swap("<topology v", "<svg v"), "line 3: <svg>: the file describes no machine, expected <topology>"},
		{"hwloc 1", swap(` version="2.0">`, ">"), `line 3: <topology>: version "" of the format, expected 2.0 or later below 3`},
		{"hwloc 3", swap(` version="2.0">`, ` version="3.0">`), `version "3.0" of the format`},
		{"cpuset", swap(`"0x0000000f"`, `"0-3"`), `line 4: <object>: cpuset: "0-3" is no word of 32 bits as 0x0000ffff`},
		{"no cpuset", swap(` cpuset="0x0000000f"`, ""), "the machine has no processors, expected a cpuset"},
		{"no type", swap(`type="Package"`, ""), "line 6: <object>: it has no type"},
		{"two machines", swap(`type="Package"`, `type="Machine"`), "line 6: <object>: a second machine, expected one"},
		{"two roots", whole + whole[strings.Index(whole, "<topology"):], "line 21: <topology>: a second machine, expected one"},
		{"node", swap(`os_index="0"`, `os_index="-"`), `line 7: <object>: NUMA node with os_index "-", expected its number`},
		{"root complex", swap("0000:[00-07]", "00-07"), `line 8: <object>: bridge_pci "00-07", expected buses as 0000:[00-1f]`},
		{"bridge", swap("0000:00:01.0", "1"), `line 9: <object>: pci_busid "1", expected an address as 0000:17:00.0`},
		{"device", swap("0000:02:00.0", "xyz"), `line 10: <object>: pci_busid "xyz"`},
		{"behind an address", swap("0000:02:00.0", "0000:02:00.0junk"), `line 10: <object>: pci_busid "0000:02:00.0junk", expected an address as 0000:17:00.0`},
		{"no function", swap("0000:02:00.0", "0000:02:00"), `line 10: <object>: pci_busid "0000:02:00"`},
		{"twice", swap("0000:03:00.0", "0000:02:00.0"), "line 11: <object>: a second device at 0000:02:00.0, expected one"},
		{"class", swap("0302 [10de", "[10de"), `line 10: <object>: pci_type "[10de:2330] [0000:0000] 00", expected class and ids as 0302 [10de:2330]`},
		{"speed", swap("63.0", "fast"), `pci_link_speed "fast", expected GB/s as 15.75`},
		{"no name", swap(`name="ib0"`, ""), "line 12: <object>: a device of the system without a name"},
		{"kind", swap(`osdev_type="2"`, `osdev_type="net"`), `line 12: <object>: osdev_type "net" of ib0, expected a number as 3`},
		{"deep", swap("<info", strings.Repeat("<a>", 300)+"<info"), "it is inside 257 others, expected 256 at most"},
		{"wide", swap(`"0x0000000f"`, `"`+strings.Repeat("0x1,", 3000)+`0x1"`), "a set of 3001 words of 32 bits is too large"},
	} {
		m, err := ReadXML([]byte(c.text), "box.xml")
		if err == nil {
			t.Errorf("%s: read as %+v", c.name, m)
		} else if text := err.Error(); !strings.HasPrefix(text, "read topology box.xml: ") || !strings.Contains(text, c.want) ||
			!strings.HasSuffix(text, "(write it by lstopo --of xml of hwloc 2, with --whole-io)") || !errors.Is(err, shmerr.ErrArgument) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// FuzzReadXML: whatever the bytes, a machine that can be drawn and planned for, or an
// error.
func FuzzReadXML(f *testing.F) {
	f.Add([]byte(whole))
	files, err := filepath.Glob("testdata/machines/one*.xml")
	if err != nil || len(files) == 0 {
		f.Fatalf("%d machines, error %v", len(files), err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(readChanged)
}

// TestMutations is FuzzReadXML for changed machines.
func TestMutations(t *testing.T) {
	text, err := os.ReadFile("testdata/machines/one-sided-nics.xml")
	if err != nil {
		t.Fatal(err)
	}
	mutate.Each(t, [][]byte{[]byte(whole), text}, func(in []byte) { readChanged(t, in) })
}

func readChanged(t *testing.T, text []byte) {
	m, err := ReadXML(text, "fuzz")
	if err != nil {
		if m != nil || !errors.Is(err, shmerr.ErrArgument) {
			t.Errorf("machine %v, error %v", m, err)
		}
		return
	}
	r := Request{NICs: m.Candidates(), PEs: m.Everybody()}
	picks, err := m.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := errors.Join(m.Draw(&b, r, picks), m.Table(&b, r, picks)); err != nil {
		t.Error(err)
	}
	for pe, list := range picks {
		if len(list) == 0 && len(r.NICs) > 0 {
			t.Errorf("PE %d has no NIC", pe)
		}
	}
}

// FuzzMapping: a mapping that is taken gives every PE NICs that it names.
func FuzzMapping(f *testing.F) {
	for _, text := range []string{"mlx5_0:1:2,mlx5_1:1:2", "a+b", "a:1:65536,b:1:65536", ",", ":::", "^a"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, pe int) {
		m, err := ParseMapping(text)
		if err != nil && !errors.Is(err, shmerr.ErrSetting) {
			t.Error(err)
		}
		if err == nil && len(m) > 0 && pe >= 0 {
			for _, name := range m.At(pe).Names {
				if name == "" || !strings.Contains(text, name) {
					t.Errorf("%q gives PE %d %q", text, pe, name)
				}
			}
		}
		l, err := ParseList(strings.Split(text, ","))
		if err != nil && !errors.Is(err, shmerr.ErrSetting) {
			t.Error(err)
		}
		if again, err2 := ParseList(strings.Split(l.String(), ",")); err == nil && (err2 != nil || again.String() != l.String()) {
			t.Errorf("list %q is %q, and that %q: %v", text, l, again, err2)
		}
	})
}

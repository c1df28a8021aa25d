package topo

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"libshmem"
	"libshmem/runtime/shmerr"
)

func TestNodes(t *testing.T) {
	for _, tt := range []struct {
		hosts   string
		members [][]libshmem.PE
		nodes   []int
		ranks   []int
	}{
		{"a", [][]libshmem.PE{{0}}, []int{0}, []int{0}},
		{"a a a", [][]libshmem.PE{{0, 1, 2}}, []int{0, 0, 0}, []int{0, 1, 2}},
		{"b b a a", [][]libshmem.PE{{0, 1}, {2, 3}}, []int{0, 0, 1, 1}, []int{0, 1, 0, 1}},
		{"b a b a c", [][]libshmem.PE{{0, 2}, {1, 3}, {4}}, []int{0, 1, 0, 1, 2}, []int{0, 0, 1, 1, 0}},
	} {
		n := NewNodes(strings.Fields(tt.hosts))
		if !reflect.DeepEqual(n.Members, tt.members) {
			t.Errorf("%s: members %v, want %v", tt.hosts, n.Members, tt.members)
		}
		for i := range tt.nodes {
			pe := libshmem.PE(i)
			if n.Node(pe) != tt.nodes[i] || n.Rank(pe) != tt.ranks[i] {
				t.Errorf("%s: PE %d is number %d of node %d", tt.hosts, pe, n.Rank(pe), n.Node(pe))
			}
			if n.Peers(pe)[n.Rank(pe)] != pe || n.Leader(pe) != tt.members[tt.nodes[i]][0] || n.Leaders()[n.Node(pe)] != n.Leader(pe) {
				t.Errorf("%s: PE %d: peers %v, leader %d, leaders %v", tt.hosts, pe, n.Peers(pe), n.Leader(pe), n.Leaders())
			}
		}
	}
}

func TestHostID(t *testing.T) {
	mine, err := HostID("")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := HostID(""); again != mine || !strings.HasPrefix(mine, "boot:") || !strings.Contains(mine, "net:[") {
		t.Errorf("HostID = %q, then %q", mine, again)
	}
	if other, err := HostID(mine); err != nil || other == mine {
		t.Errorf("an override must not be taken for a machine's own identity: %q, %v", other, err)
	}
}

func TestHostIDOfOtherNamespacesDiffers(t *testing.T) {
	proc := t.TempDir()
	write := func(boot, net, user string) string {
		t.Helper()
		for _, dir := range []string{"sys/kernel/random", "self/ns"} {
			if err := os.MkdirAll(filepath.Join(proc, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(proc, "sys/kernel/random/boot_id"), []byte(boot+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"net": net, "user": user} {
			link := filepath.Join(proc, "self/ns", name)
			_ = os.Remove(link)
			if value == "" {
				continue
			}
			if err := os.Symlink(name+":["+value+"]", link); err != nil {
				t.Fatal(err)
			}
		}
		id, err := hostID(proc)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	ids := make(map[string]bool)
	for _, s := range [][3]string{{"x", "1", "2"}, {"y", "1", "2"}, {"x", "3", "2"}, {"x", "1", "3"}, {"x", "1", ""}} {
		ids[write(s[0], s[1], s[2])] = true
	}
	if len(ids) != 5 {
		t.Errorf("five different hosts have %d identities: %v", len(ids), ids)
	}
}

func TestHostIDWithoutProcSaysWhatToSet(t *testing.T) {
	_, err := hostID(t.TempDir())
	if !errors.Is(err, shmerr.ErrSystem) || !errors.Is(err, os.ErrNotExist) || !strings.HasSuffix(err.Error(), "(mount /proc, or give each host its own SHMEM_HOST_ID)") {
		t.Errorf("got %v", err)
	}
}

package launch

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"libshmem"
	"libshmem/runtime/bootstrap/launch/hostlist"
	"libshmem/runtime/bootstrap/launch/relay"
)

// TestRemoteOptions: hosts get their PEs, and hosts without PEs none of the job.
func TestRemoteOptions(t *testing.T) {
	hosts := func() []hostlist.Host {
		return []hostlist.Host{{Name: "a", Slots: 2}, {Name: "b", Slots: 2}, {Name: "c"}}
	}
	for _, c := range []struct {
		pes   int
		how   Map
		names string
		sizes []int
	}{
		{0, Block, "a b c", []int{2, 2, 1}},
		{3, Block, "a b", []int{2, 1}},
		{3, Cyclic, "a b c", []int{1, 1, 1}},
	} {
		o := &Options{PEs: c.pes, Map: c.how, Program: "p", Remote: hosts()}
		for range 2 { // the command line and Run both do
			if err := o.Validate(); err != nil {
				t.Fatal(err)
			}
		}
		var names []string
		for _, h := range o.Remote {
			names = append(names, h.Name)
		}
		if strings.Join(names, " ") != c.names || !slices.Equal(o.sizes, c.sizes) || o.Dir == "" {
			t.Errorf("%d PEs, %s: %v on %v in %q", c.pes, c.how, o.sizes, names, o.Dir)
		}
	}
	for _, o := range []*Options{
		{PEs: 6, Map: Block, Program: "p", Remote: hosts()},
		{PEs: 2, Map: Block, Program: "p", Remote: hosts(), Hosts: "2"},
	} {
		if err := o.Validate(); errStatus(err) != StatusUsage {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestSpec: what goes to an agent, and what does not.
func TestSpec(t *testing.T) {
	o := &Options{PEs: 4, Program: "./p", Args: []string{"\xff"}, Dir: "/d", Bind: BindCore, Silence: time.Second,
		Source: "/here", Prefix: "/there", sizes: []int{2, 2}, Exports: []string{"A", "LD_PRELOAD"},
		Env: []string{"HOME=/h", "A=1", "SHMEM_X=2", "NVSHMEM_Y=3", "AA=4", "LD_PRELOAD=/here/lib/libshmem_preload.so:/lib/other.so"}}
	text, err := o.spec(&link{host: "b", pes: []libshmem.PE{1, 3}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := relay.ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	want := &relay.Spec{Host: "b", NPEs: 4, Hosts: 2, PEs: []libshmem.PE{1, 3}, Program: []byte("./p"), Args: [][]byte{[]byte("\xff")},
		Env: [][]byte{[]byte("A=1"), []byte("SHMEM_X=2"), []byte("NVSHMEM_Y=3"), []byte("LD_PRELOAD=/there/lib/libshmem_preload.so:/lib/other.so")},
		Dir: []byte("/d"), Bind: "core", Silence: int64(time.Second)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

package device

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"unsafe"

	"libshmem/queue"
	"libshmem/runtime/gpu"
)

// gpuMemory is the memory of the GPU, and of the heap, for teams.
type gpuMemory struct {
	bytes   []byte
	order   []gpu.Address // of the writes
	cleared [][2]uint64
	err     error
}

const (
	testTable = gpu.Address(0)
	testLists = gpu.Address(1024)
)

func (m *gpuMemory) put(to gpu.Address, from []byte) error {
	if m.err != nil {
		return m.err
	}
	copy(m.bytes[to:], from)
	m.order = append(m.order, to)
	return nil
}

func (m *gpuMemory) zero(offset, n uint64) error {
	m.cleared = append(m.cleared, [2]uint64{offset, n})
	return m.err
}

func (m *gpuMemory) entry(slot int) queue.Team {
	var e queue.Team
	copy((*[teamEntryBytes]byte)(unsafe.Pointer(&e))[:], m.bytes[uint64(slot)*teamEntryBytes:])
	return e
}

func fakeTeams(m *gpuMemory) *TeamTable {
	m.bytes = make([]byte, 4096)
	return newTeamTable(8, TeamAreas{Heap: 0x10000, Offset: 0x100, Size: 0x80, Count: 3}, m.put, m.zero)
}

// begunTeams makes a table at the address 64; the address 0 means that there is none.
func begunTeams(t *testing.T, m *gpuMemory) *TeamTable {
	t.Helper()
	all := fakeTeams(m)
	all.put = func(to gpu.Address, from []byte) error { return m.put(to-64, from) }
	if err := all.Begin(testTable+64, testLists+64); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTeamTable(t *testing.T) {
	var m gpuMemory
	all := begunTeams(t, &m)
	regular := queue.Team{Handle: 0x401, NPEs: 3, Me: 1, Start: 5, Stride: -2}
	if err := all.Show(1, regular, nil); err != nil {
		t.Fatal(err)
	}
	want := regular
	want.Work, want.WorkSize = 0x10000+0x100+0x80, 0x80
	if got := m.entry(1); got != want {
		t.Errorf("a regular team: %+v, want %+v", got, want)
	}

	// The list is written before the entry that points to it.
	m.order = nil
	if err := all.Show(2, queue.Team{Handle: 0x402, NPEs: 3}, []int32{6, 1, 2}); err != nil {
		t.Fatal(err)
	}
	list := testLists + gpu.Address(2*all.ListBytes())
	if !slices.Equal(m.order, []gpu.Address{list, gpu.Address(2 * teamEntryBytes)}) {
		t.Errorf("written at %v, want %v and then the entry", m.order, list)
	}
	if got := m.entry(2); got.PEs != (list+64).Pointer() || got.NPEs != 3 {
		t.Errorf("an irregular team: %+v, want its list at %#x", got, list+64)
	}
	if got := m.bytes[list : list+12]; !bytes.Equal(got, []byte{6, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}) {
		t.Errorf("its PEs: %v", got)
	}

	// A team beyond the memory for collectives is known all the same.
	if err := all.Show(3, queue.Team{Handle: 0x403, NPEs: 1}, nil); err != nil || m.entry(3).Handle != 0x403 || m.entry(3).Work != 0 {
		t.Errorf("a team too many: %+v, error %v", m.entry(3), err)
	}
	if err := all.Hide(1); err != nil || m.entry(1) != (queue.Team{}) {
		t.Errorf("a team that is gone: %+v, error %v", m.entry(1), err)
	}
}

// TestTeamsBeforeKernels: the table begins with the existing teams.
func TestTeamsBeforeKernels(t *testing.T) {
	var m gpuMemory
	all := fakeTeams(&m)
	for slot := range 3 {
		if err := all.Show(slot, queue.Team{Handle: int32(0x400 + slot), NPEs: 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := all.Hide(1); err != nil || len(m.order) != 0 {
		t.Fatalf("written at %v before there are kernels, error %v", m.order, err)
	}
	all.put = func(to gpu.Address, from []byte) error { return m.put(to-64, from) }
	if err := all.Begin(testTable+64, testLists+64); err != nil {
		t.Fatal(err)
	}
	if m.entry(0).Handle != 0x400 || m.entry(1).Handle != 0 || m.entry(2).Handle != 0x402 {
		t.Errorf("kernels find %+v, %+v, %+v", m.entry(0), m.entry(1), m.entry(2))
	}
	m.order = nil
	all.End()
	if err := all.Show(1, queue.Team{Handle: 0x401, NPEs: 1}, nil); err != nil || len(m.order) != 0 {
		t.Errorf("written at %v when the kernels are gone, error %v", m.order, err)
	}
}

// TestTeamsRenew: what a team has left is cleared before the next team, and only then.
func TestTeamsRenew(t *testing.T) {
	var m gpuMemory
	all := begunTeams(t, &m)
	for _, slot := range []int{1, 3} {
		if err := all.Renew(slot); err != nil || m.cleared != nil {
			t.Fatalf("slot %d, which no team has had: cleared %v, error %v", slot, m.cleared, err)
		}
		if err := all.Show(slot, queue.Team{Handle: 1, NPEs: 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, slot := range []int{1, 3, 2} { // 3 has no memory, 2 had no team
		if err := all.Renew(slot); err != nil {
			t.Fatal(err)
		}
	}
	if want := [][2]uint64{{0x180, queue.WorkBuffers(8)}}; !slices.Equal(m.cleared, want) {
		t.Errorf("cleared %v, want %v", m.cleared, want)
	}
	m.err = errors.New("refused")
	if err := all.Renew(1); !errors.Is(err, m.err) {
		t.Errorf("a clear that is refused: error %v", err)
	}
	if err := all.Show(2, queue.Team{Handle: 1, NPEs: 1}, nil); !errors.Is(err, m.err) {
		t.Errorf("an entry that is refused: error %v", err)
	}
}

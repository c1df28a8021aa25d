// Package sample writes traces of jobs that never ran, whose results are known, for tests of the
// packages that read traces. It implements the format of the files from its description, and shares
// no code with their reader.
package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// File is the text of one file of calls.
type File struct {
	b strings.Builder
	n int
	// Shift returns the difference between this PE's clock and that of PE 0, at a time of PE 0.
	Shift func(at int64) int64
	pe    int
}

// Head begins a file: members is what args has besides version, pe and npes, "" for nothing.
func Head(pe, npes int, members string) *File {
	f := &File{pe: pe, Shift: func(int64) int64 { return 0 }}
	if members != "" {
		members = "," + members
	}
	f.Raw(fmt.Sprintf(`{"ph":"M","name":"libshmem_trace","args":{"version":1,"pe":%d,"npes":%d%s}}`, pe, npes, members))
	return f
}

// Raw adds the text of an event unchanged.
func (f *File) Raw(event string) {
	if f.n++; f.n == 1 {
		f.b.WriteString("[\n")
	} else {
		f.b.WriteString(",\n")
	}
	f.b.WriteString(event)
}

// Call adds a call of thread 1 from `at` to at+length, in nanoseconds of PE 0's clock. The args are
// written as they are.
func (f *File) Call(name string, at, length int64, args string) { f.CallOf(1, name, at, length, args) }

// CallOf adds a call of a thread, otherwise like Call.
func (f *File) CallOf(thread int, name string, at, length int64, args string) {
	end := at + length
	at, end = at+f.Shift(at), end+f.Shift(end)
	f.Raw(`{"ph":"X","name":"` + name + `","cat":"shmem","pid":` + strconv.Itoa(f.pe) + `,"tid":` + strconv.Itoa(thread) +
		`,"ts":` + us(at) + `,"dur":` + us(end-at) + `,"args":{` + args + `}}`)
}

// Text returns the complete file.
func (f *File) Text() string { return f.b.String() + "\n]\n" }

// Write makes the file.
func (f *File) Write(name string) error { return os.WriteFile(name, []byte(f.Text()), 0o666) }

// us returns nanoseconds as the text of microseconds with three decimals, the unit of trace files.
func us(n int64) string { return fmt.Sprintf("%d.%03d", n/1000, n%1000) }

// The properties of the job that Job writes.
const (
	PEs      = 8
	Barriers = 20
	Late     = 5      // the PE that is late
	LateIn   = 2      // the third barrier
	LateBy   = 10e6   // ns
	Step     = 1e6    // ns from one barrier to the next
	Leave    = 5e3    // ns from the last arrival to the end of a barrier
	Apart    = 1e3    // ns between the arrivals of two PEs
	Begin    = 1.8e15 // ns: the moment of the first event
	Small    = 64     // bytes of each get
)

// Puts returns the number of puts that PE pe makes to the next one in each round, each of
// PutBytes(pe) bytes.
func Puts(pe int) int { return pe + 1 }

// PutBytes returns the size of each of those puts.
func PutBytes(pe int) int64 { return 1024 << (pe % 3) }

// Job writes the files of a job with known results into dir. PEs 0 to 3 are on host red and 4 to 7
// on host blue, whose clock is 250 ms ahead at the begin, and gains 40 ns each ms. Each round has
// puts to the next PE, one get from the one after that, and a barrier, at which the PEs arrive in
// the order of their numbers, with Apart nanoseconds between two of them, except PE Late in barrier
// LateIn.
func Job(dir string) ([]string, error) {
	var names []string
	for pe := range PEs {
		const span = Barriers*Step + LateBy + 2*Step
		host, clock := "red", fmt.Sprintf(`[{"at":%s,"offset":0,"error":0}]`, us(Begin))
		shift := func(int64) int64 { return 0 }
		if pe >= 4 {
			host = "blue"
			shift = func(at int64) int64 { return 250e6 + (at-Begin)*40/1e6 }
			clock = fmt.Sprintf(`[{"at":%s,"offset":-%s,"error":1.5},{"at":%s,"offset":-%s,"error":2}]`,
				us(Begin+shift(Begin)), us(shift(Begin)), us(Begin+span+shift(Begin+span)), us(shift(Begin+span)))
		}
		f := Head(pe, PEs, fmt.Sprintf(`"host":%q,"program":"bin/stencil","library":"/usr/lib/libshmem.so","clock":%s,"unseen":[],"lost":0`, host, clock))
		f.Shift = shift
		f.Call("shmem_init", Begin, Step/2, "")
		at := int64(Begin + Step)
		for b := range Barriers {
			t := at + 10e3
			for range Puts(pe) {
				f.Call("shmem_putmem", t, 800, fmt.Sprintf(`"pe":%d,"bytes":%d`, (pe+1)%PEs, PutBytes(pe)))
				t += 2000
			}
			f.Call("shmem_getmem", t, 1500, fmt.Sprintf(`"pe":%d,"bytes":%d`, (pe+2)%PEs, Small))
			arrive, last := at+Step/2+int64(pe)*Apart, at+Step/2+(PEs-1)*Apart
			if b == LateIn {
				last = at + Step/2 + Late*Apart + LateBy
				if pe == Late {
					arrive = last
				}
			}
			f.Call("shmem_barrier_all", arrive, last+Leave-arrive, `"team":0`)
			if at += Step; b == LateIn {
				at += LateBy
			}
		}
		f.Call("shmem_finalize", at, Step/4, "")
		name := filepath.Join(dir, fmt.Sprintf("%d.json", pe))
		if err := f.Write(name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

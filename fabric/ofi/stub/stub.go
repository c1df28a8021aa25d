// Package stub gives tests a libfabric with NICs that the machine does not have: efa as of several
// versions, cxi and verbs, each with the rules of rules.tsv. It is a shared library in C (lib),
// which moves the bytes itself, between processes and between the endpoints of one. A program loads
// it by SHMEM_LIBFABRIC. Its settings are words KEY=VALUE in FAKE_NIC; R5 and G5 are ids of rows in
// rules.tsv:
//
//	provider=  efa (the default), cxi or verbs
//	version=   of libfabric, 1.22 to 2.6; minor=N means 1.N
//	nics=      the number of NICs that are offered (1)
//	seed=      of delays, orders and refusals (1)
//	dir=       the folder of the endpoints' files (/dev/shm)
//	log=       a file that gets a line for each endpoint that is closed, with the counts of its
//	           queues; and for each option of CUDA and shm that is set (R20)
//	without=   rules to switch off, as R5,R6a: the stub then refuses what a rule allows, does what
//	           it refuses, and has another number where the rule is a number
//	wide=1     programs may have a send queue of efa-direct with wide entries, for more injected
//	           bytes (G5)
//	inorder=1  efa can write the bytes of each aligned block of 128 in order
//	max_cq=    the entries of a completion queue that the device grants (32768, assumed)
//	again=K    one in K postings is refused by FI_EAGAIN, and from time to time all are for a while
//	unsolicited=0  writes with data take a receive of the target (R11)
//	gone=      the error of operations on a lost peer: silent (it no longer replies) or never (it
//	           has never replied); else that there is no such endpoint
//	sick=1     every operation fails as on a NIC that is broken
//	host=one   the peers of efa are on this host, which its shm reaches (R18, R20, R24)
//	part=      of efa's device: efa1 (the default, of p5), efa0 (p4d) or a later one (R10)
//	flush=1    operations posted when their endpoint is closed end with an error (R15)
//	dies_at=K  a NIC breaks, for this process and for its peers, with the K-th operation of an
//	           endpoint; dies=N: NIC N (0)
//	p2p=no     the NIC does not reach the memory of GPUs (R20)
//	cuda=look  FI_HMEM is granted only if CUDA's libraries are found (R21); they are called (R22)
//	fork=old   the kernel copies no registered pages for a child (R23)
//	hmem=0     no FI_HMEM
//	dmabuf=0   registrations by a dma-buf fail; peer=0: those of GPU memory by its address
//	fail_at=K  the K-th registration of GPU memory fails
//	unreached_at=K   the K-th registration of GPU memory succeeds, but no operation reaches it
//	data_fails_at=K   the K-th write with immediate data of peers arrives without the data (R9)
//	overrun_at=K   the K-th read of a completion queue finds it overrun
//	stray=N    the first N reads find errors of no operation, with stray_err (5) and stray_flags (0)
//
// FAKE_NIC_LOG names a file that gets a line when GPU memory is registered and when a registration
// is closed.
package stub

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"libshmem/tests/cc"
	"libshmem/tests/need"
)

//go:embed lib zz_rules.h rules.tsv
var source embed.FS

// Provider is the name of the provider that takes GPU memory.
const Provider = "efa"

var mu sync.Mutex // one build at a time

// Build compiles the stub of libfabric and returns its file. Without further flags for the compiler
// all tests share one file.
func Build(t testing.TB, flags ...string) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	dir := ""
	if len(flags) > 0 {
		dir = t.TempDir()
		compile(t, dir, flags)
	} else {
		of, err := need.Sources(source)
		if err != nil {
			t.Fatal(err)
		}
		of = append(of, strings.Join(usual, " ")...)
		dir = need.Made(t, "stub", of, func(dir string) { compile(t, dir, nil) })
	}
	return filepath.Join(dir, file)
}

// file is the name of the library that Build makes.
const file = "libfabric.so.1"

var usual = []string{"-std=gnu11", "-shared", "-fPIC", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-Wl,-soname,libfabric.so.1"}

// compile writes the library's sources to a directory and compiles them there.
func compile(t testing.TB, dir string, flags []string) {
	t.Helper()
	if err := fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, path)
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := source.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "lib", "*.c"))
	if err != nil {
		t.Fatal(err)
	}
	args := slices.Concat(usual, []string{"-Wl,--version-script=" + filepath.Join(dir, "lib", "libfabric.map"), "-o", filepath.Join(dir, file)})
	cc.Run(t, cc.C(), append(append(args, flags...), files...)...)
}

// Log is the file in which the library logs registrations of GPU memory since Set.
type Log struct {
	t    testing.TB
	File string
}

// Set puts the stub's settings into the environment of this test (FAKE_NIC), with a fresh log file,
// which it returns.
func Set(t testing.TB, settings string) *Log {
	t.Helper()
	l := &Log{t, filepath.Join(t.TempDir(), "log")}
	t.Setenv("FAKE_NIC", settings)
	t.Setenv("FAKE_NIC_LOG", l.File)
	return l
}

// Lines returns the logged registrations of GPU memory and their closes.
func (l *Log) Lines() []string {
	l.t.Helper()
	b, err := os.ReadFile(l.File)
	if err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	return strings.FieldsFunc(string(b), func(r rune) bool { return r == '\n' })
}

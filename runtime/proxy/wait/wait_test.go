package wait

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"libshmem/tests/need"
)

// words returns memory that Go does not manage.
func words(tb testing.TB, n int) []uint64 {
	tb.Helper()
	m, err := unix.Mmap(-1, 0, n*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			tb.Error(err)
		}
	})
	return unsafe.Slice((*uint64)(unsafe.Pointer(&m[0])), n)
}

const lap = 1 << 63

func TestSleep(t *testing.T) {
	w := words(t, 2)
	l := New(2, nil, nil)
	defer l.Close()
	sleep := func(total time.Duration) bool {
		l.Add(&w[0], lap)
		l.Add(&w[1], lap)
		came, failure := l.Sleep(200*time.Microsecond, total)
		if failure != 0 {
			t.Errorf("failure %d", failure)
		}
		return came
	}
	if sleep(2 * time.Millisecond) {
		t.Error("something came into empty rings")
	}
	w[1] = lap | 5
	if !sleep(time.Hour) {
		t.Error("what was there was not seen")
	}
	w[1] = 0
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	go func() {
		for !need.Asleep(os.Getpid(), thread) {
			time.Sleep(time.Millisecond)
		}
		atomic.StoreUint64(&w[0], lap)
	}()
	if !sleep(time.Hour) {
		t.Error("what came was not seen")
	}
}

// BenchmarkIdle measures how much of a processor it takes to look every 500 us for a second.
func BenchmarkIdle(b *testing.B) {
	w := words(b, 8)
	l := New(8, nil, nil)
	defer l.Close()
	time.Sleep(100 * time.Millisecond)
	var before, after unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	for range 10 {
		for i := range 8 {
			l.Add(&w[i], lap)
		}
		l.Sleep(500*time.Microsecond, 100*time.Millisecond)
	}
	if err := unix.Getrusage(unix.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(100*float64(used)/float64(time.Since(begin)), "%CPU")
}

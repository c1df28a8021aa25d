package proxy

import (
	"encoding/binary"
	"testing"
	"unsafe"

	"libshmem"
	"libshmem/fabric"
	"libshmem/runtime/proxy/layout"
)

// The counters of the tests here, in the internal area.
const (
	testCounters  = 8
	counterOffset = -8 * testCounters
)

// countingJob returns the job of numberedJob with counters. value reads one of PE 1, and notify
// puts with a notification.
func countingJob(t *testing.T, source bool) (j *job, number uint32, value func(int) uint64, notify func(counter int)) {
	j, _, number = numberedJob(t, source, nil)
	a, b := j.pes[0], j.pes[1]
	for _, p := range j.pes {
		p.CountNotifications(counterOffset, testCounters)
	}
	value = func(counter int) uint64 {
		return binary.NativeEndian.Uint64(b.memory[internal+counterOffset+8*counter:])
	}
	buf := make([]byte, 10000)
	notify = func(counter int) {
		a.post(func() Status {
			return a.PutSignal(1, 0, unsafe.Pointer(&buf[0]), 10000, libshmem.Offset(counterOffset+8*counter), 1, fabric.OpAdd, nil)
		})
	}
	return j, number, value, notify
}

// A write brings its notification along where the provider names the writer, and else a message
// does.
func TestNotifiedWrites(t *testing.T) {
	for _, source := range []bool{true, false} {
		j, _, value, notify := countingJob(t, source)
		a := j.pes[0]
		for counter := range testCounters {
			for range counter {
				notify(counter)
			}
		}
		a.quiet()
		for counter := range testCounters {
			if value(counter) != uint64(counter) {
				t.Errorf("source %v: counter %d is %d", source, counter, value(counter))
			}
		}
		const puts = testCounters * (testCounters - 1) / 2
		c, with, by := a.Report.Count(), uint64(0), uint64(puts)
		if source {
			with, by = puts, 0
		}
		if c[layout.Notified] != with || c[layout.Atomics] != by {
			t.Errorf("source %v: %d notifications came with writes, want %d; %d by message, want %d", source, c[layout.Notified], with, c[layout.Atomics], by)
		}
		j.close()
	}
}

// Signals that are no notification go as messages: another operation, operand or word.
func TestOtherSignals(t *testing.T) {
	j, _, _, _ := countingJob(t, true)
	a, b := j.pes[0], j.pes[1]
	buf := make([]byte, 10000)
	for _, s := range []struct {
		offset libshmem.Offset
		value  uint64
		op     fabric.Op
	}{
		{counterOffset, 1, fabric.OpSet}, {counterOffset, 2, fabric.OpAdd}, {counterOffset - 8, 1, fabric.OpAdd}, {0, 1, fabric.OpAdd},
	} {
		a.post(func() Status { return a.PutSignal(1, 64, unsafe.Pointer(&buf[0]), 10000, s.offset, s.value, s.op, nil) })
		a.quiet()
	}
	if c := a.Report.Count(); c[layout.Notified] != 0 || c[layout.Atomics] != 4 {
		t.Errorf("%d notifications and %d messages", c[layout.Notified], c[layout.Atomics])
	}
	if got := binary.NativeEndian.Uint64(b.memory[internal+counterOffset:]); got != 3 {
		t.Errorf("the word is %d", got)
	}
	j.close()
}

// What comes twice counts once, and what names no counter does not count. A write that does not
// come counts only if it has come before.
func TestNotificationsCountOnce(t *testing.T) {
	j, number, value, _ := countingJob(t, true)
	b := j.pes[1]
	b.Report.ReportTo(func(error) {})
	come := func(number, counter uint32) {
		data := fabric.Completion{Token: fabric.NoToken, Kind: fabric.KindData, Data: number | (counter+1)<<16}
		data.SetFrom(0)
		b.Complete([]fabric.Completion{data})
	}
	expect := func(what string, counter int, want, refused uint64) {
		t.Helper()
		if value(counter) != want || b.Report.Refused() != refused {
			t.Errorf("%s: counter %d is %d, want %d; %d refused, want %d", what, counter, value(counter), want, b.Report.Refused(), refused)
		}
	}
	come(number+1, 3) // early
	expect("the second write", 3, 1, 0)
	come(number+1, 3)
	expect("the second write again", 3, 1, 1)
	come(number+1, 4)
	expect("the second write for another counter", 4, 0, 2)
	come(number, testCounters)
	expect("a counter that does not exist", testCounters-1, 0, 3)
	come(number, testCounters-1)
	expect("the first write", testCounters-1, 1, 3)
	come(number, testCounters-1)
	expect("the first write again", testCounters-1, 1, 4)
	come(number+2, 0xfffe)
	expect("the greatest counter", 3, 1, 5)
}

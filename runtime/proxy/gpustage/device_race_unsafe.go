package gpustage

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"libshmem/fabric"
	"libshmem/runtime/gpu"
	"libshmem/runtime/guard"
	"libshmem/runtime/proxy/fifo"
)

// Quick is the program's own context of the GPU, in which the kernels of atomic operations start at
// once beside those of the program.
type Quick struct {
	Dev     Device
	Kernels Kernels
}

// race lets each atomic operation be done in whichever of two contexts can do it. The operations
// are kernels of one thread. In the program's context such a kernel starts within 10 us beside
// those of the program. But while the program loads a kernel, or its kernels fill the GPU, none
// starts, and the driver may even block the call. In the engine's own context (apart) a kernel
// always starts, and uses a time slice of 2.4 ms while a kernel of the program runs (H200).
//
// So each operation is first submitted to the program's context, by a goroutine that may be
// blocked, and to the other context when the first makes no progress. A claim, a word in GPU
// memory, lets one of the two kernels do the operation and makes the other wait until it is done.
// So operations are done in their order.
//
// An operation that a stream does without a kernel waits for nothing in the engine's own context,
// and is submitted to that context alone. It has no claim. So earlier operations are done before it
// is submitted, and it is done before later ones are submitted.
type race struct {
	quick   gpu.Stream
	program Quick
	apart   *cudaStream
	dev     Device
	kernel  Kernels
	block   unsafe.Pointer // pinned memory for marks
	marks   *[2]uint64     // number of the last operation that each stream has done: quick, apart
	claims  gpu.Address
	idle    fifo.Queue[claim]

	ops            fifo.Queue[racer] // operations that neither context has done
	late           fifo.Queue[racer] // operations that apart has done and that are still in quick
	slow           fifo.Queue[racer] // operations that are done, no longer in quick, and still in apart
	submittedQuick uint64            // operations submitted to quick
	submittedApart uint64            // operations submitted to apart
	markedApart    uint64            // operations submitted to apart before its last mark
	ends           fifo.Queue[raceEnd]
	lastMark       uint64    // the last number that mark has returned
	passed         uint64    // the last mark before which all operations are done
	done           uint64    // operations done so far
	added          uint64    // operations added so far
	seen           uint64    // quick's mark at the last check
	moved          time.Time // when quick last made progress, or got work again

	stallTimeout time.Duration // the constant, except in tests

	toQuick chan gpu.Atomic // operations for run to submit to quick
	over    chan struct{}   // closed at the end of run
	failed  atomic.Pointer[error]
}

// claim is a word in GPU memory that is idle: no operation in a stream uses it. A later operation
// whose kernels run in two streams uses it to decide which of the two does the operation.
type claim struct {
	at   gpu.Address
	free uint64 // its value while it is free
}

// racer is an atomic operation with its numbers in the two streams: inQuick counts the operations
// submitted to quick up to this one, inApart those submitted to apart. 0: it was not submitted to
// that stream.
type racer struct {
	gpu.Atomic
	inQuick, inApart uint64
	changes          bool // done without a kernel
}

// raceEnd is a mark that counts as passed when the first ops operations are done.
type raceEnd struct{ mark, ops uint64 }

const (
	// stallTimeout is the longest time that the stream quick may make no progress before its
	// operations are also submitted to the other context: many times the start of a kernel.
	stallTimeout = time.Millisecond
	// maxQuick is the largest number of operations in the stream quick, which may make no progress
	// for long: the driver blocks a caller that submits more to a stream.
	maxQuick = StreamQueue
	// markEach is the number of operations that quick may do in a row before its mark shows it.
	markEach = 16
	// maxApart is the largest number of operations in the stream apart.
	maxApart = StreamQueue
	// raceClaims is the number of claims: enough for the operations that are not done, and for
	// those that are done but still in one of the two streams.
	raceClaims = 4 * StreamQueue
	claimBytes = 8 * (raceClaims + 1) // with a word for the first use of the kernels
)

// newRace makes a race (which lets each atomic operation be done in whichever of two contexts can
// do it) between the stream `apart` of the engine's own context and a new stream in the program's
// context, `program`. It starts each kernel once in the new stream, which loads the kernel.
func newRace(dev Device, kernels Kernels, apart *cudaStream, program Quick) (_ *race, err error) {
	r := &race{stallTimeout: stallTimeout, program: program, apart: apart, dev: dev, kernel: kernels, toQuick: make(chan gpu.Atomic, maxQuick), over: make(chan struct{})}
	guard.Go("quick atomic operations of the GPU", r.run)
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	block, _, err := dev.HostAlloc(64 + claimBytes) // a cache line with the marks, and zeros for warmUp
	if err != nil {
		return nil, err
	}
	r.block, r.marks = block, (*[2]uint64)(block)
	clear(unsafe.Slice((*byte)(block), 64+claimBytes))
	// The claims are allocated in the program's context, which has such memory already: the first
	// block of the other context would take 2 MiB more.
	if r.claims, err = program.Dev.Alloc(claimBytes); err != nil {
		return nil, err
	}
	if r.quick, err = program.Dev.NewStream(); err != nil {
		return nil, err
	}
	if err = r.warmUp(); err != nil {
		return nil, err
	}
	return r, nil
}

// warmUp clears the claims, and runs an operation of each width in the stream quick, because the
// driver loads a kernel at its first launch. Memory.warmUp has done that for the stream apart.
func (r *race) warmUp() error {
	zeros := unsafe.Add(r.block, 64)
	for i := range gpu.Address(raceClaims) {
		r.idle.Push(claim{r.claims + 8*i, 0})
	}
	err := r.program.Dev.CopyInAsync(r.quick, r.claims, address(zeros), claimBytes)
	if err = errors.Join(err, r.program.Dev.SyncStream(r.quick)); err != nil {
		return err
	}
	for _, width := range []int{4, 8} {
		err = errors.Join(err, r.program.Kernels.Put(r.quick, gpu.Atomic{
			At: r.claims + 8*raceClaims, Op: int(fabric.OpAdd), Width: width, Fetched: address(zeros),
		}))
	}
	return errors.Join(err, r.program.Dev.SyncStream(r.quick))
}

// run submits the operations from the channel toQuick to the stream quick, in a goroutine of its
// own, because the driver may block the call. When the channel is empty, and after each markEach
// operations, it adds a store to the stream: of the number of operations so far, in quick's mark.
// After an error it only empties the channel. It ends when the channel is closed.
func (r *race) run() {
	defer close(r.over)
	var n uint64
	for o := range r.toQuick {
		if r.failed.Load() != nil {
			continue
		}
		err := r.program.Kernels.Put(r.quick, o)
		if n++; err == nil && (len(r.toQuick) == 0 || n%markEach == 0) {
			err = r.program.Dev.Stores(r.quick, []gpu.Store{{At: address(unsafe.Pointer(&r.marks[0])), Value: n, Width: 8}})
		}
		if err != nil {
			r.failed.Store(&err)
		}
	}
}

// progress reads the marks of the two streams, removes the operations that are done from ops, and
// frees claims that neither stream uses. Operations on which quick makes no progress are submitted
// to the other context.
func (r *race) progress(now time.Time) error {
	quickDone, apartDone := atomic.LoadUint64(&r.marks[0]), atomic.LoadUint64(&r.marks[1])
	if quickDone != r.seen {
		r.seen, r.moved = quickDone, now
	}
	for r.ops.Len() > 0 {
		o := r.ops.At(0)
		if (o.inQuick == 0 || o.inQuick > quickDone) && (o.inApart == 0 || o.inApart > apartDone) {
			break
		}
		if o.inQuick > quickDone {
			r.late.Push(*o)
		} else {
			r.slow.Push(*o)
		}
		r.ops.Pop()
		r.done++
	}
	for r.late.Len() > 0 && r.late.At(0).inQuick <= quickDone {
		r.slow.Push(r.late.Pop())
	}
	for r.slow.Len() > 0 && r.slow.At(0).inApart <= apartDone {
		if o := r.slow.Pop(); !o.changes { // the kernel that did it has added 2 to the claim (gpu.Atomic)
			r.idle.Push(claim{o.Claim, o.Free + 2})
		}
	}
	for r.ends.Len() > 0 && r.ends.At(0).ops <= r.done {
		r.passed = r.ends.Pop().mark
	}
	if p := r.failed.Load(); p != nil {
		return *p
	}
	return r.submitNext(now, apartDone)
}

// submitNext submits the first operations that are not done, as long as they are all of one kind,
// to the context that has to do them now. apartDone is the number of the last operation that apart
// has done.
func (r *race) submitNext(now time.Time, apartDone uint64) error {
	if r.ops.Len() == 0 {
		return nil
	}
	changes, n := r.ops.At(0).changes, 1
	for n < r.ops.Len() && r.ops.At(n).changes == changes {
		n++
	}
	switch {
	case changes || r.stalled(now) || r.submittedQuick-r.seen+uint64(n) > maxQuick:
		return r.submitApart(apartDone, n)
	case r.ops.At(n-1).inQuick == 0:
		r.submitQuick(now, n)
	}
	return nil
}

// stalled reports whether quick has work and has made no progress for longer than stallTimeout.
func (r *race) stalled(now time.Time) bool {
	return r.seen < r.submittedQuick && now.Sub(r.moved) >= r.stallTimeout
}

// submitApart submits the first n operations that are not done to the engine's own context, but
// only while that context makes progress: otherwise no claims would be left. apartDone is as in
// submitNext.
func (r *race) submitApart(apartDone uint64, n int) error {
	if r.ops.At(n-1).inApart != 0 {
		return nil
	}
	for i := range n {
		o := r.ops.At(i)
		if o.inApart != 0 {
			continue
		}
		if r.submittedApart-apartDone >= maxApart {
			break
		}
		put := r.kernel.Put
		if o.changes {
			put = r.dev.Change
		}
		if err := put(r.apart.handle, o.Atomic); err != nil {
			return err
		}
		r.submittedApart++
		o.inApart = r.submittedApart
	}
	if r.submittedApart == r.markedApart {
		return nil
	}
	err := r.dev.Stores(r.apart.handle, []gpu.Store{{At: address(unsafe.Pointer(&r.marks[1])), Value: r.submittedApart, Width: 8}})
	if err == nil {
		r.markedApart = r.submittedApart
	}
	return err
}

// submitQuick submits the first n operations that are not done to quick, in order.
func (r *race) submitQuick(now time.Time, n int) {
	for i := range n {
		if o := r.ops.At(i); o.inQuick == 0 {
			if r.seen == r.submittedQuick {
				r.moved = now
			}
			r.submittedQuick++
			o.inQuick = r.submittedQuick
			r.toQuick <- o.Atomic // the channel can hold all operations that quick may have
		}
	}
}

// add adds an atomic operation. changes says that the stream does it without a kernel, so only the
// engine's own context gets it.
func (r *race) add(o gpu.Atomic, changes bool) error {
	now := time.Now()
	if err := r.progress(now); err != nil {
		return err
	}
	if !changes {
		if r.idle.Len() == 0 { // an error in this file
			return fmt.Errorf("atomic operation on %s: all of %d are under way", r.dev.Name(), raceClaims)
		}
		c := r.idle.Pop()
		o.Claim, o.Free = c.at, c.free
	}
	r.ops.Push(racer{Atomic: o, changes: changes})
	r.added++
	return r.submitNext(now, atomic.LoadUint64(&r.marks[1]))
}

// mark returns the number of a mark that passes when all operations added so far are done.
func (r *race) mark() (uint64, error) {
	r.lastMark++
	r.ends.Push(raceEnd{r.lastMark, r.added})
	return r.lastMark, nil
}

// marked returns the last mark before which all operations are done.
func (r *race) marked() (uint64, error) {
	err := r.progress(time.Now())
	return r.passed, err
}

// close ends the goroutine, waits for the operations in both streams, which use the claims, and
// frees the memory.
func (r *race) close() error {
	close(r.toQuick)
	<-r.over
	errs := []error{r.dev.FinishStream(r.apart.handle)}
	if r.quick != 0 {
		errs = append(errs, r.program.Dev.FinishStream(r.quick), r.program.Dev.CloseStream(r.quick))
	}
	if r.claims != 0 {
		errs = append(errs, r.program.Dev.Free(r.claims))
	}
	if r.block != nil {
		errs = append(errs, r.dev.HostFree(r.block))
	}
	return errors.Join(errs...)
}

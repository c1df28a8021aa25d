package spec

// This file has puts with a notification: each adds 1 to a counter of its target once its bytes
// have arrived. The counters are in the library's memory, so that a network can add to them with
// the bytes.

// notifyRow completes the table row of a function for notification counters with the errors that
// all of them report.
func notifyRow(f Family) Family {
	f.Section, f.Since = "notifications", "0.1"
	if f.Name == "notify_alloc" || f.Name == "notify_free" {
		f.Errors += "Ends the job before init or after finalize."
		return f
	}
	f.Errors += "Ends the job when the counter does not exist, and before init or after finalize." + notifyFull
	return f
}

const notifyFull = " With SHMEM_CHECKS=full, once the program has called shmemx_notify_alloc, also when " +
	"the counter is in no allocated range."

var (
	notifyCounter = Param{Name: "notify", C: "int", Doc: "number of a counter of pe, 0 to the setting SHMEM_NOTIFY_COUNT - 1"}
	notifyOwn     = Param{Name: "notify", C: "int", Doc: "number of a counter of the caller, 0 to the setting SHMEM_NOTIFY_COUNT - 1"}
	notifyCount   = Param{Name: "count", C: "uint64_t", Doc: "up to 2^63 - 1"}
	notifySeen    = "The bytes of all puts that the value counts are visible to the caller."
	notifyRange   = "Ends the job when a number is above 2^63 - 1. "
)

var notifyCalls = []Family{
	notifyRow(Family{
		Name: "putmem_notify", Contexts: true, Variants: Nbi, Range: RangeRMA,
		Params: []Param{
			{Name: "dest", C: "void *", Role: Written},
			{Name: "source", C: "const void *", Role: Source},
			{Name: "nbytes", C: "size_t", Unit: "bytes", Doc: "to copy"},
			notifyCounter, paramPE,
		},
		Front:    "shmemi_put_notify($ctx, dest, source, nbytes, notify, pe, false, $call)",
		FrontNbi: "shmemi_put_notify($ctx, dest, source, nbytes, notify, pe, true, $call)",
		Doc: "Copies bytes to another PE, and then adds 1 to a notification counter there. Each call adds 1, " +
			"whatever its length; without bytes it adds 1 and does nothing else. It returns when source may be reused. " +
			"Each PE has as many counters of 64 bits, in the library's memory, as the setting SHMEM_NOTIFY_COUNT says; they begin with 0.",
		DocNbi: "Does what shmemx_putmem_notify does, but source may be reused only after the next quiet.",
		Order: "The counter changes after the bytes of its own call, and only those: puts with notifications arrive in " +
			"any order. shmem_quiet completes them.",
	}),
	notifyRow(Family{
		Name: "notify_wait", Result: "uint64_t", Range: RangeWait,
		Params:  []Param{notifyOwn, notifyCount},
		Front:   "shmemi_notification_wait(notify, count, $call)",
		Doc:     "Waits until a counter of the caller is at least count. The caller spins, then yields, then sleeps.",
		Returns: "The value of the counter, which may be greater than count. Additions by kernels that the wait did not need may be missing from it.",
		Errors:  notifyRange, Order: notifySeen,
	}),
	notifyRow(Family{
		Name: "notify_test", Result: "int", Range: RangeTest,
		Params:  []Param{notifyOwn, notifyCount},
		Front:   "shmemi_notification_test(notify, count, $call)",
		Doc:     "Reports at once whether a counter of the caller is at least count.",
		Returns: "1 or 0.",
		Errors:  notifyRange, Order: "After 1, the bytes of all puts that count has are visible to the caller.",
	}),
	notifyRow(Family{
		Name: "notify_fetch", Result: "uint64_t", Range: RangeTest,
		Params:  []Param{notifyOwn},
		Front:   "shmemi_notification_fetch(notify, $call)",
		Doc:     "Reads a counter of the caller.",
		Returns: "The value.",
		Order:   notifySeen,
	}),
	notifyRow(Family{
		Name:   "notify_reset",
		Params: []Param{notifyOwn, {Name: "value", C: "uint64_t", Doc: "up to 2^63 - 1"}},
		Front:  "shmemi_notification_reset(notify, value, $call)",
		Doc: "Sets a counter of the caller. Only the owner of a counter can set it. Notifications that arrive " +
			"meanwhile may be lost or counted: reset a counter only after waiting for everything that it should count.",
		Errors: notifyRange,
	}),
	notifyRow(Family{
		Name: "notify_alloc", Result: "int",
		Params: []Param{{Name: "n", C: "int", Doc: "number of counters, 1 or more; the same on every PE"}},
		Front:  "shmemi_notification_alloc(n, $call)",
		Doc: "Reserves a range of counters, so that independent parts of a program use different ones, " +
			"and sets them to 0 on every PE. All PEs make the call together.",
		Returns: "The first counter of the range, the same on every PE; -1 when no range of that length is free, and when a PE is lost.",
		Errors:  "Ends the job when n is less than 1, and when the PEs pass different numbers. ",
		Order:   "Ends with a barrier: any PE may notify the counters at once.",
	}),
	notifyRow(Family{
		Name:   "notify_free",
		Params: []Param{{Name: "notify", C: "int", Doc: "the first counter of a range, as shmemx_notify_alloc returned it"}},
		Front:  "shmemi_notification_free(notify, $call)",
		Doc:    "Releases a range of counters. All PEs make the call together.",
		Errors: "Ends the job when no range begins there, and when the PEs pass different counters. ",
		Order:  "Begins as shmem_barrier_all does.",
	}),
}

// notifyOfKernels has the calls with notification counters for kernels and on streams.
var notifyOfKernels = Chapter{
	File: "notify", Title: "Notifications", Kernel: kernelNotify,
	Families: []Family{
		notifyKernel("putmem_notify", Kernel{
			Variants: Nbi, Scopes: allScopes, Contexts: true,
			Params: []Param{
				{Name: "dest", C: "void *", Role: Written}, {Name: "source", C: "const void *", Role: Source},
				{Name: "nbytes", C: "size_t", Unit: "bytes", Doc: "to copy"},
				notifyCounter, paramPE,
			},
			Body: "shmemi_put_notify<$scope, $nbi>($job, $call, dest, source, nbytes, notify, pe)",
			Doc:  "Copies bytes to another PE, then adds 1 to a notification counter there.",
		}, &Stream{
			Variants: Nbi, Range: RangeRMA,
			Front: "shmemi_stream_put_notify$nbi(dest, source, nbytes, notify, pe, stream, $call)",
			Doc: "Copies bytes to another PE when the stream reaches it, and then adds 1 to a notification counter there. " +
				"With 0 bytes it only adds 1.",
			DocNbi: "Does what shmemx_putmem_notify_on_stream does, but source may be reused only after the next quiet on the stream.",
		}),
		notifyKernel("notify_wait", Kernel{
			Result: "uint64_t", Params: []Param{notifyOwn, notifyCount},
			Body: "shmemi_notify_wait($job, $call, notify, count)", Doc: "Waits until a notification counter of this PE is at least count.",
		}, &Stream{
			Range: RangeWaitOnStream, Result: "void",
			Front: "shmemi_stream_notify_wait(notify, count, stream, $call)",
			Doc:   "Makes the stream wait until a counter of the caller is at least count.",
			Order: "Later work on the stream sees the bytes of all puts that the counter has then.",
		}),
		notifyKernel("notify_test", Kernel{
			Result: "int", Params: []Param{notifyOwn, notifyCount},
			Body: "shmemi_notify_test($job, $call, notify, count)", Doc: "Reports whether a notification counter of this PE is at least count.",
		}, nil),
		notifyKernel("notify_fetch", Kernel{
			Result: "uint64_t", Params: []Param{notifyOwn},
			Body: "shmemi_notify_fetch($job, $call, notify)", Doc: "Reads a notification counter of this PE.",
		}, nil),
		notifyKernel("notify_reset", Kernel{
			Params: []Param{notifyOwn, {Name: "value", C: "uint64_t", Doc: "up to 2^63 - 1"}},
			Body:   "shmemi_notify_reset($job, $call, notify, value)", Doc: "Sets a notification counter of this PE.",
		}, &Stream{
			Front: "shmemi_stream_notify_reset(notify, value, stream, $call)",
			Doc:   "Sets a counter of the caller when the stream reaches it. Notifications that arrive meanwhile may be lost or counted.",
		}),
	},
}

// notifyNames are the names of the rows in notifyOfKernels, which NVSHMEM does not have.
var notifyNames = []string{"putmem_notify", "notify_wait", "notify_test", "notify_fetch", "notify_reset"}

// notifyKernel returns the table row of a function for notification counters that kernels call, and
// that may have a form on a stream (onStream).
func notifyKernel(name string, k Kernel, onStream *Stream) Family {
	k.X = true
	return Family{
		Name: name, Section: "notifications", Since: "0.1", Params: k.Params, Doc: k.Doc, Kernel: []Kernel{k}, Stream: onStream,
	}
}

package spec

const lockErrors = "Ends the job when lock is not an aligned symmetric address, and when called before init " +
	"or after finalize."

var lockWord = Param{Name: "lock", C: "long *", Doc: "symmetric, 0 on every PE before its first use; not to be " +
	"touched by anything but these functions"}

var locks = Chapter{
	File:  "lock",
	Title: "Distributed Locking Routines",
	Over:  []string{"lock.h"},
	Range: RangeWait,
	Families: []Family{
		{
			Name: "set_lock", Section: "SHMEM_SET_LOCK", Since: "0.1",
			Params: []Param{lockWord},
			Front:  "shmemi_set_lock(lock, $call)",
			Doc: "Waits until no other PE has the lock, and takes it. PEs get it in the order in which they " +
				"came. A PE has a lock once: threads of one PE take turns, in no particular order.",
			Errors: lockErrors + " Under SHMEM_CHECKS=full also when the calling thread has the lock already; " +
				"else such a call waits without end.",
			Order: "What the PEs that had the lock before did to symmetric memory is visible.",
		},
		{
			Name: "clear_lock", Section: "SHMEM_CLEAR_LOCK", Since: "0.1",
			Params: []Param{lockWord},
			Front:  "shmemi_clear_lock(lock, $call)",
			Doc:    "Completes all operations of the caller, as shmem_quiet does, and gives the lock to the PE that waits longest.",
			Errors: lockErrors + " Also when the PE does not have the lock.",
			Order:  "Includes a quiet.",
		},
		{
			Name: "test_lock", Section: "SHMEM_TEST_LOCK", Since: "0.1", Range: RangeTest,
			Result: "int", Params: []Param{lockWord},
			Front:   "shmemi_test_lock(lock, $call)",
			Doc:     "Takes the lock if no PE has it, without waiting.",
			Returns: "0 when the caller has the lock now, 1 when it was taken, by the caller too.",
			Errors:  lockErrors,
			Order:   "After 0, as set_lock.",
		},
	},
}

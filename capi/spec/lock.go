package spec

const lockErrors = "Ends the job when lock is not an aligned symmetric address, and when called before init " +
	"or after finalize."

var lockWord = Param{Name: "lock", C: "long *", Doc: "symmetric, 0 on every PE before its first use; only " +
	"these functions may touch it"}

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
			Doc: "Waits until no other PE holds the lock, and takes it. PEs get the lock in the order of their requests. " +
				"A PE holds a lock once: threads of one PE take turns, in no particular order.",
			Errors: lockErrors + " With SHMEM_CHECKS=full also when the calling thread holds the lock already; " +
				"without it such a call never returns.",
			Order: "Changes to symmetric memory by the PEs that held the lock before are visible.",
		},
		{
			Name: "clear_lock", Section: "SHMEM_CLEAR_LOCK", Since: "0.1",
			Params: []Param{lockWord},
			Front:  "shmemi_clear_lock(lock, $call)",
			Doc:    "Completes all operations of the caller, as shmem_quiet does, and passes the lock to the PE that has waited longest.",
			Errors: lockErrors + " Also when the PE does not hold the lock.",
			Order:  "Includes a quiet.",
		},
		{
			Name: "test_lock", Section: "SHMEM_TEST_LOCK", Since: "0.1", Range: RangeTest,
			Result: "int", Params: []Param{lockWord},
			Front:   "shmemi_test_lock(lock, $call)",
			Doc:     "Takes the lock if no PE holds it, without waiting.",
			Returns: "0 when the caller now holds the lock; 1 when a PE held it already, the caller included.",
			Errors:  lockErrors,
			Order:   "After 0, as set_lock.",
		},
	},
}

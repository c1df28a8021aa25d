package spec

// This file has the calls that read the counters of the program's own communication. The names of
// the functions begin with pcntr_, like Sandia OpenSHMEM's. A program finds a counter by its name,
// so that a release may add counters.

// counterRow completes the table row of a function that reads counters: section, release and errors
// are the same for all.
func counterRow(f Family) Family {
	f.Since, f.Section = "0.1", "counters"
	f.Errors = "Ends the job when called before init or after finalize."
	return f
}

var (
	counterID    = Param{Name: "id", C: "int", Doc: "number of a counter, from 0 to shmemx_pcntr_count() - 1"}
	counterValue = Param{Name: "value", C: "uint64_t *", Role: Result, Doc: "the count, since init; unchanged when the result is not 0"}
)

var counterCalls = []Family{
	counterRow(Family{
		Name: "pcntr_count", Result: "int",
		Front: "shmemi_counter_count($call)",
		Doc: "Returns the number of counters. They are numbered from 0 and count from init on. They cover the work of this " +
			"PE over the network, not loads and stores within a node. Counting costs next to nothing. " +
			"docs/reference/counters.md of the library lists them.",
		Returns: "A number above 0.",
	}),
	counterRow(Family{
		Name: "pcntr_name", Result: "const char *",
		Params: []Param{counterID},
		Front:  "shmemi_counter_name(id, $call)",
		Doc: "Returns the name of a counter, for example write_bytes. Names keep their meaning in later releases; numbers " +
			"hold for one run.",
		Returns: "The name, which stays valid, or NULL when there is no such counter.",
	}),
	counterRow(Family{
		Name: "pcntr_find", Result: "int",
		Params:  []Param{{Name: "name", C: "const char *", Role: Source, Doc: "as shmemx_pcntr_name returns it"}},
		Front:   "shmemi_counter_find(name, $call)",
		Doc:     "Finds a counter by its name.",
		Returns: "The number of the counter, or -1 when this release has no counter of that name.",
	}),
	counterRow(Family{
		Name: "pcntr_get", Result: "int",
		Params: []Param{counterID, {Name: "pe", C: "int", Doc: "a PE, or -1 for all together"}, counterValue},
		Front:  "shmemi_counter_get(id, pe, value, $call)",
		Doc: "Reads a counter of this PE: its operations with another PE, or with all. Operations that other threads make at the " +
			"same time may or may not be included.",
		Returns: "0; non-zero when there is no such counter or PE, or when it is not kept for each PE.",
	}),
	counterRow(Family{
		Name: "pcntr_nics", Result: "int",
		Front:   "shmemi_counter_nics($call)",
		Doc:     "Returns the number of NICs that this PE uses, 0 when all PEs share memory.",
		Returns: "0 or more; NICs are numbered from 0.",
	}),
	counterRow(Family{
		Name: "pcntr_nic_name", Result: "const char *",
		Params:  []Param{{Name: "nic", C: "int", Doc: "number of a NIC, from 0 to shmemx_pcntr_nics() - 1"}},
		Front:   "shmemi_counter_nic_name(nic, $call)",
		Doc:     "Returns the name of a NIC, as SHMEM_NIC_LIST takes it.",
		Returns: "The name, which is valid until the next call of this function, or NULL when there is no such NIC.",
	}),
	counterRow(Family{
		Name: "pcntr_get_nic", Result: "int",
		Params:  []Param{counterID, {Name: "nic", C: "int", Doc: "number of a NIC, from 0 to shmemx_pcntr_nics() - 1"}, counterValue},
		Front:   "shmemi_counter_get_nic(id, nic, value, $call)",
		Doc:     "Reads a counter of one NIC of this PE. The names of such counters begin with nic_.",
		Returns: "0; non-zero when there is no such counter or NIC, or when it is not kept for each NIC.",
	}),
}

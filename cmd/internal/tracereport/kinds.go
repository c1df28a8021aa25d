package tracereport

import (
	"slices"
	"strings"
)

// kind describes a function, as far as the report needs it.
type kind struct {
	collective bool   // all PEs of a team call it
	together   bool   // no PE leaves it before all have arrived
	world      bool   // its team is that of all PEs if the trace names none
	data       bool   // its bytes are data that it moves, and not memory that it allocates
	start      bool   // it begins the job
	waits      bool   // it waits for a value that another PE writes
	updates    bool   // it may write such a value
	family     string // calls of functions of one family belong together
}

// whole has the kinds of functions whose names, without the prefix, are known as a whole. Other
// functions are recognised by the words in their names (kindOf).
var whole = map[string]kind{
	"barrier_all": {collective: true, together: true, world: true},
	"sync_all":    {collective: true, together: true, world: true},
	"barrier":     {collective: true, together: true},
	"sync":        {collective: true, together: true},
	"team_sync":   {collective: true, together: true},
	// The functions that make and destroy teams are collective over the parent team, and those that
	// allocate over the job.
	"team_split_strided": {collective: true},
	"team_split_2d":      {collective: true},
	"team_destroy":       {collective: true},
	"malloc":             {collective: true, together: true, world: true},
	"malloc_with_hints":  {collective: true, together: true, world: true},
	"calloc":             {collective: true, together: true, world: true},
	"align":              {collective: true, together: true, world: true},
	"realloc":            {collective: true, together: true, world: true},
	"free":               {collective: true, together: true, world: true},
	"init":               {collective: true, together: true, world: true, start: true, family: "init"},
	"init_thread":        {collective: true, together: true, world: true, start: true, family: "init"},
	"init_attr":          {collective: true, together: true, world: true, start: true, family: "init"},
	"hostlib_init_attr":  {collective: true, together: true, world: true, start: true, family: "init"},
	"finalize":           {collective: true, together: true, world: true, family: "finalize"},
	"hostlib_finalize":   {collective: true, together: true, world: true, family: "finalize"},
	"start_pes":          {collective: true, together: true, world: true, start: true, family: "init"},
	"shmalloc":           {collective: true, together: true, world: true},
	"shmemalign":         {collective: true, together: true, world: true},
	"shrealloc":          {collective: true, together: true, world: true},
	"shfree":             {collective: true, together: true, world: true},
}

// collectives are words in the names of functions that move data among the PEs of a team. Whether a
// PE may leave before another arrives depends on the function, its root and its algorithm.
var collectives = []string{"broadcast", "collect", "fcollect", "alltoall", "alltoalls", "reduce", "reducescatter", "inscan", "exscan"}

// updating are words in the names of functions that write to memory of another PE.
var updating = []string{"put", "iput", "ibput", "p", "signal", "atomic", "add", "inc", "swap", "cswap", "fadd", "finc", "set", "send"}

// kindOf returns the kind of a function, by its name: the name may have the prefixes of OpenSHMEM,
// its profiling interface, NVSHMEM and extensions. Other names have the empty kind.
func kindOf(name string) kind {
	s := strings.TrimPrefix(strings.TrimPrefix(name, "p"), "nv")
	for _, prefix := range []string{"shmemx_", "shmem_"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			s = rest
			break
		}
	}
	if strings.HasSuffix(s, "_on_stream") { // it ends when the stream has accepted it
		return kind{}
	}
	if k, ok := whole[s]; ok {
		if k.family == "" {
			k.family = name
		}
		return k
	}
	data := kind{collective: true, data: true, family: name}
	if strings.HasSuffix(s, "_to_all") {
		return data
	}
	updates := false
	for _, word := range strings.Split(s, "_") {
		word = strings.TrimRight(word, "0123456789")
		switch {
		case slices.Contains(collectives, strings.TrimSuffix(word, "mem")):
			return data
		case word == "wait" || word == "recv":
			return kind{waits: true}
		case slices.Contains(updating, strings.TrimSuffix(word, "mem")):
			updates = true
		}
	}
	return kind{updates: updates && !strings.HasSuffix(s, "atomic_fetch")} // which only reads
}

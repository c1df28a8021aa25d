package program

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestMeaning(t *testing.T) {
	for name, want := range map[string]Meaning{
		"shmem_putmem":                             {Kind: Put},
		"shmem_ctx_double_put_nbi":                 {Kind: Put, Element: 8, NBI: true, Context: true},
		"shmem_put32":                              {Kind: Put, Element: 4},
		"shmem_ctx_put128_signal_nbi":              {Kind: SignalledPut, Element: 16, NBI: true, Context: true},
		"shmem_int_p":                              {Kind: Put, Element: 4},
		"shmem_ctx_double_iput":                    {Kind: Put, Element: 8, Strided: true, Context: true},
		"shmem_get8_nbi":                           {Kind: Get, Element: 1, NBI: true},
		"nvshmem_float_g":                          {Kind: Get, Element: 4},
		"nvshmemx_signal_op":                       {Kind: Atomic},
		"shmem_ctx_uint64_atomic_inc":              {Kind: Atomic, Element: 8, Context: true},
		"shmem_int_atomic_fetch_add_nbi":           {Kind: Fetch, Element: 4, NBI: true},
		"shmem_long_cswap":                         {Kind: Fetch, Element: 8},
		"shmem_signal_wait_until":                  {Kind: Wait, Signals: true},
		"shmem_uint64_wait_until_all_vector":       {Kind: Wait, Element: 8},
		"shmem_ctx_quiet":                          {Kind: Quiet, Context: true},
		"shmem_barrier_all":                        {Kind: Barrier},
		"shmem_team_sync":                          {Kind: Sync},
		"shmem_double_sum_reduce":                  {Kind: Reduce, Element: 8},
		"shmem_int_and_to_all":                     {Kind: Reduce, Element: 4},
		"shmem_broadcast64":                        {Kind: Broadcast, Element: 8},
		"shmem_alltoalls32":                        {Kind: AllToAll, Element: 4, Strided: true},
		"shmem_calloc":                             {Kind: Exchange},
		"shmem_ctx_create":                         {Kind: Local, Context: true},
		"shmem_int_test":                           {Kind: Local, Element: 4},
		"shmem_init_thread":                        {Kind: Init},
		"shmem_set_lock":                           {},
		"shmemx_putmem_signal_nbi_on_stream":       {},
		"MPI_Send":                                 {},
		"pshmem_uint64_atomic_compare_swap_nbi":    {Kind: Fetch, Element: 8, NBI: true},
		"shmemx_ctx_putmem_notify_nbi":             {Kind: SignalledPut, NBI: true, Context: true},
		"shmem_ctx_signal_add":                     {Kind: Atomic, Context: true},
		"nvshmem_team_split_strided":               {Kind: Exchange},
		"nvshmem_double_sum_reducescatter_unknown": {Kind: Local, Element: 8},
	} {
		if got := MeaningOf(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// declaration is a function of the public headers, with its parameters.
var declaration = regexp.MustCompile(`(?s)\b(shmemx?_[a-z0-9_]+)\(([^()]*)\)\s*(?:SHMEM[A-Z_]*(?:\([^)]*\))?\s*)*;`)

// Every function of the headers that names a PE goes to that PE, and every one of a team's calls
// with data is a collective. Collectives that ask without a message are named here.
func TestHeaders(t *testing.T) {
	asks := regexp.MustCompile(`_ptr$|_accessible$|translate_pe|pe_quiet|_lock$|on_stream|eager|pcntr|signal_fetch|error|survivors|put_ordered|send|recv|unsupported`)
	functions := 0
	for _, header := range []string{"shmem.h", "shmemx.h"} {
		text, err := os.ReadFile("../../../../include/" + header)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range declaration.FindAllStringSubmatch(string(text), -1) {
			name, parameters := d[1], d[2]
			if asks.MatchString(name) {
				continue
			}
			functions++
			m := MeaningOf(name)
			if strings.Contains(parameters, "int pe") && !m.Kind.Updates() && m.Kind != Get && !strings.Contains(parameters, "PE_start") {
				t.Errorf("%s names a PE and is of kind %v", name, m.Kind)
			}
			if strings.Contains(parameters, "team") && strings.Contains(parameters, "dest") && !m.Kind.Collective() {
				t.Errorf("%s has a team and is of kind %v", name, m.Kind)
			}
			if m.Kind == Unknown {
				t.Errorf("%s is of no kind", name)
			}
		}
	}
	if functions < 2000 {
		t.Errorf("the headers have %d functions", functions)
	}
}

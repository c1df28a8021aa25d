package spec

import "strings"

// A quorum is how many variables of an array must satisfy the comparison of a call: all, any or
// some.
type quorum struct {
	name        string // all in wait_until_all
	result      string // C type
	waitDoc     string // Doc of the call that waits
	testDoc     string // Doc of the call that tests
	waitReturns string // Returns of the call that waits; empty: it has no result
	testReturns string // Returns of the call that tests

	kernels string // the condition, in the Doc for kernels
}

var quorums = []quorum{
	{
		name:        "all",
		waitDoc:     "Waits until every variable of an array has satisfied the comparison. It returns at once when the array is empty or every variable is ignored.",
		testDoc:     "Reports at once whether every variable of an array satisfies the comparison.",
		testReturns: "1 or 0; 1 when the array is empty or every variable is ignored.",
		result:      "int",

		kernels: "all words satisfy the comparison",
	},
	{
		name: "any", result: "size_t",
		waitDoc: "Waits until one variable of an array satisfies the comparison. When several do, the calls " +
			"return them in turn.",
		testDoc: "Finds a variable of an array that satisfies the comparison, without waiting. When several do, " +
			"the calls return them in turn.",
		waitReturns: "The index of the variable; SIZE_MAX at once when there is none to wait for.",
		testReturns: "The index of the variable, or SIZE_MAX.",

		kernels: "one word satisfies the comparison, and returns its index; SIZE_MAX if none does",
	},
	{
		name: "some", result: "size_t",
		waitDoc:     "Waits until at least one variable of an array satisfies the comparison, and lists all that do.",
		testDoc:     "Lists the variables of an array that satisfy the comparison, without waiting.",
		waitReturns: "How many indices were written; 0 at once when there is no variable to wait for.",
		testReturns: "How many indices were written.",

		kernels: "some words satisfy the comparison, writes their indices, and returns how many",
	},
}

var (
	setVars   = Param{Name: "ivars", C: "T *", Role: Watched, Doc: "changed by other PEs"}
	setNelems = Param{Name: "nelems", C: "size_t", Unit: "elements", Doc: "of ivars"}
	setPlaces = Param{Name: "indices", C: "size_t *", Role: Result, Doc: "room for nelems indices; each is " +
		"written once, in ascending order"}
	setMask = Param{Name: "status", C: "const int *", Role: Source, Doc: "for each variable, non-zero " +
		"if it is ignored; NULL: none is ignored"}
	streamMask = Param{Name: "status", C: "const int *", Role: Source, Doc: "for each element, non-zero if it is " +
		"ignored; NULL: none is. The GPU reads it while the stream waits: it must be in memory that the GPU reaches, and unchanged until the wait has ended"}
	setValues = Param{Name: "cmp_values", C: "const T *", Role: Source, Doc: "right-hand side of the " +
		"comparison for each variable"}
)

// waitSets returns the twelve rows over arrays: wait and test, for all, any and some variables,
// with one value to compare with or one for each variable.
func waitSets() []Family {
	var out []Family
	for _, waits := range []bool{true, false} {
		for _, q := range quorums {
			for _, each := range []bool{false, true} {
				out = append(out, waitSet(q, waits, each))
			}
		}
	}
	return out
}

// whenNULL names the parameters, for the errors of a call, that must not be NULL.
func whenNULL(q quorum, each bool) string {
	var names []string
	if q.name == "some" {
		names = append(names, "indices")
	}
	if each {
		names = append(names, "cmp_values")
	}
	if len(names) == 0 {
		return ""
	}
	return "when " + strings.Join(names, " or ") + " is NULL, "
}

// waitSet returns the table row of a wait or test over an array of variables. q has the texts for
// "all", "any" or "some". waits: the function waits, else it tests. each: each variable has its own
// value to compare with.
func waitSet(q quorum, waits, each bool) Family {
	f := Family{
		Name: "test_" + q.name, Section: "SHMEM_TEST_", Since: "0.1", Range: RangeTest,
		Types: AMOTypes, Result: q.result, Returns: q.testReturns, Doc: q.testDoc,
		Order: "As wait_until.",
		Errors: "Ends the job when ivars is not symmetric, when cmp is not a comparison, " + whenNULL(q, each) +
			"and when called before init or after finalize.",
		Params: []Param{setVars, setNelems},
		Check:  CheckSet,
	}
	verb := "test"
	if waits {
		f.Name, f.Section, verb = "wait_until_"+q.name, "SHMEM_WAIT_UNTIL_", "wait"
		f.Doc, f.Returns, f.Range = q.waitDoc, q.waitReturns, RangeWait
		if q.waitReturns == "" {
			f.Result = ""
		}
	}
	f.Section += map[string]string{"all": "ALL", "any": "ANY", "some": "SOME"}[q.name]
	indices := ""
	if q.name == "some" {
		f.Params, indices = append(f.Params, setPlaces), "indices, "
	}
	f.Params = append(f.Params, setMask, waitCmp)
	values := "&cmp_value, false"
	if each {
		f.Name, f.Section = f.Name+"_vector", f.Section+"_VECTOR"
		f.Params, values = append(f.Params, setValues), "cmp_values, true"
	} else {
		f.Params = append(f.Params, waitValue)
	}
	f.Front = "shmemi_" + verb + "_" + q.name + "(ivars, nelems, " + indices + "status, cmp, " + values +
		", SHMEMI_KIND_$S, $call)"
	f.Kernel = []Kernel{q.kernel(verb, each)}
	if waits && q.name == "all" {
		f.Stream = allOnStream(each)
	}
	return f
}

// kernel returns the kernels' form of a function over an array of variables. verb is wait or test,
// and each says that each variable has its own value to compare with.
func (q quorum) kernel(verb string, each bool) Kernel {
	indices, values := "", "&cmp_value, 0"
	if q.name == "some" {
		indices = ", indices"
	}
	if each {
		values = "cmp_values, 1"
	}
	k := Kernel{
		Types: KernelWaitTypes,
		Body: "shmemi_" + verb + "_" + q.name + "<$T>($job, $call, shmemi_words_of<$T>(ivars, nelems, status, cmp, " + values +
			")" + indices + ")",
		Doc: map[string]string{"wait": "Waits until ", "test": "Reports whether "}[verb] + q.kernels + ".",
	}
	if each {
		k.Doc = "The same, each word with a right-hand side of its own."
	}
	return k
}

// allOnStream returns the form on a stream of wait_until_all, or, if each is true, of
// wait_until_all_vector.
func allOnStream(each bool) *Stream {
	s := &Stream{
		Types: KernelWaitTypes, Range: RangeWaitOnStream,
		Front:  "shmemi_stream_wait(ivars, nelems, status, cmp, &cmp_value, NULL, $element, stream, $call)",
		Doc:    "Makes the stream wait until all elements that are not ignored satisfy the comparison.",
		Params: []Param{setVars, setNelems, streamMask, waitCmp, waitValue},
	}
	if each {
		s.Front = "shmemi_stream_wait(ivars, nelems, status, cmp, NULL, cmp_values, $element, stream, $call)"
		s.Doc = "Makes the stream wait until all elements that are not ignored satisfy the comparison, each with a value of its own."
		s.Params[4] = Param{Name: "cmp_values", C: "T *", Role: Source, Doc: "right-hand side for each element; in memory as that of status"}
	}
	return s
}

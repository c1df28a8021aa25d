package spec

// Waits and tests of several words differ in three things: whether they wait,
// how many words must compare as asked, and whether each has a right-hand side
// of its own.

var (
	waitVars    = Param{Name: "ivars", C: "T *", Role: Watched, Doc: "changed by other PEs"}
	waitCount   = Param{Name: "nelems", C: "size_t"}
	waitIndices = Param{Name: "indices", C: "size_t *", Role: Result}
	waitStatus  = Param{Name: "status", C: "const int *", Doc: "not 0: the word is left out; may be NULL"}
	waitValues  = Param{Name: "cmp_values", C: "const T *", Doc: "a right-hand side for each word"}
)

var deviceWait = DeviceChapter{
	File: "wait", Over: "wait.h", Doc: "waits and tests",
	Families: append([]DeviceFamily{
		{
			Name: "wait_until", Types: DeviceWaitTypes,
			Params: []Param{waitVar, waitCmp, waitValue},
			Body:   "(void)shmemi_wait<$T>($job, $call, ivar, cmp, cmp_value)",
			Doc:    "Waits until a word of this PE compares as asked.",
		},
		{
			Name: "test", Types: DeviceWaitTypes, Result: "int",
			Params: []Param{waitVar, waitCmp, waitValue},
			Body:   "shmemi_test<$T>($job, $call, ivar, cmp, cmp_value)",
			Doc:    "Tells whether it does.",
		},
		{
			Name: "signal_wait_until", Result: "uint64_t",
			Params: []Param{
				{Name: "sig_addr", C: "uint64_t *", Role: Watched}, waitCmp,
				{Name: "cmp_value", C: "uint64_t"},
			},
			Body: "shmemi_wait<uint64_t>($job, $call, sig_addr, cmp, cmp_value)",
			Doc:  "Waits until a signal of this PE compares as asked, and returns it.",
		},
	}, severalWords()...),
}

func severalWords() []DeviceFamily {
	var out []DeviceFamily
	for _, form := range []struct{ name, call, doc string }{
		{"wait_until", "wait", "Waits until "},
		{"test", "test", "Tells whether "},
	} {
		for _, many := range []struct{ name, result, doc string }{
			{"all", "", "all words compare as asked"},
			{"any", "size_t", "one word compares as asked; its index, or SIZE_MAX"},
			{"some", "size_t", "words compare as asked: how many, and which"},
		} {
			for _, vector := range []bool{false, true} {
				f := DeviceFamily{
					Name: form.name + "_" + many.name, Types: DeviceWaitTypes, Result: many.result,
					Params: []Param{waitVars, waitCount}, Doc: form.doc + many.doc + ".",
				}
				if form.name == "test" && many.name == "all" {
					f.Result = "int"
				}
				indices := ""
				if many.name == "some" {
					f.Params = append(f.Params, waitIndices)
					indices = ", indices"
				}
				values := "&cmp_value, 0"
				value := waitValue
				if vector {
					f.Name += "_vector"
					f.Doc = "The same, each word with a right-hand side of its own."
					value, values = waitValues, "cmp_values, 1"
				}
				f.Params = append(f.Params, waitStatus, waitCmp, value)
				f.Body = "shmemi_" + form.call + "_" + many.name + "<$T>($job, $call, shmemi_words_of<$T>(ivars, nelems, status, cmp, " + values + ")" + indices + ")"
				out = append(out, f)
			}
		}
	}
	return out
}

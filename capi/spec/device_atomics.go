package spec

var (
	// DeviceAMOReal: what else can be fetched, set and swapped.
	deviceExtended = append([]Type{}, ExtendedAMOTypes...)
	deviceReal     = []Type{tFloat, tDouble}
	deviceHalf     = []Type{tHalf}
)

var deviceAtomics = DeviceChapter{
	File: "atomics", Over: "atomic.h", Doc: "atomic operations",
	Families: []DeviceFamily{
		deviceAMO("fetch", deviceExtended, "T", []Param{amoSource}, "FETCH", "source, ($T)0, ($T)0"),
		deviceAMO("set", deviceExtended, "", []Param{amoDest, amoValue}, "SET", "dest, value, ($T)0"),
		deviceAMO("swap", deviceExtended, "T", []Param{amoDest, amoValue}, "SWAP", "dest, value, ($T)0"),
		deviceAMO("compare_swap", AMOTypes, "T",
			[]Param{amoDest, {Name: "cond", C: "T"}, {Name: "value", C: "T"}}, "CSWAP", "dest, value, cond"),
		deviceAMO("fetch_inc", AMOTypes, "T", []Param{amoDest}, "FETCH_ADD", "dest, ($T)1, ($T)0"),
		deviceAMO("inc", AMOTypes, "", []Param{amoDest}, "ADD", "dest, ($T)1, ($T)0"),
		deviceAMO("fetch_add", AMOTypes, "T", []Param{amoDest, amoValue}, "FETCH_ADD", "dest, value, ($T)0"),
		deviceAMO("add", AMOTypes, "", []Param{amoDest, amoValue}, "ADD", "dest, value, ($T)0"),
		deviceAMO("fetch_and", BitwiseAMOTypes, "T", []Param{amoDest, amoValue}, "FETCH_AND", "dest, value, ($T)0"),
		deviceAMO("and", BitwiseAMOTypes, "", []Param{amoDest, amoValue}, "AND", "dest, value, ($T)0"),
		deviceAMO("fetch_or", BitwiseAMOTypes, "T", []Param{amoDest, amoValue}, "FETCH_OR", "dest, value, ($T)0"),
		deviceAMO("or", BitwiseAMOTypes, "", []Param{amoDest, amoValue}, "OR", "dest, value, ($T)0"),
		deviceAMO("fetch_xor", BitwiseAMOTypes, "T", []Param{amoDest, amoValue}, "FETCH_XOR", "dest, value, ($T)0"),
		deviceAMO("xor", BitwiseAMOTypes, "", []Param{amoDest, amoValue}, "XOR", "dest, value, ($T)0"),

		// What the specification does not have: sums of floating-point numbers,
		// and half precision.
		deviceSum("fetch_add", deviceReal, "T", "shmemi_fetch_add_real<$T>($job, $call, dest, value, pe)"),
		deviceSum("add", deviceReal, "", "shmemi_add_real<$T>($job, $call, dest, value, pe)"),
		deviceSum("fetch_add", deviceHalf, "T", "shmemi_fetch_add_half<$T>($job, $call, dest, value, pe)"),
		deviceSum("add", deviceHalf, "", "(void)shmemi_fetch_add_half<$T>($job, $call, dest, value, pe)"),
		{
			Name: "atomic_fetch", Types: deviceHalf, Contexts: true, Result: "T",
			Params: []Param{amoSource, paramPE},
			Body:   "shmemi_g<$T>($job, $call, source, pe)",
			Doc:    "Half precision.",
		},
		{
			Name: "atomic_set", Types: deviceHalf, Contexts: true,
			Params: []Param{amoDest, amoValue, paramPE},
			Body:   "shmemi_set_half<$T>($job, $call, dest, value, pe)",
			Doc:    "Half precision.",
		},
		{
			Name: "atomic_swap", Types: deviceHalf, Contexts: true, Result: "T",
			Params: []Param{amoDest, amoValue, paramPE},
			Body:   "shmemi_swap_half<$T>($job, $call, dest, value, pe)",
			Doc:    "Half precision.",
		},
	},
}

func deviceAMO(name string, types []Type, result string, params []Param, kind, args string) DeviceFamily {
	body := "shmemi_amo<SHMEMI_KIND_" + kind + ", $T>($job, $call, " + args + ", pe)"
	if result == "" {
		body = "(void)" + body
	}
	return DeviceFamily{
		Name: "atomic_" + name, Types: types, Contexts: true, Result: result,
		Params: append(params, paramPE), Body: body,
		Doc: "As the host's; in no order with other operations.",
	}
}

func deviceSum(name string, types []Type, result, body string) DeviceFamily {
	return DeviceFamily{
		Name: "atomic_" + name, Types: types, X: true, Result: result,
		Params: []Param{amoDest, amoValue, paramPE}, Body: body,
		Doc: "A sum of floating-point numbers, rounded at each addition.",
	}
}

package tracetest

import (
	"strings"
	"testing"
)

const good = `[
{"ph":"M","name":"process_name","pid":3,"tid":0,"args":{"name":"PE 3"}},
{"ph":"M","name":"thread_name","pid":3,"tid":1,"args":{"name":"endpoint 0"}},
{"ph":"b","name":"write","pid":3,"tid":1,"ts":10.250,"cat":"NIC","id":"3.1","args":{}},
{"ph":"X","name":"send","pid":3,"tid":1,"ts":10.000,"dur":2.500,"args":{"to":1}},
{"ph":"X","name":"ring","pid":3,"tid":1,"ts":10,"dur":3.000},
{"ph":"X","name":"poll","pid":3,"tid":1,"ts":13.000,"dur":0.000},
{"ph":"e","name":"write","pid":3,"tid":1,"ts":12.000,"cat":"NIC","id":"3.1"},
{"ph":"i","name":"full","pid":3,"tid":1,"ts":14,"s":"t"}
]
`

// TestCheck: a sound trace passes, and one change makes it wrong.
func TestCheck(t *testing.T) {
	if all, err := Check([]byte(good)); err != nil || len(all) != 8 {
		t.Fatalf("%d events, %v", len(all), err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"\n]\n", "\n", "no array of events"},
		{"]\n", "] 1", "something follows"},
		{`"ph":"i"`, `"phase":"i"`, "unknown field"},
		{`"name":"poll"`, `"name":""`, "event 5: it has no name"},
		{`"name":"send","pid":3`, `"name":"send"`, "event 3: it has no name, pid"},
		{`{"name":"PE 3"}`, `{"name":""}`, "a label is one text"},
		{`"thread_name","pid":3,"tid":1`, `"thread_name","pid":3,"tid":2`, "thread 1 has no name yet"},
		{`"process_name","pid":3`, `"process_name","pid":4`, "process 3 has no name yet"},
		{`"thread_name"`, `"process_name"`, "is there twice"},
		{`"ts":10.250`, `"ts":10.2501`, "finer than a nanosecond"},
		{`"ts":10.250`, `"ts":1790000000000000.333`, "is another number in 64 bits"},
		{`"ts":10.250`, `"ts":-1`, "below 0"},
		{`"ts":10.250`, `"ts":"x"`, "no array of events"},
		{`"dur":2.500`, `"dur":-1`, "below 0"},
		{`"ts":10.000,"dur":2.500`, `"ts":11.000,"dur":2.500`, "overlap"},
		{`"ts":13.000,"dur":0.000`, `"ts":12.999,"dur":0.002`, "overlap"},
		{`"dur":3.000}`, `"s":"t"}`, "has wrong fields"},
		{`"cat":"NIC","id":"3.1","args"`, `"cat":"NIC","id":"3.2","args"`, "ends before it begins"},
		{`"name":"write","pid":3,"tid":1,"ts":12`, `"name":"read","pid":3,"tid":1,"ts":12`, "begins and does not end"},
		{`"ts":12.000`, `"ts":10.000`, "ends 250 ns before its begin"},
		{`"ph":"e"`, `"ph":"b"`, "begins twice"},
		{`"ph":"i"`, `"ph":"B"`, "has wrong fields"},
	} {
		_, err := Check([]byte(strings.Replace(good, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, want %s", c.to, c.from, err, c.want)
		}
	}
}

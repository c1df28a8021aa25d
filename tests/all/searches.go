package main

// searches returns the long stages of make test-full.
func searches(goTest string) []stage {
	again := goTest + " -count=1 "
	// search runs a program of make searches, a process a processor: the parts of a search are
	// independent of each other.
	search := func(program, arguments string) string {
		return "make --no-print-directory -s searches && scripts/parts $(nproc) $BUILD/search/" + program + " " + arguments
	}
	rows := []stage{
		{name: "programs of others", limit: minutes(30), run: goTest + " ./tests/examples -run TestRealPrograms -whole"},
		// With the loads of a push.
		{name: "Debian 13", limit: minutes(180), run: "env -u TESTS -u MADE " + again + "-p 1 -exec $PWD/scripts/debian ./tests/run ./tests/launchers ./tests/redirect"},
		{name: "release", limit: minutes(60), run: "scripts/roots && " + again + "-timeout 60m ./tests/install -run '^TestRelease$' -whole"},
		{name: "standstills", limit: minutes(150), run: again + "-timeout 150m ./tests/run -run TestStandstill -whole"},
		{name: "conformance", limit: minutes(60), run: goTest + " ./tests/run -run TestWhole -whole"},
		{name: "conformance, NICs", limit: minutes(90), run: goTest + " -timeout 90m ./tests/run -run '^TestStubNICs$' -whole"},
		{name: "loads, NICs", limit: minutes(180), run: again + "-timeout 180m ./tests/run -run '^(TestStubLoads|TestStubStandstill|TestIdle)$' -whole"},
		{name: "orders, 10^9", limit: minutes(100), run: search("proxy.test", "-test.run='^TestSimOrder$' -sim.part=% -sim.ops=1000000000 -test.timeout=100m")},
		{name: "orders, paths", limit: minutes(60), run: search("proxy.test", "-test.run='^TestSimExplore$' -sim.part=% -sim.paths=200000 -test.timeout=60m")},
		{name: "orders, states", limit: minutes(60), run: search("sequence.test", "-test.run=TestExploreEvery -order.part=% -order.length=7 -test.timeout=60m")},
		{name: "orders, all", limit: minutes(20), run: goTest + " ./runtime/proxy -run TestSim -sim.senders=1000"},
		{name: "efa, long jobs", limit: minutes(30), run: again + "./tests/efa -run 'TestNeeds/(jobs|D1)' -whole"},
		{name: "losses, seeds", limit: minutes(30), run: goTest + " ./tests/failure -run 'TestTeams|TestLocks' -seeds=20"},
		{name: "losses, NICs", limit: minutes(120), run: again + "-timeout 120m ./tests/failure -skip TestStrangerEndpoints -whole"},
		{name: "strangers", limit: minutes(30), run: again + "./tests/failure -run TestStrangerEndpoints -whole"},
		{name: "inits", limit: minutes(30), run: goTest + " ./runtime/bootstrap/uid -run TestFaultProxy -inits=1000"},
		{name: "inits, programs", limit: minutes(30), run: again + "./tests/start -run TestFaultProxy -inits=1000"},
		{name: "plugin, 10^6", limit: minutes(60), run: goTest + " -timeout 60m ./tests/rma -run TestHarness -operations=1000000"},
		{name: "chaos", limit: minutes(20), run: goTest + " ./tests/run -run TestMissingFence -runs=100"},
		{name: "seeded defects, all", limit: minutes(120), run: again + "-timeout 120m ./tests/seeded -whole"},
		// Frames with random changes, 10^8 of each kind; and fuzzing, guided by coverage.
		{name: "frames, 10^8", limit: minutes(60), run: search("proxy.test", "-test.run='^TestSimFrames$' -sim.part=% -sim.frames=100000000 -test.timeout=60m")},
		{name: "launch frames, 10^8", limit: minutes(60), run: search("wire.test", "-test.run='^TestManyFrames$' -part=% -frames=100000000 -test.timeout=60m")},
		{name: "frames, fuzzed", limit: minutes(20), run: goTest + " ./runtime/proxy -run '^$' -fuzz FuzzFrames -fuzztime 5m"},
		{name: "messages, fuzzed", limit: minutes(20), run: goTest + " ./runtime/proxy -run '^$' -fuzz FuzzReceive -fuzztime 5m"},
		{name: "host files, fuzzed", limit: minutes(20), run: goTest + " ./runtime/bootstrap/launch/hostlist -run '^$' -fuzz FuzzParseFile -fuzztime 5m"},
		{name: "agent frames, fuzzed", limit: minutes(20), run: goTest + " ./runtime/bootstrap/launch/relay -run '^$' -fuzz FuzzRead -fuzztime 5m"},
		{name: "programs, fuzzed", limit: minutes(20), run: goTest + " ./runtime/doctor/program -run '^$' -fuzz FuzzExamine -fuzztime 2m"},
		{name: "launch frames, fuzzed", limit: minutes(20), run: goTest + " ./runtime/bootstrap/wire -run '^$' -fuzz FuzzRead -fuzztime 5m"},
	}
	for i := range rows {
		rows[i].after, rows[i].load = "build", alone
	}
	return rows
}

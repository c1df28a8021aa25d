package seeded

// The package of Python.
var pythonDefects = []defect{
	{
		id: "python/argument-by-its-name", file: "python/shmem/_collectives.py",
		was:  `check_pe(call, root, n, "root")`,
		is:   "check_pe(call, root, n)",
		user: "the error for a root that does not exist names the argument pe, which broadcast lacks",
		by:   pes("-n 2", "test_collectives.py", "test_bad_collectives"), says: `(?s)test_bad_collectives: call failed.*broadcast pe=2: there are 2 PEs`,
	},
	{
		id: "python/element-behind-the-last", file: "python/shmem/_operands.py",
		was:  "    if not 0 <= i < size:",
		is:   "    if not 0 <= i <= size:",
		user: "shmem.p with index=len(array) writes behind the array",
		by:   pes("-n 2", "test_rma.py", "test_bad_input"), says: `(?s)test_bad_input: call failed.*DID NOT RAISE SizeError`,
	},
	{
		id: "python/dest-too-short", file: "capi/gen/pythoncalls.go",
		was:  "		fmt.Sprintf(\"n <= %s.nbytes\", far.Name), \"dest.flags.\" + written,",
		is:   "		\"dest.flags.\" + written,",
		user: "shmem.put into a slice writes over what is behind it where source is longer",
		by:   pes("-n 2", "test_rma.py", "test_a_part_that_is_too_short"), says: `(?s)test_a_part_that_is_too_short: call failed.*DID NOT RAISE SizeError`, gen: true,
	},
	{
		id: "python/freed-and-still-known", file: "python/shmem/_blocks.py",
		was:  "def hide(block: Block) -> None:\n    \"\"\"Removes a block from the blocks that lookups find.\"\"\"\n    heap.low, heap.high = 1, 0\n",
		is:   "def hide(block: Block) -> None:\n    \"\"\"Removes a block from the blocks that lookups find.\"\"\"\n",
		user: "shmem.put to an array that was freed is not refused",
		by:   pes("-n 2", "test_arrays.py", "test_a_quick_call_after_free"), says: `(?s)test_a_quick_call_after_free: call failed.*DID NOT RAISE FreedError`,
	},
	{
		id: "python/rows-that-are-apart", file: "python/shmem/_strided.py",
		was:  "while dims and dims[-1][1] == blocks * to_step and dims[-1][2] == blocks * from_step:",
		is:   "while dims and dims[-1][1] == blocks * to_step:",
		user: "shmem.put of a slice of two dimensions copies other elements",
		by:   pes("-n 2", "test_rma.py", "test_random_slices"), says: `where np\.False_ = <built-in method all`,
	},
	{
		id: "python/fraction-is-cut-off", file: "python/shmem/_operands.py",
		was:  "            same = np.array_equal(out, value)\n",
		is:   "            same = True\n",
		user: "shmem.put of [1.5] into an int64 writes 1",
		by:   pes("-n 2", "test_rma.py", "test_numbers_that_do_not_fit"), says: `(?s)test_numbers_that_do_not_fit: call failed.*DID NOT RAISE DtypeError`,
	},
	{
		id: "python/any-number-is-quick", file: "capi/gen/pythoncalls.go",
		was:  "all = append(all, \"type(\"+v+\") is of\", \"low <= \"+v+\" <= high\")",
		is:   "all = append(all, \"type(\"+v+\") is of\")",
		user: "shmem.atomic_add of 1 << 31 to an int32 adds another number",
		by:   pes("-n 2", "test_sync.py", "test_bad_operands"), says: `(?s)test_bad_operands: call failed.*DID NOT RAISE DtypeError`, gen: true,
	},
	{
		id: "python/temporary-is-freed", file: "capi/gen/pythoncalls.go",
		was:  "	if c.nbi {\n		b.add(2, \"ctx.keep(whole)\")\n	} else if !signals {",
		is:   "	if !c.nbi && !signals {",
		user: "put_nbi of a temporary array sends what was allocated in its place",
		by:   pes("-n 2 --hosts 2", "test_rma.py", "test_nonblocking"), says: `(?s)test_nonblocking\[\d+\]: call failed.*assert False`, gen: true,
	},
	{
		id: "python/blocks-of-an-allgather", file: "python/shmem/_collectives.py",
		was:  "    _need(call, \"dest\", to, n * data.size)\n    _apart(call, address, n * data.nbytes, origin",
		is:   "    _need(call, \"dest\", to, data.size)\n    _apart(call, address, n * data.nbytes, origin",
		user: "shmem.fcollect into a short array ends the job and raises nothing",
		by:   pes("-n 2", "test_collectives.py", "test_bad_collectives"), says: `(?s)test_bad_collectives: call failed.*DID NOT RAISE SizeError`,
	},
	{
		id: "python/dest-before-source", file: "python/shmem/_collectives.py",
		was:  "    if address < origin + read and origin < address + written:",
		is:   "    if origin <= address < origin + read:",
		user: "a collective whose dest begins before source and ends in it is not refused",
		by:   pes("-n 2", "test_collectives.py", "test_operands_that_overlap"), says: `(?s)test_operands_that_overlap: call failed.*DID NOT RAISE SizeError`,
	},
	{
		id: "python/not-in-the-team", file: "python/shmem/_teams.py",
		was:  "        return None if number < 0 else number\n",
		is:   "        return number\n",
		user: "Team.translate_pe answers -1, which numpy takes for the last",
		by:   pes("-n 4", "test_collectives.py", "test_teams"), says: `(?s)test_teams: call failed.*assert .* or -1 is None`,
	},
	{
		id: "python/first-slot-of-a-word", file: "python/shmem/_reclaim.py",
		was:  "    words = (len(heap.slots) + len(heap.free_slots) + _WORD - 1) // _WORD\n",
		is:   "    words = max(1, (len(heap.slots) + len(heap.free_slots)) // _WORD)\n",
		user: "with more than 64 arrays a collective call ends in an IndexError",
		by:   pes("-n 2", "test_arrays.py", "test_more_arrays_than_a_word_has_bits"), says: `(?s)test_more_arrays_than_a_word_has_bits: call failed.*IndexError: list index out of range`,
	},
}

package bad

import "testing"

var (
	noCounter = ` does not exist, there are 4096 \(use 0 to SHMEM_NOTIFY_COUNT - 1, or set that higher\)`
	beyond    = ` is beyond the range of a counter \(use 0 to 2\^63 - 1\)`
)

var notifyRows = []row{
	{what: "put_counter", status: aborted, say: []string{`PE \d: shmemx_putmem_notify: notification counter 4096` + noCounter}},
	{what: "put_counter", env: []string{"SHMEM_CHECKS=off"}, status: aborted, say: []string{`PE \d: shmemx_putmem_notify: notification counter 4096` + noCounter}},
	{what: "put_negative", status: aborted, say: []string{`PE \d: shmemx_putmem_notify_nbi: notification counter -1` + noCounter}},
	{what: "put_few", env: []string{"SHMEM_NOTIFY_COUNT=8"}, status: aborted, say: []string{`PE \d: shmemx_putmem_notify: notification counter 8 does not exist, there are 8`}},
	{what: "put_wrong_pe", status: aborted, say: []string{`PE \d: shmemx_putmem_notify: PE 2 does not exist, there are 2`}},
	{what: "put_private", status: aborted, say: []string{`PE \d: shmemx_putmem_notify: 0x\w+ is not a symmetric address`}},
	{what: "put_null_source", status: aborted, say: []string{`PE \d: shmemx_putmem_notify: the local source is NULL \(pass memory of this PE\)`}},
	{what: "put_unallocated", env: full, status: aborted, say: []string{`PE \d: shmemx_putmem_notify: notification counter 3 is not in an allocated range \(use the counters that shmemx_notify_alloc returned\)`}},
	{what: "put_freed", env: full, status: aborted, say: []string{`PE \d: shmemx_putmem_notify: notification counter 0 is not in an allocated range`}},
	{what: "put_before_alloc", env: full, status: 0, say: []string{`PE 0 went on`, `PE 1 went on`}},
	{what: "wait_counter", status: aborted, say: []string{`PE \d: shmemx_notify_wait: notification counter 4096` + noCounter}},
	{what: "wait_overflow", status: aborted, say: []string{`PE \d: shmemx_notify_wait: the count 9223372036854775808` + beyond}},
	{what: "test_overflow", status: aborted, say: []string{`PE \d: shmemx_notify_test: the count 18446744073709551615` + beyond}},
	{what: "fetch_counter", status: aborted, say: []string{`PE \d: shmemx_notify_fetch: notification counter -7` + noCounter}},
	{what: "reset_counter", status: aborted, say: []string{`PE \d: shmemx_notify_reset: notification counter 5000` + noCounter}},
	{what: "reset_overflow", status: aborted, say: []string{`PE \d: shmemx_notify_reset: the value 9223372036854775808` + beyond}},
	{what: "alloc_none", status: aborted, say: []string{`PE \d: shmemx_notify_alloc: 0 counters are no range \(ask for 1 or more\)`}},
	{what: "alloc_differs", status: aborted, say: []string{`PE \d: shmemx_notify_alloc: the number of counters is 1 on a PE and 2 on another \(pass the same on every PE\)`}},
	{what: "free_inside", status: aborted, say: []string{`PE \d: shmemx_notify_free: no range of notification counters begins at 1 \(free each range once, by the result of shmemx_notify_alloc\)`}},
	{what: "free_differs", status: aborted, say: []string{`PE \d: shmemx_notify_free: the first counter is 0 on a PE and 3 on another`}},
	{what: "free_twice", status: aborted, say: []string{`PE \d: shmemx_notify_free: no range of notification counters begins at 0`}},
	{what: "after_finalize", status: aborted, say: []string{uninitialised("shmemx_putmem_notify")}},
	{what: "wait_after_finalize", status: aborted, say: []string{uninitialised("shmemx_notify_wait")}},
	{what: "hang", env: []string{"SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 0: shmemx_notify_wait has waited \d+ s: for notification counter 3 >= 1, now 0 \(the wait goes on\)`}},
	{what: "nothing", env: []string{"SHMEM_NOTIFY_COUNT=0"}, status: 1, say: []string{`shmem: shmem_init: .*SHMEM_NOTIFY_COUNT.*from 1 to 65535`}},
	{what: "nothing", env: []string{"SHMEM_NOTIFY_COUNT=65536"}, status: 1, say: []string{`shmem: shmem_init: .*SHMEM_NOTIFY_COUNT.*from 1 to 65535`}},
	{what: "nothing", env: []string{"SHMEM_NOTIFY_COUNT=65535"}, status: 0},
}

func TestNotify(t *testing.T) { runRows(t, "notify", notifyRows) }

// notifyOnStreams are the rows of calls on streams, which a fake GPU suffices for.
var notifyOnStreams = []row{
	{what: "stream_counter", status: aborted, say: []string{`PE \d: shmemx_putmem_notify_on_stream: notification counter 4096` + noCounter}},
	{what: "stream_null_source", status: aborted, say: []string{`PE \d: shmemx_putmem_notify_nbi_on_stream: the local source is NULL \(pass memory of this PE\)`}},
	{what: "stream_wrong_pe", status: aborted, say: []string{`PE \d: shmemx_putmem_notify_on_stream: PE -1 does not exist, there are 2`}},
	{what: "stream_overflow", status: aborted, say: []string{`PE \d: shmemx_notify_wait_on_stream: the count 9223372036854775808` + beyond}},
	{what: "stream_reset", status: aborted, say: []string{`PE \d: shmemx_notify_reset_on_stream: notification counter -1` + noCounter}},
	{what: "stream_unallocated", env: full, status: aborted, say: []string{`PE \d: shmemx_notify_wait_on_stream: notification counter 2 is not in an allocated range`}},
}

func TestNotifyOnStreams(t *testing.T) { runOnGPU(t, "notify", notifyOnStreams) }

package bad

import "testing"

var (
	noTag = ` is out of range \(use 0 to 2\^31 - 1\)`
	noPE  = ` does not exist, there are 2 \(use 0 to shmem_n_pes\(\) - 1\)`
)

var messageRows = []row{
	{what: "send_wrong_pe", only: onNode, status: aborted, say: []string{`PE \d: shmemx_send: PE 2` + noPE}},
	{what: "send_wrong_pe", only: onNode, env: []string{"SHMEM_CHECKS=off"}, status: aborted, say: []string{`PE \d: shmemx_send: PE 2` + noPE}},
	{what: "send_any_source", only: onNode, status: aborted, say: []string{`PE \d: shmemx_send_test: PE -1` + noPE}},
	{what: "send_any_tag", only: onNode, status: aborted, say: []string{`PE \d: shmemx_send: tag -1` + noTag}},
	{what: "send_tag", only: onNode, status: aborted, say: []string{`PE \d: shmemx_send_test: tag -5` + noTag}},
	{what: "send_null", only: onNode, status: aborted, say: []string{`PE \d: shmemx_send: buf is NULL, with 8 bytes \(pass memory of this PE\)`}},
	{what: "send_size", only: onNode, status: aborted, say: []string{`PE \d: shmemx_send: a message cannot have 281474976710656 bytes, 2\^48 - 1 is the most \(check the size`}},
	{what: "send_negative_size", only: onNode, status: aborted, say: []string{`PE \d: shmemx_send_test: a message cannot have 18446744073709551608 bytes`}},
	{what: "recv_wrong_pe", only: onNode, status: aborted, say: []string{`PE \d: shmemx_recv: PE 2` + noPE}},
	{what: "recv_negative_pe", only: onNode, status: aborted, say: []string{`PE \d: shmemx_recv_test: PE -2` + noPE}},
	{what: "recv_tag", only: onNode, status: aborted, say: []string{`PE \d: shmemx_recv: tag -2 is out of range \(use 0 to 2\^31 - 1, or SHMEMX_ANY_TAG\)`}},
	{what: "recv_null", only: onNode, status: aborted, say: []string{`PE \d: shmemx_recv_test: buf is NULL, with a capacity of 8 bytes`}},
	{what: "send_after_finalize", only: onNode, status: aborted, say: []string{uninitialised("shmemx_send")}},
	{what: "recv_after_finalize", only: onNode, status: aborted, say: []string{uninitialised("shmemx_recv")}},
	{what: "too_short", status: 0, say: []string{
		`PE 0: error 4: shmemx_recv: the message with tag 9 of PE 1 has 8 bytes, and the buffer has 3 \(pass a larger one: the message can still be received\)`,
		`PE 0 went on`, `PE 1 went on`,
	}},
	{what: "hang_recv", env: []string{"SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 0: shmemx_recv has waited \d+ s: for a message with tag 4 of PE 1; 0 with other tags are there.*\(the wait goes on\)`}},
	{what: "hang_recv_any", env: []string{"SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 0: shmemx_recv has waited \d+ s: for a message with any tag of any PE; 0 with other tags`}},
	{what: "hang_send", env: []string{"SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 0: shmemx_send has waited \d+ s: for a receive of the message with tag 6, of which 0 of 5000 bytes are sent, by PE 1`}},
	{what: "hang_full", env: []string{"SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 0: shmemx_send has waited \d+ s: for room for a message with tag 6 of 80 bytes at PE 1, which has received too few`}},
	{what: "nothing", only: onNode, env: []string{"SHMEM_MESSAGE_MEMORY=63"}, status: 1, say: []string{`shmem: shmem_init: .*SHMEM_MESSAGE_MEMORY.*64`}},
	{what: "hang_full", env: []string{"SHMEM_MESSAGE_MEMORY=1k", "SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 0: shmemx_send has waited \d+ s: for room`}},
}

func TestMessages(t *testing.T) { runRows(t, "messages", messageRows) }

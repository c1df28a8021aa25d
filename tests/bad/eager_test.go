package bad

import (
	"testing"

	"libshmem/fabric/ofi/stub"
	"libshmem/tests/need"
)

var eagerRows = []row{
	{what: "eager_no_bytes", status: aborted, say: []string{`PE \d: shmemx_eager_create: a token of 0 bytes does not fit a slot \(use 1 to 2\^30\)`}},
	{what: "eager_too_large", only: onNode, status: aborted, say: []string{`PE \d: shmemx_eager_size: a token of 1073741825 bytes does not fit a slot`}},
	{what: "eager_no_slots", status: aborted, say: []string{`PE \d: shmemx_eager_create: there cannot be 0 slots \(use 1 to 2\^31 - 1\)`}},
	{what: "eager_no_tile", only: onNode, status: aborted, say: []string{`PE \d: shmemx_eager_size: there is no tile of 64 bytes \(use SHMEMX_EAGER_BLOCK, `}},
	{what: "eager_best_size", only: onNode, status: aborted, say: []string{`PE \d: shmemx_eager_size: there is no tile of -1 bytes`}},
	{what: "eager_no_place", only: onNode, status: aborted, say: []string{`PE \d: shmemx_eager_create: eager is NULL \(pass the address of a shmemx_eager_t\)`}},
	{what: "eager_sizes_differ", status: aborted, say: []string{`PE \d: shmemx_eager_create: nbytes is 64 on a PE and 65 on another \(pass the same on every PE\)`}},
	{what: "eager_counts_differ", status: aborted, say: []string{`PE \d: shmemx_eager_create: count is 4 on a PE and 5 on another`}},
	{what: "eager_tiles_differ", status: aborted, say: []string{`PE \d: shmemx_eager_create: tile is -1 on a PE and 0 on another`}},
	{what: "eager_wrong_pe", status: aborted, say: []string{`PE \d: shmemx_eager_send: PE 2 does not exist, there are 2`}},
	{what: "put_ordered_wrong_pe", status: aborted, say: []string{`PE \d: shmemx_put_ordered: PE 2 does not exist, there are 2 \(use 0 to shmem_n_pes\(\) - 1\)`}},
	{what: "eager_tile_wrong_pe", only: onNode, status: aborted, say: []string{`PE \d: shmemx_eager_tile: PE -1 does not exist, there are 2 \(use 0 to shmem_n_pes\(\) - 1\)`}},
	{what: "eager_no_source", status: aborted, say: []string{`PE \d: shmemx_eager_send: the local source is NULL`}},
	{what: "eager_no_dest", status: aborted, say: []string{`PE \d: shmemx_eager_recv: dest is NULL \(pass room for a token\)`}},
	{what: "eager_no_slot", status: aborted, say: []string{`PE \d: shmemx_eager_send: slot 4 does not exist, there are 4 \(use 0 to count - 1\)`}},
	{what: "eager_no_eager", only: onNode, status: aborted, say: []string{`PE \d: shmemx_eager_ready: eager does not come from shmemx_eager_create \(pass the handle from shmemx_eager_create\)`}},
	{what: "eager_destroyed", status: aborted, say: []string{`PE \d: shmemx_eager_ready: eager does not come from shmemx_eager_create`}},
	{what: "eager_copy_of_destroyed", status: aborted, say: []string{`PE \d: shmemx_eager_wait: slot 0 at 0x\w+ is not in the symmetric heap \(pass the handle from shmemx_eager_create, before shmemx_eager_destroy\)`}},
	{what: "eager_not_kept", only: onHosts, status: aborted, say: []string{`PE \d: shmemx_eager_send: the host's path to PE \d keeps no tile of 8 bytes \(see shmemx_eager_tile, and make the slots with SHMEMX_EAGER_BEST\)`}},
	{what: "eager_skipped", status: aborted, say: []string{`PE \d: shmemx_eager_wait: slot 2 is at epoch 0, and epoch 2 is expected \(raise the epoch of a slot by one for each token, and send a token only after the one before was read\)`}},
	{what: "eager_overrun", status: aborted, say: []string{`PE \d: shmemx_eager_recv: slot 1 is at epoch 2, and epoch 1 is expected`}},
	{what: "eager_other_size", status: aborted, say: []string{`PE \d: shmemx_eager_wait: the token in slot 3 has 64 bytes, and 63 are expected \(pass the eager of the same shmemx_eager_create on both sides\)`}},
	{what: "eager_counted_skips", status: aborted, say: []string{`PE \d: shmemx_eager_wait: slot 2 is at epoch 0, and epoch 2 is expected \(raise the epoch of a slot by one for each token, `}},
	{what: "eager_counted_number", status: aborted, say: []string{`PE \d: shmemx_eager_recv: slot 1 is at epoch 3, and epoch 2 is expected`}},
	{what: "eager_counted_twice", status: aborted, say: []string{`PE \d: shmemx_eager_recv: slot 1 is at epoch 1, and epoch 2 is expected`}},
	{what: "eager_counted_overrun", status: aborted, say: []string{`PE \d: shmemx_eager_recv: slot 1 is at epoch 2, and epoch 1 is expected`}},
	{what: "eager_counted_size", status: aborted, say: []string{`PE \d: shmemx_eager_wait: the token in slot 3 has 64 bytes, and 63 are expected`}},
	{what: "eager_counted_nowhere", status: aborted, say: []string{`PE \d: shmemx_eager_send: slot 3 at 0x\w+ has no counter \(pass the handle from shmemx_eager_create\)`}},
	{what: "hang_eager", env: []string{"SHMEM_TIMEOUT=1"}, status: 0, say: []string{`PE 0: shmemx_eager_wait has waited \d+ s: for the token of epoch 1 in slot 0, of which 0 of 1 tiles are there \(the wait goes on\)`}},
}

// TestBadEager is TestBadInput for testdata/eager.c.
func TestBadEager(t *testing.T) { runRows(t, "eager", eagerRows) }

// TestBadEagerNetwork: an epoch that was skipped is refused on NICs of the stub, too, in tiles and
// with notifications.
func TestBadEagerNetwork(t *testing.T) {
	build := need.Build(t)
	program, library := compile(t, build, "eager"), stub.Build(t)
	for _, c := range []struct{ name, nic, tile string }{{"tiles", "inorder=1", "128"}, {"notifications", "", "1"}} {
		t.Run(c.name, func(t *testing.T) {
			stub.Set(t, c.nic)
			row{
				what: "eager_network_number", status: aborted, env: []string{"SHMEM_PROVIDER=efa", "SHMEM_LIBFABRIC=" + library},
				say: []string{"the tile is " + c.tile + "\n", `PE \d: shmemx_eager_recv: slot 1 is at epoch 3, and epoch 2 is expected`},
			}.run(t, build, program, onHosts)
		})
	}
}

package table

// This file has the structures that device code of NVIDIA's archive reads. Since, of a member, is
// the minor number of the first release 3.x of NVSHMEM that has it. A test compares the structures
// with the headers of NVIDIA's wheels (tests/nvshmem).

// An ArchiveRelease is a release of NVSHMEM whose device code libshmem serves.
type ArchiveRelease struct {
	Minor       int    // of 3.x
	Version     string // of the wheel whose headers have this layout
	State, Team int    // bytes of archiveState and archiveTeam in this release
}

// ArchiveReleases has these releases, the oldest first. Release 3.3 has the layout of 3.4.
var ArchiveReleases = []ArchiveRelease{{4, "3.4.5", 776, 792}, {5, "3.5.21", 776, 800}, {6, "3.6.5", 776, 800}, {7, "3.7.2", 816, 808}, {8, "3.8.0", 848, 816}}

var archiveRecexch = Struct{Name: "archive_recexch", Size: 64, Doc: "The steps of a reduction by recursive exchange, for a team of all PEs. The numbers are those of PEs in the job.", Members: []Member{
	{Name: "version", Type: "i32"},
	{Name: "step1_sendto", Type: "i32", Doc: "the PE that reduces for this one, or -1"},
	{Name: "step1_recvfrom", Type: "u64", Doc: "address of i32: the PEs for which this one reduces"},
	{Name: "step2_nbrs", Type: "u64", Doc: "address of addresses of i32: for each phase the PEs that it exchanges with"},
	{Name: "step1_nrecvs", Type: "i32"},
	{Name: "step2_nphases", Type: "i32"},
}}

var archiveTeam = Struct{Name: "archive_team", Doc: "nvshmemi_team_t. Kernels advance the counters and flags, so the host writes it only before the team has a handle.", Members: []Member{
	{Name: "version", Type: "i32"},
	{Name: "my_pe", Type: "i32"},
	{Name: "start", Type: "i32"},
	{Name: "stride", Type: "i32"},
	{Name: "size", Type: "i32"},
	{Name: "team_idx", Type: "i32"},
	{Name: "config_version", Type: "i32", Doc: "as the next two a member of config, of 64 bytes", Theirs: "config.version"},
	{Name: "num_contexts", Type: "i32", Theirs: "config.num_contexts"},
	{Name: "uniqueid", Type: "u64", Theirs: "config.uniqueid"},
	{Name: "config_mask", Type: "i64", At: 88},
	{Name: "nccl_comm", Type: "u64"},
	{Name: "reduce_recexch", Type: "struct archive_recexch"},
	{Name: "rdxn_count", Type: "u64"},
	{Name: "ll_flag", Type: "u32"},
	{Name: "alltoall_pwrk", Type: "u64", Count: 2},
	{Name: "alltoall_count", Type: "u64"},
	{Name: "bcast_count", Type: "u64"},
	{Name: "bcast_sync_offset", Type: "u64"},
	{Name: "fcollect_count", Type: "u64"},
	{Name: "fcollect_ll_flag", Type: "u32"},
	{Name: "are_gpus_p2p_connected", Type: "bool"},
	{Name: "is_team_node", Type: "bool"},
	{Name: "team_node", Type: "i32"},
	{Name: "is_team_same_mype_node", Type: "bool"},
	{Name: "team_same_mype_node", Type: "i32"},
	{Name: "nvls_rsc", Type: "u64"},
	{Name: "nvls_rsc_base_ptr", Type: "u64"},
	{Name: "team_dups", Type: "i32", Count: 128},
	{Name: "pe_mapping", Type: "u64", Doc: "address of i32: the PE of each member, then the number of each PE in the team, or -1"},
	{Name: "p2p_sync_on_stream_count", Type: "u64", Since: 5},
	{Name: "are_gpus_nvls_connected", Type: "bool", Since: 7},
	{Name: "mc_leid_with_flag", Type: "u64", Since: 8},
}}

var archiveColl = Struct{Name: "archive_coll", Size: 512, Doc: "gpu_coll_env_params_t: what choices of algorithms and sizes of buffers depend on. Equal on all PEs.", Members: []Member{
	{Name: "version", Type: "i32"},
	{Name: "barrier_dissem_kval", Type: "i32"},
	{Name: "barrier_tg_dissem_kval", Type: "i32"},
	{Name: "reduce_recexch_kval", Type: "i32"},
	{Name: "bcast_tree_kval", Type: "i32"},
	{Name: "bcast_algo", Type: "i32"},
	{Name: "reduce_algo", Type: "i32"},
	{Name: "fcollect_ll_threshold", Type: "u64"},
	{Name: "fcollect_nvls_threshold", Type: "u64"},
	{Name: "reduce_scratch_size", Type: "u64"},
	{Name: "fcollect_algo", Type: "i32"},
	{Name: "reducescatter_nvls_threshold", Type: "u64"},
	{Name: "reducescatter_algo", Type: "i32"},
	{Name: "reduce_maxloc_algo", Type: "i32"},
	{Name: "fcollect_ll128_threshold", Type: "u64"},
	{Name: "reduce_nvls_threshold", Type: "u64"},
	{Name: "fcollect_ll_supported", Type: "bool", Since: 8},
}}

var archiveState = Struct{Name: "archive_state", Doc: "nvshmemi_device_host_state_t, which the variable nvshmemi_device_state_d of a program, module or library holds.", Members: []Member{
	{Name: "version", Type: "i32"},
	{Name: "mype", Type: "i32"},
	{Name: "npes", Type: "i32"},
	{Name: "node_mype", Type: "i32"},
	{Name: "node_npes", Type: "i32"},
	{Name: "pe_dist", Type: "i32"},
	{Name: "proxy", Type: "i32"},
	{Name: "atomics_sync", Type: "i32"},
	{Name: "job_connectivity", Type: "i32"},
	{Name: "proxy_ops_are_ordered", Type: "bool"},
	{Name: "atomics_complete_on_quiet", Type: "bool"},
	{Name: "heap_base", Type: "u64"},
	{Name: "heap_size", Type: "u64"},
	{Name: "peer_heap_base_p2p", Type: "u64"},
	{Name: "peer_heap_base_remote", Type: "u64"},
	{Name: "symmetric_heap_kind", Type: "u8"},
	{Name: "enable_rail_opt", Type: "bool"},
	{Name: "atomics_le_min_size", Type: "u32"},
	{Name: "timeout", Type: "u64"},
	{Name: "test_wait_any_start_idx_ptr", Type: "u64"},
	{Name: "team_pool", Type: "u64"},
	{Name: "psync_pool", Type: "u64"},
	{Name: "sync_counter", Type: "u64"},
	{Name: "gpu_coll_env_params_var", Type: "struct archive_coll"},
	{Name: "proxy_channels_buf", Type: "u64"},
	{Name: "proxy_channel_g_buf", Type: "u64"},
	{Name: "proxy_channel_g_coalescing_buf", Type: "u64"},
	{Name: "proxy_channel_g_buf_head_ptr", Type: "u64"},
	{Name: "proxy_channel_g_buf_size", Type: "u64"},
	{Name: "proxy_channel_g_buf_log_size", Type: "u64"},
	{Name: "proxy_channels_issue", Type: "u64"},
	{Name: "proxy_channels_complete", Type: "u64"},
	{Name: "proxy_channels_complete_local_ptr", Type: "u64"},
	{Name: "proxy_channels_quiet_issue", Type: "u64"},
	{Name: "proxy_channels_quiet_ack", Type: "u64"},
	{Name: "proxy_channels_cst_issue", Type: "u64"},
	{Name: "proxy_channels_cst_ack", Type: "u64"},
	{Name: "proxy_channel_buf_size", Type: "u64"},
	{Name: "proxy_channel_buf_logsize", Type: "u32"},
	{Name: "global_exit_request_state", Type: "u64"},
	{Name: "global_exit_code", Type: "u64"},
	{Name: "ibgda_is_initialized", Type: "bool"},
	{Name: "nvshmemi_is_nvshmem_initialized", Type: "bool"},
	{Name: "nvshmemi_is_nvshmem_bootstrapped", Type: "bool"},
	{Name: "selected_device_transport", Type: "i32", Since: 6},
	{Name: "tma_policy", Type: "i32", Since: 7},
	{Name: "tma_smem_bases", Type: "u64", Since: 7},
	{Name: "tma_smem_bases_len", Type: "u64", Since: 7},
	{Name: "tma_smem_size", Type: "u64", Since: 7},
	{Name: "unicast_le_ids", Type: "u64", Since: 7, Theirs: "unicast_le_ids_"},
	{Name: "counted_operations_available", Type: "bool", Since: 8},
	{Name: "region_slots", Type: "u64", Since: 8},
	{Name: "region_active_count", Type: "u64", Since: 8},
	{Name: "region_slots_len", Type: "u32", Since: 8},
	{Name: "region_slot_probe_limit", Type: "u32", Since: 8},
}}

// ArchiveStructs has the structures by the names that they have in NVIDIA's headers.
var ArchiveStructs = map[string]*Struct{
	"nvshmemi_device_host_state_t": &archiveState, "nvshmemi_team_t": &archiveTeam,
	"gpu_coll_env_params_t": &archiveColl, "nvshmemi_reduce_recexch_t": &archiveRecexch,
}

// archiveSizes returns constants with the sizes of archiveState and archiveTeam in each release. An
// expression of C names a release by one digit, its minor number.
func archiveSizes() (all []Constant) {
	for _, r := range ArchiveReleases {
		name := string(rune('0' + r.Minor))
		all = append(all,
			Constant{"ARCHIVE_STATE_3_" + name, "", r.State, "bytes of the state in NVSHMEM " + r.Version},
			Constant{"ARCHIVE_TEAM_3_" + name, "", r.Team, "bytes of a team there"})
	}
	return all
}

// archive has the structures of NVIDIA's device archive, as libshmem.so fills them in for programs
// that were built with the archive. A release only adds members at the end, so the state of an
// older release is the beginning of the newest one.
var archive = Unit{
	Name:  "archive",
	Doc:   "the structures that device code of NVIDIA's archive reads, in their newest layout. Those of an older release are the beginning of it, as long as the constants say.",
	Alone: "kernels of others and the front's C read them",
	Constants: append(archiveSizes(),
		Constant{"ARCHIVE_SYNC", "", 55296, "longs of one sync area of a team"},
		Constant{"ARCHIVE_SCRATCH", "", 524288, "bytes of the scratch memory of a team's reductions"},
		Constant{"ARCHIVE_LL", "", 2048, "up to so many bytes of each PE are collected with a flag beside each word"},
		Constant{"ARCHIVE_IBGDA", "", 8384, "bytes of the state of a transport by InfiniBand queues"},
		Constant{"ARCHIVE_IBGDA_QUEUES", "", 28, "offset there: queues for each PE"}),
	Structs: []Struct{archiveRecexch, archiveTeam, archiveColl, archiveState},
}

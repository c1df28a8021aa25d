"""The figures of shmem-perf that a driver of this folder measures, too, by the driver's metrics.

p_rate of oshm_micro isn't one of them: it has one quiet after all calls, and p_rate of shmem-perf
one after every 512, which takes half of its rate over tcp.
"""

# The metric of a row: the test and the measure of shmem-perf.
FIGURES = {
    # oshm_micro
    "put_quiet_lat": ("put", "latency"),
    "get_lat": ("get", "latency"),
    "amo_fetch_add_lat": ("fetch_add", "latency"),
    "amo_inc_quiet_lat": ("add", "latency"),
    "amo_inc_rate": ("add", "rate"),
    "amo_cswap_lat": ("compare_swap", "latency"),
    "put_nbi_rate": ("put", "rate"),
    "put_nbi_bw": ("put", "bandwidth"),
    "get_nbi_bw": ("get", "bandwidth"),
    "p_pingpong_half": ("p", "visible"),
    "put_signal_pingpong_half": ("put_signal", "visible"),
    "put_signal_exchange": ("put_signal", "exchange"),
    "barrier_all": ("barrier", "latency"),
    "sync_all": ("sync", "latency"),
    "broadcast": ("broadcast", "latency"),
    "sum_reduce": ("sum", "latency"),
    # sendrecv
    "send_symmetric_pingpong_half": ("send", "latency"),
    "notify_pingpong_half": ("put_notify", "visible"),
    # collectives
    "sum": ("sum", "latency"),
    "collect": ("collect", "latency"),
    "fcollect": ("fcollect", "latency"),
    "alltoall": ("alltoall", "latency"),
}

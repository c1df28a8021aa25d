# shellcheck shell=bash
# mps.sh: starts and ends NVIDIA's MPS, which lets kernels of several PEs run on one GPU at the same
# time. Without MPS they get time slices of 2.4 ms. Sourced.

# share_by_mps CLIENT...: starts MPS, and returns 0 if MPS serves the program CLIENT, and so later
# ones. MPS gets a new folder for its pipe, so that programs of other users are not its clients. The
# check needs a client: the daemon starts a server only with the first one, and may fail to.
share_by_mps() {
    mps=$(mktemp -d) || return
    export CUDA_MPS_PIPE_DIRECTORY=$mps CUDA_MPS_LOG_DIRECTORY=$mps
    if nvidia-cuda-mps-control -d >/dev/null 2>&1 && timeout 60 "$@" >/dev/null 2>&1 &&
        [ -n "$(echo get_server_list | timeout 10 nvidia-cuda-mps-control 2>/dev/null)" ]; then
        return
    fi
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    return 1
}

# end_mps: ends the MPS that share_by_mps has started, if any. For a trap.
end_mps() {
    [ -n "${mps:-}" ] || return 0
    echo quit | CUDA_MPS_PIPE_DIRECTORY=$mps timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1
    rm -rf "$mps"
}

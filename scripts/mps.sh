# shellcheck shell=bash
# mps.sh: several PEs of one GPU, whose kernels NVIDIA's MPS lets run at once. Without it they get
# time slices of 2.4 ms. Sourced.

# share_by_mps CLIENT...: reports whether MPS runs now and serves that program, and later ones. Its
# pipe has a folder of its own, so that programs of other users are not its clients. A server begins
# with its first client: a daemon that runs may still have no server.
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

# end_mps, for a trap: ends it, if it runs.
end_mps() {
    [ -n "${mps:-}" ] || return 0
    echo quit | CUDA_MPS_PIPE_DIRECTORY=$mps timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1
    rm -rf "$mps"
}

#!/usr/bin/env bash
# fetch_nvshmem.sh VERSION: fetches NVSHMEM's headers and libraries, with which benchmarks compare,
# from PyPI into the build folder, and prints where they are. A second run fetches nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1
to=${BUILD:-build}/tools/nvshmem-$version
if [ ! -e "$to" ]; then
    mkdir -p "${to%/*}"
    work=$(mktemp -d "${to%/*}/nvshmem.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: \
        -d "$work" "nvidia-nvshmem-cu13==$version" >"$work/log" 2>&1 || {
        echo "fetch_nvshmem.sh: fetch nvidia-nvshmem-cu13 $version: $(tail -n 1 "$work/log") (python3 -m pip download --no-deps nvidia-nvshmem-cu13==$version)" >&2
        exit 1
    }
    python3 -m zipfile -e "$work"/*.whl "$work/wheel"
    [ -e "$work/wheel/nvidia/nvshmem/include/nvshmem.h" ]
    mv "$work/wheel/nvidia/nvshmem" "$to"
fi
echo "$to"

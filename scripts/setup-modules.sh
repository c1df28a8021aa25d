# shellcheck shell=bash
# Sourced by scripts/setup: fetches Python's modules.

# fetch_modules: fetches the modules into the scratch folder, and makes the folder $python of them.
# It may run beside the rest of scripts/setup.
# shellcheck disable=SC2154 # numpy, mypy, pytest, mpi4py, python and work are of scripts/setup
fetch_modules() {
    local wanted=("numpy==$numpy" "mypy==$mypy" "pytest==$pytest" "mpi4py==$mpi4py")
    mkdir -p "$work/modules/wheels"
    python3 -m pip download -q --disable-pip-version-check --only-binary :all: \
        -d "$work/modules/wheels" "${wanted[@]}" >"$work/modules.log" 2>&1 ||
        die "cannot fetch ${wanted[*]} (python3 -m pip download ${wanted[*]})"
    python3 -m pip install -q --disable-pip-version-check --no-index --root-user-action ignore \
        --find-links "$work/modules/wheels" "${wanted[@]}" --target "$work/modules/lib" \
        </dev/null >"$work/modules.log" 2>&1 ||
        die "cannot unpack ${wanted[*]}: $(tail -n 1 "$work/modules.log")"
    # numpy's wheel stays: a test installs the package and numpy without a network.
    mkdir "$work/modules/kept"
    mv "$work/modules/wheels"/numpy-* "$work/modules/kept" 2>/dev/null || true
    rm -rf "$work/modules/wheels"
    mv "$work/modules/kept" "$work/modules/wheels"
    mv "$work/modules" "$python"
}

#!/usr/bin/env bash
# One slice of the work that needs a GPU. It takes Python with torch and numpy; pytest is used if it is there.
#
#     benchmarks/gpu.sh DATA MINUTES OUT [STUDY ...]
#
# DATA is the data folder (see BOOK_DATA), MINUTES the length of the slice, OUT the folder for the archive. The first
# slice also runs the tests marked `gpu` and measures the trainer against the plain loop. Then the studies follow in
# their order, each until it is done or the time is over. The next slice goes on from the checkpoint.
#
# Each slice writes OUT/records-TIME.tar.gz with the files that no archive has yet. Unpacked in the root of a checkout,
# it adds its records to those in records/. Records that are committed are not trained again. OUT/checkpoints has the
# checkpoints of unfinished blocks. A slice with the same OUT goes on from them, on another machine, too.
#
# AT_ONCE processes, by default 1, share the blocks of a study. On an H200 three of them finish 1.2 to 1.5 times as many
# residual networks in the same time.
#
# PYTHON names the interpreter. Checkpoints and records lie in BOOK_CACHE, by default .cache in the checkout.
set -u
if [ $# -lt 3 ]; then
    sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" >&2
    exit 2
fi
[[ $2 =~ ^[0-9]+([.][0-9]+)?$ ]] || { echo "MINUTES must be a number, not '$2'" >&2; exit 2; }
data=$(realpath -e "$1") || exit 2
minutes=$2 out=$(realpath -m "$3")
shift 3
[ $# -gt 0 ] || set -- mnist-60k mnist-bias mnist-l2 mahalanobis-100
cd "$(dirname "$0")/.." || exit 1
python=${PYTHON:-python3} at_once=${AT_ONCE:-1}
[[ $at_once =~ ^[1-9][0-9]*$ ]] || { echo "AT_ONCE must be a whole number from 1 on, not '$at_once'" >&2; exit 2; }
export PYTHONPATH=$PWD BOOK_DATA=$data BOOK_CACHE=${BOOK_CACHE:-$PWD/.cache} OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-PASSIVE}
work=$BOOK_CACHE/gpu unfinished=$BOOK_CACHE/checkpoints failed=0

seconds=$(awk "BEGIN { print int(60 * $minutes) }")
mkdir -p "$out/checkpoints" "$work/records" "$unfinished" || exit 1
cp -ru records/. "$work/records/"
cp -pu "$out"/checkpoints/*.safetensors "$unfinished" 2>/dev/null # of an earlier slice, perhaps on another machine
[ -e "$work/archived" ] || touch "$work/archived"                 # newer files are in no archive yet

# run_step WHAT COMMAND ...: run it and say how it ended; a sweep that stopped in good order ends with 3
run_step() {
    local what=$1 code=0
    shift
    echo "== $what"
    "$@" || code=$?
    echo "== $what: exit status $code after $SECONDS s of the slice"
    [ $code = 0 ] || [ $code = 3 ] || failed=1
}

# together COMMAND ...: runs it AT_ONCE times at the same time; a block that one of them trains is passed over by the
# others. Its exit status is the first that is neither 0 nor 3, or else 3 if one was. Each process has a session of its
# own, so that Ctrl-C reaches it only through the trap below.
together() {
    local number process code status=0 processes=()
    for ((number = 0; number < at_once; number++)); do
        setsid "$@" &
        processes+=($!)
    done
    for process in "${processes[@]}"; do
        code=0
        wait "$process" || code=$?
        [ $code = 0 ] || { [ $status != 0 ] && [ $status != 3 ]; } || status=$code
    done
    return $status
}

tests() {
    local files=(tests/test_gpu.py)
    "$python" -c 'import scipy' 2>/dev/null && files+=(tests/test_mahalanobis.py)
    timeout $((seconds / 4 + 1)) "$python" -m pytest -m gpu "${files[@]}" >"$work/checks/tests.txt" 2>&1
}
against_the_loop() {
    local size=--quick
    "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' && size=
    # shellcheck disable=SC2086  # an empty size is no argument
    timeout $((seconds / 2 + 1)) "$python" -m book bench train $size --json >"$work/checks/train.json"
}

# However the slice ends: archive what is new, and leave the checkpoints of the blocks that are unfinished.
finish() {
    local archive file
    archive=$out/records-$(date -u +%Y%m%dT%H%M%SZ).tar.gz
    touch "$work/now"
    (cd "$work" && find records checks -type f -newer archived ! -name '.*' ! -empty >new) || failed=1
    if [ ! -s "$work/new" ]; then
        echo "nothing new to archive"
    elif tar -czf "$archive.part" -C "$work" -T "$work/new" && mv "$archive.part" "$archive"; then
        mv "$work/now" "$work/archived"
        echo "$archive: $(wc -l <"$work/new") files"
    else
        echo "could not write $archive; the next slice tries again" >&2
        failed=1
    fi
    for file in "$unfinished"/*.safetensors; do
        [ ! -e "$file" ] || cp -p "$file" "$out/checkpoints" || failed=1
    done
    for file in "$out"/checkpoints/*.safetensors; do # those of blocks that are finished now
        [ -e "$unfinished/${file##*/}" ] || rm -f "$file"
    done
    rmdir "$out/checkpoints" 2>/dev/null
    exit $failed
}
trap finish EXIT
trap 'failed=1; kill $(jobs -p) 2>/dev/null; wait; exit' INT TERM HUP # they stop at a checkpoint

if [ ! -e "$work/checks" ]; then
    mkdir "$work/checks"
    "$python" -c 'import pytest' 2>/dev/null && run_step "tests marked gpu" tests
    run_step "the trainer against the plain loop" against_the_loop
fi

for study in "$@"; do
    left=$(awk "BEGIN { print ($seconds - $SECONDS - 20) / 60 }") # 20 s to load the data and to archive
    awk "BEGIN { exit !($left > 0.1) }" || break
    run_step "$study" together "$python" -m book sweep "$study" --device auto --minutes "$left" --records "$work/records"
done

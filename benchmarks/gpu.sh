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
# it adds its records to those in records/. Records that are committed are not trained again.
#
# PYTHON names the interpreter. Checkpoints and records lie in BOOK_CACHE, by default .cache in the checkout.
# OUT/checkpoints gets the checkpoints of unfinished blocks. For a slice on another machine, first copy them into
# BOOK_CACHE/checkpoints there.
set -u
if [ $# -lt 3 ]; then
    sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" >&2
    exit 2
fi
data=$(realpath "$1") minutes=$2 out=$(realpath -m "$3")
shift 3
[ $# -gt 0 ] || set -- mnist-60k mnist-bias mnist-l2 mahalanobis-100
cd "$(dirname "$0")/.." || exit 1
python=${PYTHON:-python3}
export PYTHONPATH=$PWD BOOK_DATA=$data BOOK_CACHE=${BOOK_CACHE:-$PWD/.cache} OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-PASSIVE}
work=$BOOK_CACHE/gpu failed=0

seconds=$(awk "BEGIN { print int(60 * $minutes) }") || exit 2
mkdir -p "$out" "$work/records"
cp -ru records/. "$work/records/"
[ -e "$work/archived" ] || touch "$work/archived" # newer files are in no archive yet

# say WHAT, COMMAND ...: run it and say how it ended; a sweep that stopped in good order ends with 3
say() {
    local what=$1 code=0
    shift
    echo "== $what"
    "$@" || code=$?
    echo "== $what: exit status $code after $SECONDS s of the slice"
    [ $code = 0 ] || [ $code = 3 ] || failed=1
}

tests() {
    local files=(tests/test_gpu.py)
    "$python" -c 'import scipy' 2>/dev/null && files+=(tests/test_mahalanobis.py)
    timeout $((seconds / 4)) "$python" -m pytest -m gpu "${files[@]}" >"$work/checks/tests.txt" 2>&1
}
against_the_loop() {
    local size=--quick
    "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' && size=
    # shellcheck disable=SC2086  # an empty size is no argument
    timeout $((seconds / 2)) "$python" -m support bench train $size --json >"$work/checks/train.json"
}

if [ ! -e "$work/checks" ]; then
    mkdir "$work/checks"
    "$python" -c 'import pytest' 2>/dev/null && say "tests marked gpu" tests
    say "the trainer against the plain loop" against_the_loop
fi

for study in "$@"; do
    left=$(awk "BEGIN { print ($seconds - $SECONDS - 20) / 60 }") # 20 s to load the data and to archive
    awk "BEGIN { exit !($left > 0.1) }" || break
    say "$study" "$python" -m support sweep "$study" --device auto --minutes "$left" --records "$work/records"
done

archive=$out/records-$(date -u +%Y%m%dT%H%M%SZ).tar.gz
touch "$work/now"
if (cd "$work" && find records checks -type f -newer archived ! -name '.*' ! -empty >new) && [ -s "$work/new" ]; then
    tar -czf "$archive.part" -C "$work" -T "$work/new" && mv "$archive.part" "$archive" && mv "$work/now" "$work/archived"
    echo "$archive: $(wc -l <"$work/new") files"
else
    echo "nothing new to archive"
fi
unfinished=("$BOOK_CACHE"/checkpoints/*.safetensors)
[ ! -e "${unfinished[0]}" ] || { mkdir -p "$out/checkpoints" && cp "${unfinished[@]}" "$out/checkpoints"; }
exit $failed

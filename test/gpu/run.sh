#!/bin/sh
# Runs the cases that make_cases.py has prepared, on a machine with a GPU. Needs
# a driver and, for the cases that use them, cuBLASLt, cuDNN and NCCL; no compiler
# but that of the host, no Python.
#
#   test/gpu/run.sh CASES [WORK]
#
# CASES is the folder that make_cases.py wrote, WORK one for outputs. The tool is
# $REGATHER_RUN; without it, the runtime is built into WORK/build. Exits with 1
# if a case fails.

set -u
if [ $# -lt 1 ] || [ ! -f "$1/cases.tsv" ]; then
  echo "usage: test/gpu/run.sh CASES [WORK], where CASES has a cases.tsv" >&2
  exit 2
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
cases=$(cd "$1" && pwd)
work=${2:-$cases/work}
mkdir -p "$work" && work=$(cd "$work" && pwd) || exit 2

if [ -z "${REGATHER_RUN:-}" ]; then
  echo "building the runtime"
  cmake -S "$root" -B "$work/build" -DREGATHER_RUNTIME_ONLY=ON \
    -DCMAKE_BUILD_TYPE=Release > "$work/build.log" 2>&1 &&
    cmake --build "$work/build" -j >> "$work/build.log" 2>&1 || {
    tail -20 "$work/build.log" >&2
    exit 2
  }
  REGATHER_RUN=$work/build/bin/regather-run
fi

# losses LOG: the losses that a run has printed, one in a line.
losses() { sed -n 's/^step .*  loss \([^ ]*\) .*/\1/p' "$1"; }

# near FILE FILE TOLERANCE: prints the largest relative difference; fails if it
# is above the tolerance, or one of the losses is missing or no number.
near() {
  paste "$1" "$2" | awk -v limit="$3" '
    function magnitude(x) { return x < 0 ? -x : x }
    NF != 2 || $1 != $1 + 0 || $2 != $2 + 0 { bad = 1 }
    { d = magnitude($1 - $2); s = magnitude($2); if (s > 0) d /= s
      if (d > worst) worst = d }
    END { if (bad || NR == 0) { print "losses are missing"; exit 1 }
          printf "losses within %.1e\n", worst; exit !(worst <= limit) }'
}

# check NAME KIND REFERENCE: compares what a case has left with what it should.
check() {
  case $2 in
  losses=*)
    losses "$work/$1.log" > "$work/$1.losses"
    count=$(wc -l < "$cases/$3")
    head -n "$count" "$work/$1.losses" > "$work/$1.first"
    near "$work/$1.first" "$cases/$3" "${2#losses=}"
    ;;
  near=*)
    losses "$work/$1.log" > "$work/$1.losses"
    near "$work/$1.losses" "$work/$3.losses" "${2#near=}"
    ;;
  same)
    losses "$work/$1.log" > "$work/$1.losses"
    if [ ! -s "$work/$1.losses" ]; then
      echo "losses are missing"
      return 1
    fi
    cmp -s "$work/$1.losses" "$work/$3.losses" || {
      echo "losses differ from those of $3"
      return 1
    }
    cmp -s "$work/$1.safetensors" "$work/$3.safetensors" || {
      echo "parameters differ from those of $3"
      return 1
    }
    echo "every bit as in $3"
    ;;
  *)
    echo "unknown check '$2'"
    return 1
    ;;
  esac
}

passed=0
failed=0
report() { # report OK NAME TEXT
  if [ "$1" = 0 ]; then
    passed=$((passed + 1))
    word=passed
  else
    failed=$((failed + 1))
    word=FAILED
  fi
  printf '%-7s %-32s %s\n' "$word" "$2" "$3"
}

tab=$(printf '\t')
while IFS=$tab read -r name bundle variables flags kind reference; do
  outputs=--outputs=$work/$name.safetensors
  # Each process of a job has a part of the outputs only.
  case $flags in *--comm=nccl*) outputs= ;; esac
  # Neither has spaces of its own.
  # shellcheck disable=SC2086
  (cd "$cases" && env ${variables#-} "$REGATHER_RUN" "$bundle" --quiet \
    $outputs $flags) > "$work/$name.log" 2> "$work/$name.err" < /dev/null
  status=$?
  # cuDNN is wanted where it is there only.
  if [ $status != 0 ] && grep -q "cannot open cuDNN" "$work/$name.err"; then
    printf 'skipped %-32s %s\n' "$name" "there is no cuDNN"
    continue
  fi
  if [ $status != 0 ]; then
    report 1 "$name" "exit code $status: $(head -1 "$work/$name.err")"
    continue
  fi
  text=$(check "$name" "$kind" "$reference")
  status=$?
  speed=$(sed -n 's/.*, \([0-9.]* ms a step\) (median).*/, \1/p' "$work/$name.log")
  report $status "$name" "$text$speed"
done < "$cases/cases.tsv"

# One step of the smallest case under NVIDIA's checker of memory and races.
if command -v compute-sanitizer > /dev/null; then
  IFS=$tab read -r name bundle variables flags kind reference < "$cases/cases.tsv"
  for tool in memcheck racecheck synccheck; do
    (cd "$cases" && compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$REGATHER_RUN" "$bundle" --quiet --random-inputs=1 --steps=1) \
      > "$work/$tool.log" 2>&1 < /dev/null
    report $? "compute-sanitizer $tool" "$name"
  done
else
  echo "skipped compute-sanitizer: it is not in PATH"
fi

echo "$passed passed, $failed failed; logs are in $work"
[ "$failed" = 0 ]

#!/bin/sh
# Runs this kit, and leaves gpu-report.json, gpu-report.html and gpu-logs.tar.gz:
#
#   run.sh [-o OUTPUT] [--stand-in] [--only NAME,NAME*]
#
# Needs a driver and Python 3.9 with its standard library alone. Exits with 1 if
# a case fails, with 2 if nothing could be run.

set -u
here=$(CDPATH='' cd "$(dirname "$0")" && pwd) || exit 2
for python in "${VIRTUAL_ENV:-/nowhere}/bin/python3" \
  "${CONDA_PREFIX:-/nowhere}/bin/python3" python3 python /usr/bin/python3 \
  /opt/conda/bin/python3; do
  if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' \
    2> /dev/null; then
    # Nothing is written beside the scripts.
    exec "$python" -B "$here/scripts/run_kit.py" "$@"
  fi
done
echo "run.sh: found no Python 3.9 or newer in PATH, VIRTUAL_ENV or CONDA_PREFIX" >&2
exit 2

# Installs what the project needs, and only what is missing. Sourced by `dev`.

venv_python=.venv/bin/python

# Runs a command as root.
as_root() {
  if [[ $(id -u) -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo --preserve-env=DEBIAN_FRONTEND "$@"
  else
    echo "dev: needs root, and there is no sudo, to run: $*" >&2
    return 1
  fi
}

# setup_packages [FILE]: the Debian packages that a file names, or all.
setup_packages() {
  local file="${1:-scripts/apt-packages.txt}" wanted missing tool
  mapfile -t wanted <"$file"
  if ! command -v dpkg-query >/dev/null; then
    for tool in clang++-22 cmake ninja; do
      if ! command -v "$tool" >/dev/null; then
        echo "dev: no $tool, and no apt: install by hand what" \
          "$file names" >&2
        return 1
      fi
    done
    return 0
  fi
  # dpkg-query fails for packages that it has never heard of; those are missing.
  missing=$(comm -23 <(printf '%s\n' "${wanted[@]}" | sort) \
    <({ dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" \
      2>/dev/null || true; } | sed -n 's/^installed //p' | sort -u))
  [[ -n $missing ]] || return 0
  echo "dev: installing" $missing
  export DEBIAN_FRONTEND=noninteractive
  # Another installation may be running: wait for its lock.
  local apt=(apt-get -q -o DPkg::Lock::Timeout=600)
  as_root "${apt[@]}" update </dev/null
  # Word splitting is wanted: one package a word.
  if ! as_root "${apt[@]}" install -y --no-install-recommends $missing \
    </dev/null; then
    echo "dev: LLVM 22 comes from bookworm-security on Debian 12, and from" \
      "apt.llvm.org elsewhere; is it among the package sources?" >&2
    return 1
  fi
}

# make_venv: an empty .venv.
make_venv() {
  echo "dev: making .venv"
  local python
  # Debian's own Python first: the `python3` of PATH may lack ensurepip.
  for python in /usr/bin/python3 python3; do
    rm -rf .venv
    if "$python" -m venv .venv; then
      return 0
    fi
  done
  echo "dev: no Python here can make a virtual environment" >&2
  return 1
}

# setup_venv FILE...: .venv holds what these files require. A stamp in it for each
# file says what was installed; when a file has changed, .venv is made anew.
setup_venv() {
  local file hash stamp
  for file in requirements*.txt; do
    stamp=.venv/$file.sha256
    if [[ -f $stamp && $(<"$stamp") != "$(sha256sum "$file" | cut -d' ' -f1)" ]]
    then
      rm -rf .venv
    fi
  done
  "$venv_python" -c '' 2>/dev/null || make_venv
  for file in "$@"; do
    stamp=.venv/$file.sha256
    [[ ! -f $stamp ]] || continue
    echo "dev: installing the packages of $file"
    "$venv_python" -m pip install -qq --disable-pip-version-check -r "$file" \
      </dev/null
    hash=$(sha256sum "$file" | cut -d' ' -f1)
    echo "$hash" >"$stamp"
  done
}

# setup [FILE...]: Debian packages, and the Python packages of requirements.txt
# and of the files.
setup() {
  setup_packages
  setup_venv requirements.txt "$@"
}

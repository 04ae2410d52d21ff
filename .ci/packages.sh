# Reads .ci/system-packages; to be sourced. The working directory is the repository's root.

# Prints Debian packages: `packages missing` those of programs that this machine lacks, `packages all` every one.
packages() {
  local find names
  while read -r find names _; do
    case $find in '' | '#'*) continue ;; esac
    [ "$1" = all ] || ! is_there "$find" || continue
    printf '%s\n' "${names//,/ }"
  done < .ci/system-packages
}

is_there() {
  case $1 in
    python:*) python3 -c "import ${1#python:}" 2>/dev/null ;;
    /*) compgen -G "$1" >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

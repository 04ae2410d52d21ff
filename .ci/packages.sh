# Reads .ci/system-packages. Source it from the repository's root.

# Prints Debian packages: `packages missing` only those of missing programs, `packages all` every one.
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

#!/usr/bin/env bash
# Builds the image, runs docker-compose.yml with it, and checks what operators rely on: signed webhooks arrive, `sluice lag` works in
# the container, processes have no privileges, SIGTERM ends them with exit code 0, and tests run on a broker in a container.
#
# Uses Docker Engine 25 or later with Compose if it is running. Otherwise, as root on Debian, it sets up its own engine and base
# images from packages (engine.sh, base-images.sh). If neither is possible, it says why and exits 0, or 1 with --required. Prints
# the duration of each step.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)
work=${XDG_CACHE_HOME:-$HOME/.cache}/sluice/image
project=sluice-try
required=${1:-}
mkdir -p "$work"

said=$SECONDS
say() {
  echo "$((SECONDS - said)) s: $*"
  said=$SECONDS
}
skip() {
  echo "skipped: $1"
  [ "$required" != --required ] || exit 1
  exit 0
}
node() { "$repo/node_modules/.bin/node" "$@"; }
# Runs a command where published ports are reachable. engine.sh replaces it.
inside() { "$@"; }
stop_engine() { :; }
compose() { docker compose --project-name "$project" --project-directory "$repo" --file "$work/compose.yml" "$@"; }

finish() {
  local status=$?
  if [ "$status" != 0 ] && [ -e "$work/compose.yml" ]; then
    compose ps --all 2>/dev/null || :
    compose logs --no-color --tail 20 2>/dev/null || :
  fi
  [ ! -e "$work/compose.yml" ] || compose down --volumes --timeout 1 >/dev/null 2>&1 || :
  stop_engine
  [ "$status" = 0 ] || echo "failed after $SECONDS s"
}

trap 'exit 130' INT TERM
# two runs would remove each other's files
exec 9>"$work/lock"
flock --nonblock 9 || skip 'another run is in progress'
[ -x "$repo/node_modules/.bin/node" ] || skip 'run npm ci first'
engine=$(docker version --format '{{.Server.Version}}' 2>/dev/null) || engine=0
if [ "${engine%%.*}" -ge 25 ] 2>/dev/null && docker compose version >/dev/null 2>&1; then
  cp "$repo/Dockerfile" "$work/Dockerfile"
  cp "$repo/docker-compose.yml" "$work/compose.yml"
  trap finish EXIT
else
  # shellcheck source=ops/image/engine.sh
  . "$here/engine.sh"
  reason=$(why_no_engine) || skip "no Docker Engine 25 or later with Compose is running, and $reason"
  # images built here do not have the published digests
  sed 's/@sha256:[0-9a-f]*//' "$repo/Dockerfile" > "$work/Dockerfile"
  sed 's/@sha256:[0-9a-f]*//' "$repo/docker-compose.yml" > "$work/compose.yml"
  trap finish EXIT
  start_engine
  # shellcheck source=ops/image/base-images.sh
  . "$here/base-images.sh"
  make_base_images
fi
say "$(docker version --format 'Docker Engine {{.Server.Version}}'), $(docker compose version)"

cd "$repo"
docker build --quiet --file "$work/Dockerfile" --build-arg VERSION=try --tag sluice . >/dev/null
say "the image is built: $(docker image inspect sluice --format '{{.Size}}' | awk '{ printf "%d MB", $1 / 1e6 }')"

CONFIG_KEY=$(head -c 32 /dev/urandom | base64)
CONTROL_TOKEN=$(head -c 24 /dev/urandom | base64 | tr -d '/+=')
# the receiver is on this machine, which containers reach at their network's gateway
export CONFIG_KEY CONTROL_TOKEN EGRESS_ALLOW=172.16.0.0/12,192.168.0.0/16 PARTITIONS=${PARTITIONS:-12}
services=$(compose config --format json | node -e '
  const { services } = JSON.parse(require("fs").readFileSync(0)); console.log(Object.values(services).filter((each) => each.healthcheck).length)')
# cleans up after a killed run
compose down --volumes >/dev/null 2>&1
start_all() {
  compose up --detach --wait --quiet-pull kafka-1 kafka-2 kafka-3 || return
  # as registry 3.0 creates this topic: with the broker's retention
  compose exec -T kafka-1 /opt/kafka/bin/kafka-topics.sh --bootstrap-server kafka-1:9092 \
    --create --topic kafkasql-snapshots --partitions 1 --replication-factor 3 || return
  compose up --detach --no-build --quiet-pull
}
start_all >"$work/up.log" 2>&1 || {
  cat "$work/up.log"
  exit 1
}
healthy() { compose ps --format '{{.Health}}' | grep -cx healthy || :; }
for ((tries = 240; tries > 0; tries--)); do
  [ "$(healthy)" != "$services" ] || break
  sleep 1
done
[ "$(healthy)" = "$services" ] || {
  echo "only $(healthy) of $services services are healthy"
  exit 1
}
say "all $services services are healthy"

gateway=$(docker network inspect "${project}_default" --format '{{(index .IPAM.Config 0).Gateway}}')
inside "$repo/node_modules/.bin/node" "$here/deliver.ts" "$gateway"
say 'calls are accepted, and their signed webhooks arrive'

# the commands of the guide. A busy machine may need more than a second to know the new source
section() { awk -v title="### $1" '/^##/ { on = $0 == title } on && /^```/ { code = !code; next } on && code' docs/guides/deploying.md; }
docker_compose="docker compose --project-name $project --project-directory $repo --file $work/compose.yml"
commands() { section "$1" | sed -e "s|docker compose|$docker_compose|" -e '/^\. \.\/\.env$/d' -e 's/^sleep 1$/sleep 10/'; }
inside bash -euo pipefail -c "$(commands 'Send the first event')" >"$work/first.log" 2>&1 || {
  cat "$work/first.log"
  exit 1
}
for ((tries = 30; tries > 0; tries--)); do
  ! docker logs receiver 2>&1 | grep -q 'Signed Up' || break
  sleep 1
done
docker logs receiver 2>&1 | grep -q '^[0-9a-f]\{40\} {.*"event":"Signed Up"' || {
  cat "$work/first.log"
  exit 1
}
docker rm --force receiver >/dev/null
say "the first event of the guide arrives"

compose exec -T control cli/sluice backup >"$work/sluice.backup" 2>/dev/null
compose exec -T control cli/sluice restore - --dry-run <"$work/sluice.backup" >"$work/restore.txt"
grep -Eq '^source +0 +0 +2 +0$' "$work/restore.txt" || {
  cat "$work/restore.txt"
  exit 1
}
say 'a backup can be made and read in the container'

docker build --quiet --file "$work/Dockerfile" --build-arg VERSION=next --tag sluice . >/dev/null
inside bash -euo pipefail -c "$(commands 'Upgrade with Compose' | grep -v ' build$')" >"$work/upgrade.log" 2>&1 || {
  cat "$work/upgrade.log"
  exit 1
}
for service in ingest router deliverer control; do
  image=$(docker inspect --format '{{.Image}}' "$(compose ps --quiet "$service")")
  [ "$(docker image inspect "$image" --format '{{index .Config.Labels "org.opencontainers.image.version"}}')" = next ] ||
    { echo "$service was not upgraded"; exit 1; }
done
say 'the upgrade of the guide replaces all four processes'

compose exec -T control cli/sluice lag >"$work/lag.txt"
grep -q deliverer "$work/lag.txt"
say 'sluice lag works in the container'

compose exec -T control node --input-type=module --eval '
  const page = await fetch("http://127.0.0.1:8081/docs/")
  process.exit(page.ok && (await page.text()).includes("Sluice documentation") ? 0 : 1)'
say 'control serves the documentation'

for service in ingest router deliverer control; do
  # shellcheck disable=SC2016 # expands in the container
  compose exec -T "$service" sh -c '
    ! touch /tmp/file 2>/dev/null && [ "$(id -u)" = 1000 ] &&
    grep -q "NoNewPrivs:.1" /proc/1/status && grep -q "CapBnd:.0000000000000000" /proc/1/status' ||
    { echo "$service has privileges that it does not need"; exit 1; }
done
say 'user 1000, a read-only file system, no capabilities'

compose stop ingest router deliverer control >/dev/null 2>&1
codes=$(compose ps --all --format '{{.Service}} {{.ExitCode}}' | grep -E '^(ingest|router|deliverer|control) ')
[ "$(grep -c ' 0$' <<< "$codes")" = 4 ] || {
  echo "exit codes after SIGTERM:" "$codes"
  exit 1
}
say 'SIGTERM ends all four processes with exit code 0'

compose down --volumes >/dev/null 2>&1
# tests on a broker and a registry in containers, as on a machine without Java
inside env PATH="$repo/node_modules/.bin:$PATH" JAVA_HOME="$work/no-java" TRY_COMPOSE_FILE="$work/compose.yml" \
  TESTCONTAINERS_RYUK_DISABLED=true \
  vitest run --project real test/flow/{registry,settings,metrics,kafka.reader}.test.ts >"$work/tests.log" 2>&1 || {
  tail -n 60 "$work/tests.log"
  exit 1
}
say "tests with containers: $(tail -n 1 "$work/tests.log")"

echo "passed after $SECONDS s"

#!/usr/bin/env bash
# Sourced by try.sh. Sets up a Docker Engine from Debian packages, in its own folder, mount namespace and network namespace. On the
# machine it changes only one address, one NAT rule and IP forwarding; `stop_engine` undoes this.

: "${work:?is set by try.sh}" "${repo:?}"

ns=sluice-try
link=sluice-try0
net=10.231.7
release=trixie # has a recent enough Docker
tree=$work/debian forwarding=''

# Succeeds if an engine is possible. Otherwise prints why not, and fails.
why_no_engine() {
  local missing='' program
  [ "$(id -u)" = 0 ] || { echo 'only root can start one'; return 1; }
  for program in debootstrap iptables ip nsenter unshare mvn; do
    command -v "$program" >/dev/null || missing+=" $program"
  done
  [ -z "$missing" ] || { echo "programs to set one up are missing:$missing"; return 1; }
  unshare --mount --net true 2>/dev/null || { echo 'this machine does not allow namespaces'; return 1; }
}

# The archive of this machine's packages.
# shellcheck disable=SC2016 # apt expands it
archive() { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sort -u | grep -vE 'security|snapshot' | sed -n 1p; }

make_trees() {
  if [ ! -e "$tree" ]; then
    debootstrap --variant=minbase --include=ca-certificates "$release" "$tree.part" "$(archive)" >"$work/debian.log" 2>&1
    # a company's proxy may use its own certificate
    cp /etc/ssl/certs/ca-certificates.crt "$tree.part/etc/ssl/certs/"
    mv "$tree.part" "$tree"
    say "Debian $release"
  fi
  if [ ! -e "$work/engine" ]; then
    rm -rf "$work/engine.part"
    cp -a "$tree" "$work/engine.part"
    cp /etc/resolv.conf "$work/engine.part/etc/"
    # starts no services
    printf '#!/bin/sh\nexit 101\n' > "$work/engine.part/usr/sbin/policy-rc.d"
    chmod +x "$work/engine.part/usr/sbin/policy-rc.d"
    DEBIAN_FRONTEND=noninteractive chroot "$work/engine.part" apt-get install -y -qq --no-install-recommends \
      docker.io docker-cli docker-compose docker-buildx iptables >"$work/engine.log" 2>&1
    mv "$work/engine.part" "$work/engine"
    say 'the packages of Docker'
  fi
}

make_network() {
  forwarding=$(cat /proc/sys/net/ipv4/ip_forward)
  ip netns add "$ns"
  ip link add "$link" type veth peer name eth0 netns "$ns"
  ip addr add "$net.1/30" dev "$link"
  ip link set "$link" up
  ip -n "$ns" addr add "$net.2/30" dev eth0
  ip -n "$ns" link set eth0 up
  ip -n "$ns" link set lo up
  ip -n "$ns" route add default via "$net.1"
  echo 1 > /proc/sys/net/ipv4/ip_forward
  iptables -t nat -A POSTROUTING -s "$net.0/30" ! -o "$link" -j MASQUERADE
}

start_engine() {
  make_trees
  export DOCKER_HOST=unix://$work/docker.sock DOCKER_CONFIG=$work/config
  mkdir -p "$work/config/cli-plugins"
  cp "$work"/engine/usr/libexec/docker/cli-plugins/docker-{compose,buildx} "$work/config/cli-plugins/"
  cp "$work/engine/usr/bin/docker" "$work/config/docker"
  PATH=$work/config:$PATH
  # cleans up after a killed run
  stop_engine
  make_network
  mkdir -p "$work"/{data,exec}
  cp /etc/resolv.conf "$work/engine/etc/resolv.conf"
  cat > "$work/engine/enter" <<E
set -e
mount --make-rprivate /
cd $work/engine
mount --bind . .
cd $work/engine
for each in proc sys dev; do mount --rbind /\$each \$each; done
# compose mounts files of the repository into containers
for each in $work $repo; do mkdir -p .\$each; mount --bind \$each .\$each; done
pivot_root . mnt
cd /
umount -l /mnt
mount -t tmpfs tmpfs /run
exec dockerd --data-root $work/data --exec-root $work/exec --pidfile $work/dockerd.pid -H $DOCKER_HOST --storage-driver overlay2 --group root
E
  inside setsid unshare --mount bash "$work/engine/enter" >"$work/dockerd.log" 2>&1 9>&- &
  for ((tries = 150; tries > 0; tries--)); do
    docker version >/dev/null 2>&1 && break
    sleep 0.2
  done
  is_running
}

inside() { nsenter --net="/run/netns/$ns" "$@"; }

is_running() { [ -e "$work/dockerd.pid" ] && [ "$(cat "/proc/$(cat "$work/dockerd.pid")/comm" 2>/dev/null)" = dockerd ]; }

stop_engine() {
  if is_running; then
    docker ps --all --quiet | xargs -r docker rm --force >/dev/null 2>&1
    docker image prune --force >/dev/null 2>&1
    kill "$(cat "$work/dockerd.pid")"
    while is_running; do sleep 0.2; done
  fi
  ip netns del "$ns" 2>/dev/null || :
  ip link del "$link" 2>/dev/null || :
  iptables -t nat -D POSTROUTING -s "$net.0/30" ! -o "$link" -j MASQUERADE 2>/dev/null || :
  [ -z "$forwarding" ] || echo "$forwarding" > /proc/sys/net/ipv4/ip_forward
  # keeps images and layers, so the next run is faster
  rm -rf "$work"/{exec,docker.sock}
}

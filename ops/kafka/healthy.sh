#!/usr/bin/env bash
# healthy.sh NODE_ID [HOST] [PORT]: exits 0 if this broker has joined the cluster and, as far as it knows, every partition has a
# leader. Otherwise it exits 1 and says why. Kafka's own tools start a JVM for each check, which takes seconds of CPU.
#
# Sends a Metadata request, version 1, for all topics: https://kafka.apache.org/protocol#The_Messages_Metadata
# The response leaves out brokers that the controller has fenced.
set -euo pipefail
node=$1 host=${2:-127.0.0.1} port=${3:-9092}

fail() {
  echo "$1"
  exit 1
}

{ exec 3<>"/dev/tcp/$host/$port"; } 2>/dev/null || fail "$host:$port does not accept connections"
# length 16, key 3 (Metadata), version 1, correlation id 1, client id "sluice", no list of topics (all)
printf '\0\0\0\024\0\003\0\001\0\0\0\001\0\006sluice\377\377\377\377' >&3

numbers() { od -An -v -tu1; }
# `dd` reads exactly the size; `head` below may read ahead
read -rd '' -a size < <(dd bs=1 count=4 <&3 2>/dev/null | numbers) || :
[ ${#size[@]} = 4 ] || fail 'the broker closed the connection'
read -rd '' -a response < <(head -c $(((size[0] << 24) + (size[1] << 16) + (size[2] << 8) + size[3])) <&3 | numbers) || :

at=4 # after the correlation id
value=0
int16() {
  value=$(((response[at] << 8) + response[at + 1]))
  at=$((at + 2))
}
int32() {
  value=$(((response[at] << 24) + (response[at + 1] << 16) + (response[at + 2] << 8) + response[at + 3]))
  at=$((at + 4))
}
# a string begins with its length; null has length -1
skip_string() {
  int16
  [ "$value" = 65535 ] || at=$((at + value))
}
skip_list() {
  int32
  at=$((at + 4 * value))
}

int32
count=$value
is_there=false
for ((; count > 0; count--)); do
  int32
  [ "$value" != "$node" ] || is_there=true
  skip_string # host
  int32       # port
  skip_string # rack
done
$is_there || fail "broker $node has not joined the cluster, or is fenced"
int32 # controller
int32
topics=$value leaderless=0
for ((; topics > 0; topics--)); do
  int16 # error
  skip_string
  at=$((at + 1)) # is internal
  int32
  for ((partitions = value; partitions > 0; partitions--)); do
    int16 # error
    int32 # partition
    int32
    [ "$value" != 4294967295 ] || leaderless=$((leaderless + 1)) # -1
    skip_list                                                    # replicas
    skip_list                                                    # in-sync replicas
  done
done
[ "$leaderless" = 0 ] || fail "$leaderless partitions have no leader"

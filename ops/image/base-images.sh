#!/usr/bin/env bash
# Sourced by try.sh. Builds images with the names in Dockerfile and docker-compose.yml from Debian, npm and Maven packages. They
# have what Sluice uses of the published images, but are not those images.

: "${here:?}" "${repo:?}" "${work:?is set by try.sh}" "${tree:?is set by engine.sh}"

make_base_images() {
  local files registry
  registry=$(sed -n 's/^ *image: \(apicurio\/.*\)/\1/p' "$work/compose.yml")
  files=$(node "$here/kafka-files.ts" "${registry#*:}")
  docker image inspect local/debian >/dev/null 2>&1 || tar -C "$tree" --exclude=./var/cache/apt --exclude=./usr/share/doc --exclude=./usr/share/locale --exclude=./usr/share/man -c . |
    docker import --change 'CMD ["bash"]' - local/debian >/dev/null
  make_node "$(sed -n 's/^FROM .*\(node:[^ ]*\).*/\1/p' "$work/Dockerfile" | sort -u)"
  make_java
  make_kafka "$(sed -n 's/^ *image: \(apache\/kafka:.*\)/\1/p' "$work/compose.yml" | sort -u)" "$files"
  make_registry "$registry" "$files"
  say 'base images of Node, Kafka and the registry'
}

# Makes an empty folder for a build. $1: its name
context() {
  rm -rf "$work/context/$1"
  mkdir -p "$work/context/$1"
  echo "$work/context/$1"
}

make_node() {
  local at
  at=$(context node)
  cp "$repo/node_modules/node/bin/node" "$at/"
  (cd "$at" && npm pack --silent npm@11 >/dev/null && mkdir npm && tar -xzf npm-*.tgz -C npm --strip-components 1)
  cat > "$at/Dockerfile" <<'E'
FROM local/debian
COPY node /usr/local/bin/
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && mkdir -p /usr/local/etc \
 && echo cafile=/etc/ssl/certs/ca-certificates.crt > /usr/local/etc/npmrc && useradd --uid 1000 --create-home node
CMD ["node"]
E
  docker build --quiet --tag "$1" "$at" >/dev/null
}

make_java() {
  local at
  at=$(context java)
  cat > "$at/Dockerfile" <<'E'
FROM local/debian
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-21-jre-headless curl >/dev/null 2>&1 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt
E
  docker build --quiet --tag local/java "$at" >/dev/null
}

# $1: the image's name, $2: the folder of Kafka's jars, the jar of its tools, and the registry's archive, one per line
make_kafka() {
  local at
  at=$(context kafka)
  mkdir "$at"/{libs,bin,config}
  cp "$(sed -n 1p <<< "$2")"/*.jar "$(sed -n 2p <<< "$2")" "$at/libs/"
  cat > "$at/bin/kafka-topics.sh" <<'E'
#!/bin/bash
exec java -Xmx128M -cp '/opt/kafka/libs/*' org.apache.kafka.tools.TopicCommand "$@"
E
  cat > "$at/bin/kafka-configs.sh" <<'E'
#!/bin/bash
exec java -Xmx128M -cp '/opt/kafka/libs/*' kafka.admin.ConfigCommand "$@"
E
  cat > "$at/bin/run" <<'E'
#!/bin/bash
set -e
export CLUSTER_ID=${CLUSTER_ID:-c2x1aWNlLXRyeS0tLS0tLQ}
cd /opt/kafka
# writes server.properties from variables and formats the disk
result=$(java -cp '/opt/kafka/libs/*' kafka.docker.KafkaDockerWrapper setup --default-configs-dir /etc/kafka/docker \
  --mounted-configs-dir /mnt/shared/config --final-configs-dir /opt/kafka/config 2>&1) ||
  grep -qi 'already formatted' <<< "$result" || { echo "$result"; exit 1; }
exec java -Xms256M -Xmx512M -XX:+UseG1GC -Dlog4j2.configurationFile=/opt/kafka/config/log4j2.yaml -cp '/opt/kafka/libs/*' \
  kafka.Kafka config/server.properties
E
  chmod 755 "$at"/bin/*
  cat > "$at/config/log4j2.yaml" <<'E'
Configuration:
  Appenders: { Console: { name: OUT, PatternLayout: { pattern: "[%d] %p %m (%c)%n" } } }
  Loggers: { Root: { level: INFO, AppenderRef: [{ ref: OUT }] } }
E
  cp "$at/config/log4j2.yaml" "$at/config/tools-log4j2.yaml"
  echo process.roles=broker,controller > "$at/config/server.properties"
  cat > "$at/Dockerfile" <<'E'
FROM local/java
COPY libs /opt/kafka/libs
COPY bin /opt/kafka/bin
COPY config /etc/kafka/docker
RUN useradd --uid 1000 --create-home appuser && mkdir -p /opt/kafka/config /var/lib/kafka/data /mnt/shared/config \
 && cp /etc/kafka/docker/* /opt/kafka/config && chown -R appuser /opt/kafka/config /var/lib/kafka /mnt/shared
USER appuser
VOLUME ["/var/lib/kafka/data", "/mnt/shared/config"]
CMD ["/opt/kafka/bin/run"]
E
  docker build --quiet --tag "$1" "$at" >/dev/null
}

make_registry() {
  local at
  at=$(context registry)
  mkdir "$at/app"
  tar -xzf "$(sed -n 3p <<< "$2")" -C "$at/app"
  cat > "$at/Dockerfile" <<'E'
FROM local/java
COPY --chown=1001:0 app /deployments
USER 1001
ENTRYPOINT ["sh", "-c", "exec java -Dquarkus.http.host=0.0.0.0 -Djava.util.logging.manager=org.jboss.logmanager.LogManager -jar /deployments/quarkus-run.jar"]
E
  docker build --quiet --tag "$1" "$at" >/dev/null
}

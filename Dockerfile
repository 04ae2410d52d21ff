# One image for all four processes; `command` selects ingest/main.ts, router/main.ts, deliverer/main.ts or control/main.ts.
# The base is pinned by version and digest. To change it: docker buildx imagetools inspect node:<version>-slim

# Needs BuildKit (Docker Engine 23, Podman 4). Stages that run commands use the build machine's platform, so images for other
# platforms build without emulation.
FROM --platform=$BUILDPLATFORM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS console
WORKDIR /sluice
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
# only the console's sources, so that this stage is rebuilt only when they change
COPY tsconfig.json ./
COPY cli/api/missed-calls.ts cli/api/sse.ts cli/api/
COPY control/settings/sample-calls.ts control/settings/
COPY delivery/url-hash.ts delivery/
COPY examples/verify examples/verify
COPY console console
RUN npm run console

# The documentation. Its references are generated from the code, so it is rebuilt when any file changes.
FROM --platform=$BUILDPLATFORM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS site
WORKDIR /sluice
COPY --from=console /sluice/node_modules node_modules
COPY . .
RUN npm run site

# without the npm package of Node (the base image has Node) and without development dependencies
FROM --platform=$BUILDPLATFORM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS packages
ARG TARGETARCH
WORKDIR /sluice
COPY package.json package-lock.json .npmrc ./
# native code is in separate packages, which npm selects by platform; npm calls amd64 x64
RUN if [ "$TARGETARCH" = amd64 ]; then cpu=x64; else cpu=$TARGETARCH; fi; npm ci --omit=dev --ignore-scripts --os=linux --cpu="$cpu"

FROM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Sluice" \
      org.opencontainers.image.description="Receives analytics calls, keeps them in Kafka, and forwards each to webhooks, signed and retried." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
WORKDIR /sluice
COPY --from=packages /sluice/node_modules node_modules
COPY LICENSE package.json config.ts config-values.ts lifecycle.ts ./
COPY process process
COPY schemas schemas
COPY trace trace
COPY kafka kafka
COPY egress egress
COPY http http
COPY settings settings
COPY rules rules
COPY delivery delivery
COPY ingest ingest
COPY router router
COPY deliverer deliverer
COPY control control
COPY --from=console /sluice/console/dist console/dist
COPY --from=site /sluice/site/dist site/dist
# the command line, for `kubectl exec` and `docker compose exec`: cli/sluice lag
COPY local/data-folder.ts local/errors.ts local/lock.ts local/running.ts local/
COPY cli cli
# the CLI talks to control in the same container, whose token is in the environment
ENV SLUICE_URL=http://127.0.0.1:8081
# One malloc arena takes 20 MB less than one per thread (docs/decisions/007-heap.md).
ENV MALLOC_ARENA_MAX=1
# The image's user `node` as a number, because Kubernetes' runAsNonRoot cannot check a name. No process writes files, so the file
# system can be read-only.
USER 1000:1000
# Node handles SIGTERM itself, so it can be PID 1. Use an init (docker run --init) if you run other programs in the container.
# There is no HEALTHCHECK, because the port of the probes depends on the process: compose and Kubernetes set it.
ENTRYPOINT ["node", "--max-semi-space-size=16", "--heap-growing-percent=100", "--no-allocation-site-pretenuring"]

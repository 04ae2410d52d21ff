# One image for the four processes; `command` says which: ingest/main.ts, router/main.ts, deliverer/main.ts, control/main.ts.
# The base is named by version and digest. For another version: docker buildx imagetools inspect node:<version>-slim

FROM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS console
WORKDIR /sluice
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
# only what the console is made of, so that it is built again only when that changes
COPY tsconfig.json ./
COPY cli/api/sse.ts cli/api/
COPY console console
RUN npm run console

# the image has its Node: the one from the npm package, and all that only tests and builds need, stay out
FROM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS packages
WORKDIR /sluice
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts

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
COPY LICENSE package.json config.ts lifecycle.ts ./
COPY process process
COPY schemas schemas
COPY trace trace
COPY kafka kafka
COPY egress egress
COPY http http
COPY settings settings
COPY delivery delivery
COPY ingest ingest
COPY router router
COPY deliverer deliverer
COPY control control
COPY --from=console /sluice/console/dist console/dist
# for `kubectl exec` and `docker compose exec`: cli/sluice lag
COPY local/data-folder.ts local/errors.ts local/lock.ts local/running.ts local/
COPY cli cli
# the image's user `node`, as a number: Kubernetes sees of a name only that it is none. No process writes a file, so that all of
# this can be read-only
USER 1000:1000
# Node is the first process of its container: it listens for SIGTERM itself, and starts no others that it would have to reap. There
# is no HEALTHCHECK, as each process has its probes at a port of its own, of which only compose and Kubernetes know which it runs
ENTRYPOINT ["node", "--max-semi-space-size=16", "--heap-growing-percent=100", "--no-allocation-site-pretenuring"]

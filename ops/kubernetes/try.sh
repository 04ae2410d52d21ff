#!/usr/bin/env bash
# Starts etcd and Kubernetes' API server, and applies the example overlay and the chart to them: the API server checks and stores each
# object. No controller and no node runs, so no pod starts.
#
# Builds both programs with Go from the module in api-server/. The first time, this takes a quarter of an hour on two cores and
# 4 GB of memory. Also needs kubectl, helm, openssl and npm ci. Prints how many objects were accepted; exits with 1 if one was not.
#
# Objects of the Prometheus operator are left out, because no Go module here has its definitions. KEDA's are applied with KEDA's
# definitions. `npm run test:slow` checks both.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)
programs=${XDG_CACHE_HOME:-$HOME/.cache}/sluice/kubernetes
node=$repo/node_modules/.bin/node
missing=''
for program in go kubectl helm openssl "$node"; do command -v "$program" >/dev/null || missing+=" $program"; done
[ -z "$missing" ] || { echo "missing:$missing"; exit 1; }

mkdir -p "$programs"
# the modules may need a newer Go than the installed one
export GOTOOLCHAIN=auto
(cd "$here/api-server" && CGO_ENABLED=0 go build -ldflags='-s -w' -o "$programs/" k8s.io/kubernetes/cmd/kube-apiserver go.etcd.io/etcd/server/v3)

work=$(mktemp -d)
pids=()
finish() {
  # otherwise the API server waits a minute for requests
  [ ${#pids[@]} = 0 ] || kill -9 "${pids[@]}" 2>/dev/null || :
  wait 2>/dev/null
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

read -r etcd peer api < <("$node" -e '
  const { createServer } = require("net")
  const servers = [0, 0, 0].map(() => createServer().listen(0, "127.0.0.1"))
  setTimeout(() => { console.log(servers.map((each) => each.address().port).join(" ")); servers.map((each) => each.close()) }, 50)')
"$programs/server" --data-dir "$work/etcd" --listen-client-urls "http://127.0.0.1:$etcd" --advertise-client-urls "http://127.0.0.1:$etcd" \
  --listen-peer-urls "http://127.0.0.1:$peer" >"$work/etcd.log" 2>&1 &
pids+=($!)

openssl genrsa -out "$work/accounts.key" 2048 2>/dev/null
token=$(openssl rand -hex 16)
echo "$token,admin,1,system:masters" > "$work/tokens"
"$programs/kube-apiserver" --etcd-servers "http://127.0.0.1:$etcd" --bind-address 127.0.0.1 --endpoint-reconciler-type none --secure-port "$api" \
  --cert-dir "$work/certificates" --token-auth-file "$work/tokens" --authorization-mode RBAC --service-cluster-ip-range 10.0.0.0/24 \
  --service-account-issuer https://sluice.invalid --service-account-key-file "$work/accounts.key" \
  --service-account-signing-key-file "$work/accounts.key" >"$work/api-server.log" 2>&1 &
pids+=($!)
kube() {
  kubectl --kubeconfig /dev/null --server "https://127.0.0.1:$api" --token "$token" --certificate-authority "$work/certificates/apiserver.crt" "$@"
}
is_ready() { kube get --raw /readyz >/dev/null 2>&1; }
for ((tries = 120; tries > 0; tries--)); do
  ! is_ready || break
  sleep 1
  for pid in "${pids[@]}"; do kill -0 "$pid" 2>/dev/null || tries=1; done
done
is_ready || { tail -n 20 "$work"/*.log; exit 1; }
echo "the API server of Kubernetes $(cd "$here/api-server" && go list -m -f '{{.Version}}' k8s.io/kubernetes) is ready"

operators=$repo/test/deploy/operators
(cd "$operators" && go mod download github.com/kedacore/keda/v2)
keda=$(cd "$operators" && go list -m -f '{{.Dir}}' github.com/kedacore/keda/v2)
kube apply --server-side -f "$keda/config/crd/bases/keda.sh_scaledobjects.yaml" >/dev/null
kube wait --for condition=Established --timeout 60s crd/scaledobjects.keda.sh >/dev/null

# $1: what it is. Reads the objects from standard input
try() {
  "$node" -e '
    const { parseAllDocuments } = require(process.argv[1])
    const objects = parseAllDocuments(require("fs").readFileSync(0, "utf8")).map((each) => each.toJS()).filter(Boolean)
    const known = objects.filter(({ apiVersion }) => !apiVersion.startsWith("monitoring.coreos.com/"))
    console.error(objects.length - known.length)
    console.log(JSON.stringify({ apiVersion: "v1", kind: "List", items: known }))' "$repo/node_modules/yaml" >"$work/objects.json" 2>"$work/left-out"
  kube apply --server-side --validate=strict -f "$work/objects.json" >"$work/applied" 2>"$work/said" || { cat "$work/said"; exit 1; }
  # the API server warns of deprecated versions, and of pods that the namespace would refuse
  if [ -s "$work/said" ]; then
    cat "$work/said"
    exit 1
  fi
  echo "$1: $(grep -c 'serverside-applied$' "$work/applied") objects are accepted, $(cat "$work/left-out") left out"
}

namespace() {
  kube create namespace "$1" >/dev/null
  kube label namespace "$1" pod-security.kubernetes.io/{enforce,warn}=restricted >/dev/null
}
namespace sluice
kubectl kustomize "$here/overlays/example" | try 'the example overlay'
try 'its secrets' < "$here/overlays/example/secrets.example.yaml"
# $1: the namespace. Helm reports on each run that the chart links files of ops/
chart() {
  helm template sluice "$repo/ops/helm/sluice" --namespace "$1" --kube-version 1.37.0 "${@:2}" 2> >(grep -v '^walk.go' >&2)
}
namespace sluice-chart
chart sluice-chart --values "$repo/ops/helm/values.example.yaml" | try 'the chart with its example values'
namespace sluice-least
chart sluice-least --set kafka.brokers=kafka:9092,schemaRegistry.url=http://registry | try 'the chart with its defaults'

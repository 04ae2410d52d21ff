"""Reads a JSON list of Kubernetes objects and prints what their schemas have against each, one line a fault.

Strict: a field that the schema does not have is a fault, as the API server would drop it. Kinds that are not Kubernetes' own have
no schema here and are passed over.
"""

import json
import sys

import kubernetes_validate

OWN = ("v1", "apps/v1", "batch/v1", "policy/v1", "autoscaling/v2", "networking.k8s.io/v1")

for manifest in json.load(sys.stdin):
    if manifest["apiVersion"] not in OWN:
        continue
    try:
        kubernetes_validate.validate(manifest, "1.37", strict=True)
    except kubernetes_validate.ValidationError as error:
        path = ".".join(str(part) for part in error.path)
        print(f"{manifest['kind']} {manifest['metadata']['name']} {path}: {error.message}")

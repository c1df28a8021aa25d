"""Checks the manifests of examples/kubernetes.

Usage: scripts/manifests.py KUBERNETES JOBSET KUBEFLOW

The arguments are files of schemas, which scripts/setup fetches. A schema has the names and types of
fields, but not how the objects of a file fit each other. So this script also checks names, keys of
a Secret, numbers of PEs, and volumes. At the end it plants mistakes in the manifests (PLANTED), and
fails if it does not find each of them.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import yaml

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples/kubernetes"
# The definition of each kind of object, by apiVersion and kind.
KINDS = {
    ("v1", "Pod"): "io.k8s.api.core.v1.Pod",
    ("v1", "Secret"): "io.k8s.api.core.v1.Secret",
    ("v1", "Service"): "io.k8s.api.core.v1.Service",
    ("batch/v1", "Job"): "io.k8s.api.batch.v1.Job",
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): "jobset.v1alpha2.JobSet",
    ("kubeflow.org/v1", "PyTorchJob"): "kubeflow.org.v1.PyTorchJob",
}
# The Python types of the types of schemas.
TYPES = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}


class Loader(yaml.SafeLoader):
    """Refuses a key that occurs twice, as kubectl does."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.YAMLError(f"line {node.start_mark.line + 1}: {key} occurs twice")
        return super().construct_mapping(node, deep)


class Schemas:
    """The definitions of all files, by name."""

    def __init__(self, files: list[str]) -> None:
        self.of: dict[str, Any] = {}
        for file in files:
            text = json.loads(pathlib.Path(file).read_text())
            self.of |= text.get("$defs") or text["definitions"]

    def find(self, ref: str) -> Any:
        """The definition that a reference names, which may leave out io.k8s.api.core."""
        name = ref.rpartition("/")[2]
        for full in (name, "io.k8s.api.core." + name, "io.k8s.apimachinery.pkg.apis.meta." + name):
            if full in self.of:
                return self.of[full]
        raise KeyError(f"{ref} names no definition")

    def faults(self, value: Any, schema: Any, at: str) -> Iterator[str]:
        """What in a value does not follow its schema; at is the value's place, for messages."""
        if "$ref" in schema:
            schema = self.find(schema["$ref"])
        if "oneOf" in schema:
            ways = [list(self.faults(value, way, at)) for way in schema["oneOf"]]
            if all(ways):
                yield ways[0][0]
            return
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else [k for k in kinds if k != "null"]
        fits = [
            isinstance(value, TYPES[k]) and (k == "boolean" or not isinstance(value, bool))
            for k in kinds
        ]
        if kinds and not any(fits):
            yield f"{at}: {value!r} is not of type {' or '.join(kinds)}"
            return
        if "enum" in schema and value not in schema["enum"]:
            yield f"{at}: {value!r} is none of {', '.join(map(str, schema['enum']))}"
        if isinstance(value, list):
            for i, item in enumerate(value):
                yield from self.faults(item, schema.get("items", {}), f"{at}[{i}]")
        if isinstance(value, dict):
            yield from self.faults_of_fields(value, schema, at)

    def faults_of_fields(self, value: dict[str, Any], schema: Any, at: str) -> Iterator[str]:
        """What in an object, a dict, does not follow its schema."""
        for name in schema.get("required", []):
            if name not in value:
                yield f"{at}: field {name} is missing"
        fields = schema.get("properties", {})
        for name, item in value.items():
            if name in fields:
                yield from self.faults(item, fields[name], f"{at}.{name}")
            elif isinstance(schema.get("additionalProperties"), dict):
                yield from self.faults(item, schema["additionalProperties"], f"{at}.{name}")
            elif fields:
                yield f"{at}: there is no field {name}"


class Pods:
    """The pods of one object.

    first is the DNS name that Kubernetes gives to the first pod ("": none is needed), count their
    number, spec that of a pod, and restart the restart policy.
    """

    def __init__(self, first: str, count: int, template: Any, restart: str) -> None:
        self.first, self.count, self.spec, self.restart = first, count, template["spec"], restart


def pods_of(d: Any) -> Pods | None:
    """The pods of a Job, a JobSet or a PyTorchJob; None for other kinds."""
    name, spec = d["metadata"]["name"], d.get("spec", {})
    if d["kind"] == "Job":
        domain = spec["template"]["spec"].get("subdomain", "")
        return Pods(
            f"{name}-0.{domain}", job_size(spec), spec["template"], restart_of(spec["template"])
        )
    if d["kind"] == "JobSet":
        (only,) = spec["replicatedJobs"]
        job = only["template"]["spec"]
        network = spec.get("network", {})
        domain = network.get("subdomain", name) if network.get("enableDNSHostnames") else ""
        count = job_size(job) * only.get("replicas", 1)
        return Pods(
            f"{name}-{only['name']}-0-0.{domain}",
            count,
            job["template"],
            restart_of(job["template"]),
        )
    if d["kind"] == "PyTorchJob":
        parts = spec["pytorchReplicaSpecs"]
        count = sum(p.get("replicas", 1) for p in parts.values())
        return Pods(
            "", count, parts["Master"]["template"], parts["Master"].get("restartPolicy", "")
        )
    return None


def job_size(spec: Any) -> int:
    """The number of pods of a Job; 0 if they are not indexed or do not all run at the same time."""
    indexed = spec.get("completionMode") == "Indexed"
    return (
        spec["completions"] if indexed and spec.get("parallelism") == spec.get("completions") else 0
    )


def restart_of(template: Any) -> str:
    return template["spec"].get("restartPolicy", "")


def misfits(documents: list[Any]) -> Iterator[str]:
    """What in the objects of a file does not fit together."""
    secrets = {
        d["metadata"]["name"]: d.get("stringData", {}) for d in documents if d["kind"] == "Secret"
    }
    services = {d["metadata"]["name"]: d["spec"] for d in documents if d["kind"] == "Service"}
    for d in documents:
        pods = pods_of(d)
        if pods is None:
            continue
        what = f"{d['kind']} {d['metadata']['name']}"
        if pods.count == 0:
            yield f"{what}: a pod has no number, or not all pods run together"
        if pods.restart != "Never":
            yield f"{what}: restartPolicy is {pods.restart!r}: a lost PE cannot come back"
        for c in pods.spec["containers"]:
            yield from misfits_of_container(what, pods, c, secrets)
        domain = pods.first.partition(".")[2]
        if d["kind"] == "Job":
            service = services.get(domain, {})
            if service.get("clusterIP") != "None" or not service.get("publishNotReadyAddresses"):
                yield f"{what}: {domain!r} is no headless service with addresses that are not ready"
            if service.get("selector") != {"batch.kubernetes.io/job-name": d["metadata"]["name"]}:
                yield f"{what}: the service {domain!r} does not select its pods"


def misfits_of_container(what: str, pods: Pods, c: Any, secrets: dict[str, Any]) -> Iterator[str]:
    """What in a container of these pods does not fit; what names the object in messages."""
    env = {e["name"]: e for e in c.get("env", [])}
    for name, e in env.items():
        key = e.get("valueFrom", {}).get("secretKeyRef")
        if key and key["key"] not in secrets.get(key["name"], {}):
            yield f"{what}: {name}: there is no key {key['key']} in Secret {key['name']}"
    limits = c.get("resources", {}).get("limits", {})
    requests = c.get("resources", {}).get("requests", {})
    gpus = int(limits.get("nvidia.com/gpu", 1))
    session = env.get("SHMEM_BOOTSTRAP_SESSION", {}).get("value", "")
    if pods.first and session.rpartition(":")[0] != pods.first:
        yield f"{what}: SHMEM_BOOTSTRAP_SESSION is {session!r}, and the first pod is {pods.first}"
    npes = env.get("SHMEM_BOOTSTRAP_NPES", {}).get("value", "")
    if pods.first and npes != str(pods.count * gpus):
        yield f"{what}: SHMEM_BOOTSTRAP_NPES is {npes!r}, and there are {pods.count * gpus} PEs"
    if (
        any(name.startswith("hugepages-") for name in limits)
        and not {"cpu", "memory"} & requests.keys()
    ):
        yield f"{what}: huge pages need a request of cpu or memory"
    mounted = {m["name"] for m in c.get("volumeMounts", [])}
    volumes = {v["name"] for v in pods.spec.get("volumes", [])}
    if mounted != volumes:
        yield f"{what}: volumes {sorted(volumes)}, mounted {sorted(mounted)}"


def faults(schemas: Schemas, text: str) -> Iterator[str]:
    """What is wrong in a file."""
    try:
        documents = list(yaml.load_all(text, Loader))
    except yaml.YAMLError as error:
        yield f"it is not YAML: {error}"
        return
    found = []
    for d in documents:
        kind = KINDS.get((d.get("apiVersion"), d.get("kind")))
        if kind is None:
            found.append(f"there is no {d.get('kind')} of {d.get('apiVersion')}")
        else:
            found += schemas.faults(d, schemas.of[kind], d["kind"])
    yield from found or misfits(documents)


# Mistakes: a file, a text in it, the text that replaces it, and the beginning of the report.
PLANTED = [
    ("job.yaml", "completions: 4\n", "completion: 4\n", "Job.spec: there is no field completion"),
    (
        "job.yaml",
        "backoffLimit: 0",
        'backoffLimit: "0"',
        "Job.spec.backoffLimit: '0' is not of type integer",
    ),
    (
        "job.yaml",
        'value: "4"',
        "value: 4",
        "Job.spec.template.spec.containers[0].env[1].value: 4 is not of type string",
    ),
    ("job.yaml", "apiVersion: batch/v1\n", "apiVersion: batch/v2\n", "there is no Job of batch/v2"),
    (
        "job.yaml",
        "  parallelism: 4\n",
        "  parallelism: 4\n  parallelism: 4\n",
        "it is not YAML: line 25: parallelism occurs twice",
    ),
    (
        "job.yaml",
        "  parallelism: 4\n",
        "  parallelism: 2\n",
        "Job shmem: a pod has no number, or not all",
    ),
    (
        "job.yaml",
        "completionMode: Indexed",
        "completionMode: NonIndexed",
        "Job shmem: a pod has no number",
    ),
    (
        "job.yaml",
        "restartPolicy: Never",
        "restartPolicy: OnFailure",
        "Job shmem: restartPolicy is 'OnFailure'",
    ),
    (
        "job.yaml",
        "      subdomain: shmem\n",
        "",
        "Job shmem: SHMEM_BOOTSTRAP_SESSION is 'shmem-0.shmem:7000'",
    ),
    ("job.yaml", "clusterIP: None", 'clusterIP: ""', "Job shmem: 'shmem' is no headless service"),
    (
        "job.yaml",
        "job-name: shmem",
        "job-name: shmen",
        "Job shmem: the service 'shmem' does not select its pods",
    ),
    (
        "job.yaml",
        'value: "4"',
        'value: "5"',
        "Job shmem: SHMEM_BOOTSTRAP_NPES is '5', and there are 4 PEs",
    ),
    (
        "job.yaml",
        "key: secret}",
        "key: text}",
        "Job shmem: SHMEM_BOOTSTRAP_SECRET: there is no key text in Secret shmem",
    ),
    (
        "jobset.yaml",
        "subdomain: shmem",
        "subDomain: shmem",
        "JobSet.spec.network: there is no field subDomain",
    ),
    (
        "jobset.yaml",
        "maxRestarts: 3",
        "maxRestarts: three",
        "JobSet.spec.failurePolicy.maxRestarts: 'three' is not of type",
    ),
    (
        "jobset.yaml",
        "    - name: pe\n      replicas",
        "    - replicas",
        "JobSet.spec.replicatedJobs[0]: field name is missing",
    ),
    (
        "jobset.yaml",
        "mountPath: /dev/shm",
        "path: /dev/shm",
        "JobSet.spec.replicatedJobs[0].template.spec.template.spec.containers[0].volume",
    ),
    (
        "jobset.yaml",
        "shmem-pe-0-0.shmem:",
        "shmem-pe-0.shmem:",
        "JobSet shmem: SHMEM_BOOTSTRAP_SESSION is 'shmem-pe-0.shmem:7000'",
    ),
    (
        "jobset.yaml",
        'requests: {cpu: "96", memory: 512Gi}',
        "requests: {}",
        "JobSet shmem: huge pages need a request",
    ),
    (
        "pod.yaml",
        "drop: [ALL]",
        "drop: ALL",
        "Pod.spec.containers[0].securityContext.capabilities.drop: 'ALL' is not of type array",
    ),
    (
        "pytorchjob.yaml",
        'nprocPerNode: "8"',
        "nprocPerNode: 8",
        "PyTorchJob.spec.nprocPerNode: 8 is not of type string",
    ),
    (
        "pytorchjob.yaml",
        "cleanPodPolicy:",
        "cleanPods:",
        "PyTorchJob.spec.runPolicy: there is no field cleanPods",
    ),
    (
        "pytorchjob.yaml",
        "- name: shm #",
        "- name: shn #",
        "PyTorchJob train: volumes ['shn'], mounted ['shm']",
    ),
]


def main() -> int:
    schemas = Schemas(sys.argv[1:])
    passed = failed = 0

    def report(wrong: str) -> None:
        nonlocal passed, failed
        passed, failed = passed + (not wrong), failed + bool(wrong)
        if wrong:
            print(wrong)

    texts = {file.name: file.read_text() for file in sorted(EXAMPLES.glob("*.yaml"))}
    for name, text in texts.items():
        report("\n".join(f"examples/kubernetes/{name}: {fault}" for fault in faults(schemas, text)))
    for name, was, planted, want in PLANTED:
        if was not in texts[name]:
            report(f"{name} does not have {was!r}, in which a mistake is planted")
            continue
        found = list(faults(schemas, texts[name].replace(was, planted, 1)))
        lost = not any(fault.startswith(want) for fault in found)
        report(f"{planted!r} in {name}: found {found}, not {want!r}" if lost else "")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or len(texts) < 3)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Checks the manifests against Kubernetes' own schemas, and what no schema knows.

kubeconform checks them where it is installed, else the package kubernetes-validate, which brings the schemas along
(pip install kubernetes-validate). Without either, and where PyYAML is missing, this prints what is not checked.
"""
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
FILES = sorted(HERE.glob("*.yaml"))


def skip(what):
    print(f"skipped: {what}")
    sys.exit(0)


try:
    import yaml
except ImportError:
    skip("PyYAML is missing (pip install pyyaml), so scripts/kubernetes/ is not checked")

manifests = {path.name: yaml.safe_load(path.read_text()) for path in FILES}

if shutil.which("kubeconform"):
    subprocess.run(["kubeconform", "-strict", "-summary", *map(str, FILES)], check=True)
else:
    try:
        import kubernetes_validate
    except ImportError:
        skip("kubeconform and kubernetes-validate are missing (pip install kubernetes-validate), "
             "so scripts/kubernetes/ is not checked")
    for name, manifest in manifests.items():
        kubernetes_validate.validate(manifest, "1.31", strict=True)


def expect(truth, what):
    if not truth:
        sys.exit(f"error: scripts/kubernetes: {what}")


collect, train = manifests["collect.yaml"]["spec"], manifests["train.yaml"]["spec"]
containers = [
    container
    for job in (collect, train)
    for container in job["template"]["spec"]["containers"]
]
for container in containers:
    variables = {variable["name"]: variable for variable in container["env"]}
    expect(int(variables["TASKS"]["value"]) == collect["completions"], "TASKS differs from completions")
    (script,) = container["args"]
    known = {*variables, "JOB_COMPLETION_INDEX", "i"}
    used = set(re.findall(r"\$\{?([A-Za-z_]\w*)", script))
    expect(used <= known, f"{container['name']} uses {used - known}, which nothing sets")
    expect(subprocess.run(["sh", "-n", "-c", script]).returncode == 0, f"{container['name']}: no shell script")
    expect(container["image"] == containers[0]["image"], "two images")
    expect(container["securityContext"]["readOnlyRootFilesystem"], "a writable image")

user = re.search(r"^USER (\d+)", (HERE / "Containerfile").read_text(), re.M)
for job in (collect, train):
    expect(str(job["template"]["spec"]["securityContext"]["runAsUser"]) == user[1], "another user than the image's")
    expect(job["template"]["spec"]["restartPolicy"] == "Never", "podFailurePolicy needs restartPolicy Never")
print(f"{len(FILES)} manifests are valid")

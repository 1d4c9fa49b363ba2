"""Where a result comes from: code, settings, seeds, machine, versions."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("bashkit", "deltalake", "numpy", "pandas", "pysail", "pyspark-client", "tokenizers", "torch")
GENERATED = (":!results", ":!executed", ":!dvc.lock", ":!profiles/*/dvc.lock")


def collect(root: Path) -> dict[str, Any]:
    """Revision, uncommitted changes (generated files aside), hardware and versions. No time, no absolute path."""
    changed = _git(root, "status", "--porcelain", "--", ".", *GENERATED)
    return {
        "revision": _git(root, "rev-parse", "HEAD") or "not a git checkout",
        "uncommitted": sorted(line[3:] for line in changed.splitlines()),
        "hardware": hardware(),
        "versions": {"python": platform.python_version(), **versions(PACKAGES)},
    }


def hardware() -> dict[str, Any]:
    """Processor, cores this process may use, memory in GiB, GPUs, system."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": _cpu_model(),
        "cores": cores,
        "memory_gib": round(pages / 2**30),
        "gpu": _gpus(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions(names: tuple[str, ...]) -> dict[str, str]:
    """Installed versions; packages that are not installed are left out."""
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def markdown(record: dict[str, Any]) -> str:
    """The cell at the top of an executed notebook."""
    machine, changed = record["hardware"], record["uncommitted"]
    state = f"{len(changed)} uncommitted changes ({', '.join(changed[:3])}{' …' if len(changed) > 3 else ''})"
    rows = {
        "revision": f"`{record['revision']}`, {state if changed else 'clean'}",
        "params": f"`{record['params_file']}`, hash `{record['params_hash']}`",
        "inputs": f"`{record['key'][:12]}` (code, settings and results read)",
        "item": ", ".join(f"{k} = {v}" for k, v in record["item"].items()) or "–",
        "seed": str(record["seed"]),
        "machine": f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}"
        + (f", {', '.join(machine['gpu'])}" if machine["gpu"] else ", no GPU"),
        "versions": ", ".join(f"{name} {version}" for name, version in record["versions"].items()),
    }
    lines = [f"| **{name}** | {value} |" for name, value in rows.items()]
    return "\n".join(["| provenance | |", "|---|---|", *lines])


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.rstrip() if done.returncode == 0 else ""


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _gpus() -> list[str]:
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return []
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []

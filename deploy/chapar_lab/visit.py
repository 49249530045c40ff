"""Going into a node of a lab that is up: a shell, or one command, in its network."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, NoReturn

from chapar_lab.namespaces import NEW_MOUNT, NEW_NETWORK, NEW_PROCESSES, NEW_USER, setns

if TYPE_CHECKING:
    from collections.abc import Sequence


def open_namespaces(network: int, *, is_user: bool) -> tuple[int, ...]:
    """Descriptors of the namespaces of this process, with another network; for `visit`."""
    names = [*(["user"] if is_user else []), "mnt", "pid"]
    return (*(os.open(f"/proc/self/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in names), network)


def visit(descriptors: Sequence[int], node: int, command: Sequence[str]) -> int:
    """Run a command (none: a shell) in the namespaces of `open_namespaces`; returns its exit code."""
    here = os.getcwd()
    kinds = (NEW_USER, NEW_MOUNT, NEW_PROCESSES, NEW_NETWORK)[-len(descriptors) :]
    for descriptor, kind in zip(descriptors, kinds, strict=True):
        setns(descriptor, kind)
    child = os.fork()
    if child == 0:
        _become(node, here, command or _shell())
    while True:
        try:
            _, status = os.waitpid(child, 0)
        except KeyboardInterrupt:
            continue  # it is the command's
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code


def _become(node: int, here: str, command: Sequence[str]) -> NoReturn:
    try:
        os.chdir(here)
    except OSError:
        os.chdir("/")
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
    environ = {**os.environ, "PATH": path, "PS1": f"node {node} $ ", "CHAPAR_LAB_NODE": str(node)}
    try:
        os.execvpe(command[0], list(command), environ)  # noqa: S606 - what the user has asked for
    except OSError as error:
        sys.stderr.write(f"chapar-lab: cannot run {command[0]}: {error.strerror}\n")
        os._exit(127)


def _shell() -> list[str]:
    """One whose prompt says where it is."""
    return ["bash", "--norc", "-i"] if shutil.which("bash") else ["sh", "-i"]

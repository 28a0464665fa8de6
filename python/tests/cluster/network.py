"""A network namespace with a link to this machine, which can be cut. Needs root, `ip` and `nft`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

IS_POSSIBLE = os.geteuid() == 0 and shutil.which("ip") is not None and shutil.which("nft") is not None


class Network:
    """The namespace: its name, this machine's address as seen from there, and its own address."""

    def __init__(self) -> None:
        pid = os.getpid()
        self.name = f"kinesis-{pid}"
        # Of the addresses for benchmarks of networks, which are nobody's.
        prefix = f"198.18.{pid % 256}"
        self.machine, self.host = f"{prefix}.1", f"{prefix}.2"
        self._link = f"kst{pid}"

    def open(self) -> None:
        inside = f"{self._link}i"
        for command in (
            f"ip netns add {self.name}",
            f"ip link add {self._link} type veth peer name {inside} netns {self.name}",
            f"ip address add {self.machine}/24 dev {self._link}",
            f"ip link set {self._link} up",
            f"ip -n {self.name} address add {self.host}/24 dev {inside}",
            f"ip -n {self.name} link set {inside} up",
            f"ip -n {self.name} link set lo up",
        ):
            _run(command)

    def close(self) -> None:
        """Its link goes with it, once no process is in it any more."""
        subprocess.run(["ip", "netns", "delete", self.name], check=False)
        subprocess.run(["ip", "link", "delete", self._link], check=False, stderr=subprocess.DEVNULL)

    @contextmanager
    def cut(self, *, out: Sequence[str] = (), into: Sequence[str] = ()) -> Iterator[None]:
        """Rules of nftables for what leaves the namespace, and for what comes in, as long as the block runs."""
        chains = [
            [f"chain {hook} {{", f"type filter hook {hook} priority 0;", f"{interface} lo accept", *rules, "}"]
            for hook, interface, rules in (("output", "oifname", out), ("input", "iifname", into))
        ]
        table = ["table inet cut {", *(line for chain in chains for line in chain), "}"]
        _run(f"ip netns exec {self.name} nft -f -", "\n".join(table) + "\n")
        try:
            yield
        finally:
            _run(f"ip netns exec {self.name} nft delete table inet cut")


@contextmanager
def network() -> Iterator[Network]:
    made = Network()
    try:
        made.open()
        yield made
    finally:
        made.close()


def _run(command: str, text: str = "") -> None:
    subprocess.run(command.split(), input=text, text=True, check=True)

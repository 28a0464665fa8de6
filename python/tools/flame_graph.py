"""Draws a flight recording's samples as a flame graph: which code was on the CPU, and who called it.

python python/tools/flame_graph.py recording.jfr picture.svg "what was recorded"

The JDK's own `jfr` reads the recording. A box is a method, as wide as its share of the samples; it stands on its
caller, and at the bottom on what its thread is for. A class of the connector, or a library, that calls itself is one
box, and what is narrower than a hundred-and-twentieth of all is left out.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import picture
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from picture import BLUE, FAINT, GREEN, GREY, GROUND, INK, RED

# By the beginning of a thread's name.
THREADS = {
    "aws-java-sdk-Netty": "event loops",
    "kinesis-shard-r": "shard readers",
    "Executor task": "tasks",
    "sdk-async": "the SDK's results",
    "stream execution": "the driver's batches",
}
OTHERS = "other threads"

# By the beginning of a class's name: whose code a box is.
CONNECTOR = "io.github.kinesisspark."
OWNERS = {
    CONNECTOR: BLUE,
    "org.apache.": GREEN,
    "software.amazon.": RED,
}

# What is called only to call something else.
PLUMBING = ("java.lang.", "java.util.", "scala.")

LEVELS = 24
NARROWEST = 1 / 120
# A character's width, as a share of the picture's.
CHARACTER = 1 / 190
FEWEST_CHARACTERS = 4


@dataclass
class Box:
    """A method and what it calls, by name; samples include those of what it calls."""

    samples: int = 0
    calls: dict[str, Box] = field(default_factory=dict)

    def add(self, stack: Iterable[str]) -> None:
        """Counts a stack, the caller first."""
        box = self
        box.samples += 1
        for frame in stack:
            box = box.calls.setdefault(frame, Box())
            box.samples += 1


def stacks(lines: Iterable[str]) -> Iterator[list[str]]:
    """The stacks of what `jfr print` prints of execution samples, the caller first and the thread's use before it."""
    use, frames = OTHERS, list[str]()
    for line in map(str.strip, lines):
        if line.startswith("jdk.ExecutionSample"):
            use, frames = OTHERS, []
        elif line.startswith("sampledThread = "):
            thread = line.split('"')[1]
            use = next((name for begin, name in THREADS.items() if thread.startswith(begin)), OTHERS)
        elif found := re.match(r"([\w.$/<>]+)\([^)]*\)\s+line:", line):
            frames.append(found[1])
        elif line == "}" and frames:
            yield [use, *told(frames[::-1])]
            frames = []


def told(frames: list[str]) -> list[str]:
    """A stack with a method for each class of the connector and each library that it goes through, and its last one."""
    stack = [*(frame for frame in frames[:-1] if not frame.startswith(PLUMBING)), frames[-1]]
    return [
        frame
        for before, frame, after in zip(["", *stack], stack, [*stack[1:], ""], strict=False)
        if not after or owner(before) != owner(frame)
    ]


def owner(frame: str) -> str:
    """Whose method it is: a class of the connector, or the first names of a package."""
    ours = re.match(r"[a-z.]+\.[A-Z]\w*", frame)
    return ours[0] if ours and frame.startswith(CONNECTOR) else ".".join(frame.split(".")[:2])


def short(frame: str) -> str:
    """A method by its class alone."""
    name = re.sub(r"\$\$Lambda.*?\.", "$lambda.", frame)
    return ".".join(name.rsplit(".", 2)[-2:])


def colour(frame: str) -> str:
    """Of a box, by whose code it is."""
    return next((paint for begin, paint in OWNERS.items() if frame.startswith(begin)), GREY)


def draw(root: Box, title: str) -> Figure:
    """All boxes of a recording."""
    placed = list(_placed(root, 0, 0, root.samples))
    levels = 1 + max(level for level, *_ in placed)
    figure = Figure(figsize=(12, 0.19 * levels + 0.8), layout="constrained")
    axes = figure.add_subplot()
    for level, left, width, frame in placed:
        axes.add_patch(
            Rectangle(
                (left, level), width, 0.92, facecolor=GROUND if level else FAINT, edgecolor=colour(frame), linewidth=0.6
            )
        )
        room = int(width / CHARACTER)
        if room >= FEWEST_CHARACTERS:
            label = short(frame)
            axes.text(
                left + width / 2,
                level + 0.44,
                label if len(label) <= room else label[: room - 1] + "…",
                ha="center",
                va="center",
                size=5.5,
                parse_math=False,
                color=colour(frame) if level else INK,
            )
    axes.set(xlim=(0, 1), ylim=(0, levels), title=f"{title}: {root.samples:,} samples")
    axes.axis("off")
    return figure


def _placed(box: Box, level: int, left: float, whole: int) -> Iterator[tuple[int, float, float, str]]:
    for frame, called in sorted(box.calls.items(), key=lambda item: -item[1].samples):
        width = called.samples / whole
        if width >= NARROWEST and level < LEVELS:
            yield level, left, width, frame
            yield from _placed(called, level + 1, left, whole)
        left += width


def read(recording: Path) -> Box:
    """The samples of a recording."""
    printing = ["jfr", "print", "--events", "jdk.ExecutionSample", "--stack-depth", "64", str(recording)]
    root = Box()
    for stack in stacks(subprocess.run(printing, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()):
        root.add(stack)
    if not root.samples:
        sys.exit(f"{recording} has no samples")
    return root


if __name__ == "__main__":
    recording, to, what = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    owners = "Blue: the connector; green: Spark and others of Apache; red: the AWS SDK; grey: the rest."
    picture.save(draw(read(recording), what), to, f"Flame graph of {what}. {owners}")

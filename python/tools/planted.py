"""Whether the simulation sees faults planted in the engine, one at a time: those of simulation/planted, or mutants.

A mutant is one operator, condition, constant or statement of the engine that is another one or is gone. A seed draws
it, and one that doesn't compile is replaced by the next. Each fault is compiled into the work tree, and the simulation
runs from seed 10000 until a world fails, for 60 s of CPU at most. Prints a row of Markdown for each.

    python/tools/planted.py P05-order-gap-accepted E1     # these; all without a name
    python/tools/planted.py --mutants 30 --seed 1
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLANTED = ROOT / "simulation/planted"
ENGINE = ROOT / "connector/src/main/scala/io/github/kinesisspark"
ROOMS = ["read/plan", "read/coordinator", "read/reader", "write/send"]
# The wire format isn't simulated, nor the memory for its parts, nor does the simulation look at metrics.
LEFT_OUT = re.compile("Json|Cbor|MemoryGate|Answer(Records|Members)|Extractor|Telemetry|Metrics")
FIRST_SEED, SECONDS = 10000, 60
# With compilation, on a machine that others use as well; in seconds.
PATIENCE = 400

OTHERS = [
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r"\bif \((\w[\w.]*)\)", r"if (!\1)"),
    (r"\bif \(!(\w[\w.]*)\)", r"if (\1)"),
    (r"\.exists\(", ".forall("),
    (r"\.forall\(", ".exists("),
    (r"\.filter\(", ".filterNot("),
    (r"\.filterNot\(", ".filter("),
    (r"\.min\(", ".max("),
    (r"\.max\(", ".min("),
    (r"\.isEmpty\b", ".nonEmpty"),
    (r"\.nonEmpty\b", ".isEmpty"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    # A statement that does something and gives nothing.
    (r"^( +)[a-z]\w*(\.\w+)*(\([^()=]*\))$", r"\1Option(()).foreach(identity)"),
]


@dataclass(frozen=True)
class Mutant:
    """Another line in place of one of the engine."""

    file: Path
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        place = self.file.relative_to(ENGINE)
        return f"`{place}:{self.line + 1}` | `{cell(self.before)}` is `{cell(self.after)}`"


def cell(text: str) -> str:
    """As a cell of a table in Markdown."""
    return text.strip().replace("|", "\\|")


def mutants(rooms: list[str]) -> list[Mutant]:
    """All, in the order of their places. What a comment or a message says isn't changed."""
    found = []
    for file in sorted(path for room in rooms for path in (ENGINE / room).rglob("*.scala")):
        if LEFT_OUT.search(file.stem):
            continue
        for number, line in enumerate(file.read_text().splitlines()):
            if re.match(r"\s*(\*|/\*|//|import |package |case class )", line) or '"' in line:
                continue
            for pattern, replacement in OTHERS:
                for match in re.finditer(pattern, line):
                    after = line[: match.start()] + match.expand(replacement) + line[match.end() :]
                    found.append(Mutant(file, number, line, after))
    return found


@contextmanager
def mutated(mutant: Mutant) -> Iterator[None]:
    """The work tree has the mutant meanwhile."""
    whole = mutant.file.read_text()
    lines = whole.split("\n")
    lines[mutant.line] = mutant.after
    mutant.file.write_text("\n".join(lines))
    try:
        yield
    finally:
        mutant.file.write_text(whole)


@contextmanager
def patched(patch: Path) -> Iterator[None]:
    """The work tree has the patch meanwhile."""
    subprocess.run(["git", "apply", patch], cwd=ROOT, check=True)
    try:
        yield
    finally:
        subprocess.run(["git", "apply", "--reverse", patch], cwd=ROOT, check=True)


def seen() -> str | None:
    """The row's cells of seed, seconds of CPU and what failed; nothing if it doesn't compile."""
    asked = f"simulation/run seed={FIRST_SEED} seconds={SECONDS} print=first"
    run = subprocess.Popen(["./sbt", asked], cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        said, _ = run.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        return f"- | - | a world does not end within {PATIENCE} s"
    if failed := re.search(r"seed (\d+) after (\d+) s: (.*)", said):
        return f"{failed[1]} | {failed[2]} | {cell(failed[3])}"
    return f"not seen | {SECONDS} | -" if re.search(r"none in \d+ s", said) else None


def main() -> None:
    """Plant what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--mutants", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "connector"], cwd=ROOT, check=False).returncode:
        sys.exit("connector/ has changes that aren't committed: commit or stash them, as faults are planted there.")
    if asked.mutants:
        drawn = mutants(ROOMS)
        print(f"{len(drawn)} mutants in {', '.join(ROOMS)}; seed {asked.seed}", flush=True)
        random.Random(asked.seed).shuffle(drawn)  # noqa: S311
        rows = 0
        for mutant in drawn:
            with mutated(mutant):
                row = seen()
            if row:
                print(f"| {mutant} | {row} |", flush=True)
                rows += 1
            if rows == asked.mutants:
                break
    else:
        for patch in [PLANTED / f"{name}.patch" for name in asked.names] or sorted(PLANTED.glob("*.patch")):
            with patched(patch):
                row = seen()
            print(f"| {patch.stem} | {row or 'does not compile'} |", flush=True)


if __name__ == "__main__":
    main()

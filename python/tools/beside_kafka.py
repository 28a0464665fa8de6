"""Real-time queries from Kafka to Kafka, and from Kinesis to Kinesis: `make bench-beside-kafka`.

Spark's own workloads of real-time mode, each in turn by Spark's source and sink of Kafka and by this connector with
enhanced fan-out, on one machine: 1,000 records a second over four parts, batches of 5 minutes, `local[8]`. The servers
have JVMs of their own. A latency is what lies between a record's arrival in one log and its result's in the other, by
the server's clock.

Prints a line of JSON for each workload and each of both. `--results` names a file that keeps it,
`NAME-beside-kafka.jsonl`, and `--page` a page whose table shows the newest lines of all such files there.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import bench
import marked

from kinesis_spark.local.server import server_command

CLASS_PATH = Path("benchmarks/beside-kafka/target/class-path.txt")
PROGRAM = "io.github.kinesisspark.besidekafka.BesideKafka"
HEAP = "3g"
WARM_UP_S, COUNTED_S = 30, 60
WORKLOADS = ("stateless", "dropDuplicates", "windowed count", "transformWithState")
CARRIERS = ("Kafka", "Kinesis")
SHARES = ("p50", "p99", "p99.9")
# The build's options for JVMs with Spark.
JVM_OPTIONS = Path(__file__).resolve().parents[2] / "project" / "Options.scala"


def opened() -> list[str]:
    """What Spark needs on JDK 17: the packages that the build opens to it."""
    _, _, spark = JVM_OPTIONS.read_text().partition("val spark: Seq[String] = Seq(")
    packages = re.findall(r'^ +"([a-z.]+)"', spark.partition(")")[0], re.MULTILINE)
    return [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in packages]


def command(spark: Path, server: Path, only: str) -> list[str]:
    """The program on Spark's JARs, whose Scala comes before all others'."""
    classes = f"{spark}/*:{CLASS_PATH.read_text()}"
    measured = [str(server), str(WARM_UP_S), str(COUNTED_S), only]
    return [server_command([])[0], f"-Xmx{HEAP}", *opened(), "-cp", classes, PROGRAM, *measured]


def measured(of: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What the program measures.

    Raises:
        subprocess.CalledProcessError: if it fails.
    """
    with subprocess.Popen(of, stdout=subprocess.PIPE, text=True) as program:
        for line in program.stdout or ():
            mark, found, figures = line.partition("measured: ")
            if found and not mark:
                yield json.loads(figures)
    if program.returncode:
        raise subprocess.CalledProcessError(program.returncode, of[-5:])


def table(lines: Sequence[dict[str, Any]]) -> str:
    """A row for each workload."""
    of = {(line["workload"], line["of"]): line for line in lines}
    rows = [
        "| workload | "
        + " | ".join(f"{share}: Kafka | Kinesis | ratio" for share in ("median", "99%", "99.9%"))
        + " |",
        "|---" * 10 + "|",
    ]
    for workload in WORKLOADS:
        kafka, kinesis = of.get((workload, "Kafka")), of.get((workload, "Kinesis"))
        if kafka and kinesis:
            cells = [
                f"{marked.number(kafka[share])} | {marked.number(kinesis[share])} | {kinesis[share] / kafka[share]:.2f}"
                for share in SHARES
            ]
            rows.append(f"| {workload} | {' | '.join(cells)} |")
    missing = sum(line["missing"] for line in lines)
    commits = {f"{line['commit']}, {line['date'][:10]}, Spark {line['spark']}": None for line in lines}
    return (
        "\n".join(rows)
        + f"\n\nMilliseconds, of {min(line['records'] for line in lines):,} records each; {missing} are missing. "
        + f"{'; '.join(commits)}; `make bench-beside-kafka`, {lines[0]['machine']}."
    )


def main() -> None:
    """Measures the workloads that are wanted."""
    parser = bench.parser(__doc__)
    parser.add_argument("--spark", type=Path, required=True, help="the directory of Spark's JARs")
    parser.add_argument("--server", type=Path, required=True, help="the JAR of the local server of Kinesis")
    asked = parser.parse_args()
    for figures in measured(command(asked.spark, asked.server, asked.only)):
        bench.record({"name": f"{figures['workload']} of {figures['of']}", **figures}, asked.results)
    if asked.page:
        names = [f"{workload} of {carrier}" for workload in WORKLOADS for carrier in CARRIERS]
        marked.put(asked.page, "kafka", table(bench.newest(asked.results.parent, "beside-kafka", names)))


if __name__ == "__main__":
    main()

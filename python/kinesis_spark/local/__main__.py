"""`python -m kinesis_spark.local --stream events:4`: the local Kinesis server in the foreground, until Ctrl-C.

All arguments are the server's own; `--help` lists them. When ready it prints one line of JSON with its endpoint.
"""

from __future__ import annotations

import subprocess
import sys

from kinesis_spark.errors import KinesisSparkError
from kinesis_spark.local.server import server_command


def main(arguments: list[str]) -> int:
    """Run the server and return its exit status."""
    try:
        command = server_command(arguments)
    except KinesisSparkError as fault:
        sys.stderr.write(f"{fault}\n")
        return 1
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            # The terminal sent it to the server too, which is closing down now.
            continue


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

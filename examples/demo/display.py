"""What is shown while the demo runs: one table that changes in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from measurements import Run
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

LINE_EVERY_S = 5.0


class Display:
    """Shows a run; `state` says in words what happens."""

    def __init__(self, console: Console, run: Run, total: int) -> None:
        self._console = console
        self._run = run
        self._total = total
        self._started = time.time()
        self._next_line = 0.0
        self._live = Live(console=console, refresh_per_second=4) if console.is_terminal else None

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        """Something that happened once."""
        self._print(text)

    def show(self, state: str, counted: int) -> None:
        """The run as it is now."""
        if self._live is not None:
            self._live.update(self._table(state, counted))
        elif time.time() >= self._next_line:
            self._next_line = time.time() + LINE_EVERY_S
            self._print(f"{state}: {'; '.join(f'{k} {v}' for k, v in self._facts(counted))}")

    def _facts(self, counted: int) -> list[tuple[str, str]]:
        now = time.time()
        last = self._run.batches[-1] if self._run.batches else None
        lag = next((b.lag for b in reversed(self._run.batches) if b.lag is not None), None)
        return [
            ("sent", f"{self._run.total_sent:,} at {self._run.rate_sent(now):,.0f}/s"),
            ("counted", f"{counted:,} at {self._run.rate_read(now):,.0f}/s"),
            ("batch", "none yet" if last is None else f"{last.number} in {last.duration * 1000:.0f} ms"),
            ("lag", "none yet" if lag is None else f"{lag:.2f} s"),
        ]

    def _table(self, state: str, counted: int) -> Table:
        table = Table.grid(padding=(0, 2))
        table.add_row("query", f"[bold]{state}[/bold]")
        for name, value in self._facts(counted):
            table.add_row(name, value)
        table.add_row("", ProgressBar(total=self._total, completed=counted, width=60))
        return table

    def _print(self, text: str) -> None:
        # Whole lines, so that a path can be copied from them.
        self._console.print(f"{time.time() - self._started:5.1f} s  {text}", highlight=False, soft_wrap=True)

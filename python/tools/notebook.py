"""Runs the notebook of the documentation and keeps what it prints: `make notebook`. A test runs it, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "getting-started" / "notebook.ipynb"
TIMEOUT_S = 180


def run(folder: Path) -> Any:  # noqa: ANN401  (nbformat has no types)
    """The notebook with what its cells print.

    Args:
        folder: where it runs.

    Raises:
        CellExecutionError: if a cell raises an error.
    """
    notebook = _read(NOTEBOOK)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=TIMEOUT_S, kernel_name="python3", resources=resources).execute()
    return notebook


def as_markdown(path: Path) -> str:
    """A notebook as a page: its texts, its code, and what that prints."""
    parts: list[str] = []
    for cell in _read(path).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        tables = [output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})]
        texts = "".join(_text(output) for output in cell.outputs if "text/html" not in output.get("data", {}))
        # A wide table scrolls; it doesn't cover what is beside it.
        parts += [table.replace("<pre>", '<pre style="overflow-x: auto">') for table in tables]
        if texts:
            parts.append(f"```text\n{texts.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def printed(notebook: Any) -> str:  # noqa: ANN401
    """All that the cells print as text."""
    return "".join(_text(output) for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs)


def _text(output: Any) -> str:  # noqa: ANN401
    """What an output shows; of errors and warnings of other programs nothing."""
    if output.output_type == "stream":
        return str(output.text) if output.name == "stdout" else ""
    return str(output.get("data", {}).get("text/plain", ""))


def _read(path: Path) -> Any:  # noqa: ANN401
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def _keep(notebook: Any) -> None:  # noqa: ANN401
    """Without what differs in each run and says nothing."""
    for cell in notebook.cells:
        cell.metadata.clear()
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, NOTEBOOK)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as working:
        _keep(run(Path(working)))

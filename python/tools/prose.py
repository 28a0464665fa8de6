"""The prose linter: proselint with the terms of this project. `python python/tools/prose.py` prints what it finds.

It reads pages without their code, docstrings, comments, and texts in quotes with a space in them: errors, log messages,
option texts, test titles. Each term below has a plainer form, or one that the field uses. Spelling is for typos
(`_typos.toml`).
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from proselint.checks import __register__ as all_checks
from proselint.config import DEFAULT
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check, CheckFlags, types
from proselint.tools import LintFile

ROOT = Path(__file__).resolve().parents[2]

# A word or phrase, as a regular expression, and what to write for it.
PLAIN = {
    r"tells?|told|telling": "report, say, or fail with",
    r"for ever": "without end",
    r"(?:goes|go|going|went|gone) on": "continue",
    r"(?:comes|came|come|coming) of": "result",
    r"in so many words": "name the thing",
    r"no matter": "regardless",
    r"seldome?r?": "less often",
    r"by and by": "gradually",
    r"hands? (?:it |them |each record )?on": "return, or send",
    r"dealt out": "assigned",
    r"heeds?": "respect",
    r"amid": "in the middle of",
    r"somebody else's": "another reader's",
    r"so lately|too lately": "less than ... ago",
    r"by other people": "third-party",
    r"(?:is|are) no (?:option|checkpoint)s?": "is not one, or unknown",
    r"(?:is|are) none that": "name what is allowed",
    r"whence|thence|thereof|whereof|therein|hither": "a plain word",
    r"put on the clock|puts? the clock on": "advance the clock",
    r"white ?lists?|black ?lists?": "allow list, or deny list",
    r"utili[sz]es?|leverages?": "use",
    r"simply|just simply|obviously|of course": "nothing: leave it out",
    r"data stream(?:s)? shard": "shard",
    r"consumer groups?": "stream consumer",
    r"back-pressure": "backpressure",
    r"micro ?batch(?:es)?": "micro-batch",
    r"check point(?:s|ing)?": "checkpoint",
    r"time ?stamp extractor": "arrival time",
}

# Checks of proselint that judge other kinds of text.
OFF = (
    "annotations",  # for the linters of code
    "dates_times",
    "hedging",
    "misc.but",
    "misc.phrasal_adjectives",  # "exactly-once" is a name
    "misc.suddenly",
    "restricted",
    "spelling",  # typos does that
    "typography",  # straight quotes, and an x for times
    "weasel_words",
)

MARKDOWN = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs")
CODE = ("benchmarks", "connector", "examples", "fuzz", "integration-tests", "project", "python", "testkit")
# The linter's own terms and examples.
SELF = ("python/tools/prose.py", "python/tests/test_prose.py")


def texts(path: Path) -> str:
    """The prose of a file, at its lines; all else is blank."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        ended = re.sub(r"^#+ (.*)$", r"\1.", text, flags=re.MULTILINE)
        return _blanked(ended, r"^(```|~~~).*?^\1|`[^`\n]*`|<!--.*?-->|\]\([^)]*\)|https?://\S+|^\|[-|]+\|$")
    spans = _python(text) if path.suffix == ".py" else _scala(text)
    kept = ["\n" if c == "\n" else " " for c in text]
    for begin, end in spans:
        kept[begin:end] = text[begin:end]
    return _blanked(
        "".join(kept), r"`[^`\n]*`|\[\[.*?\]\]|https?://\S+|\$\{[^}]*\}|\{[^}\n]*\}|@param \w+|\$\w+|^\s*(?:\*|//+|#+)"
    )


def _blanked(text: str, pattern: str) -> str:
    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    return re.sub(pattern, blank, text, flags=re.MULTILINE | re.DOTALL)


def _python(text: str) -> Iterator[tuple[int, int]]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds and " " in token.string:
            yield starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1]


def _scala(text: str) -> Iterator[tuple[int, int]]:
    pattern = r'/\*.*?\*/|//[^\n]*|"""(.*?)"""|"((?:[^"\\\n]|\\.)*)"'
    for found in re.finditer(pattern, text, re.DOTALL):
        if found[0].startswith("/") or " " in found[0]:
            yield found.span()


def files() -> list[Path]:
    """Those that are checked, as far as the repository has them or will have them with the next commit."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "--", *MARKDOWN, *CODE],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.splitlines()
    chosen = [name for name in dict.fromkeys(listed) if name not in SELF]
    known = [ROOT / name for name in chosen if Path(name).suffix in (".md", ".py", ".scala")]
    return [path for path in known if path.exists()]


def registry() -> CheckRegistry:
    """All checks, proselint's and those of this project."""
    checks = CheckRegistry()
    if not checks.checks:
        checks.register_many(all_checks)
        for pattern, plain in PLAIN.items():
            checks.register(
                Check(
                    check_type=types.ExistenceSimple(pattern=rf"(?i)\b(?:{pattern})\b"),
                    path="kinesis_spark",
                    message=f"'{{}}': write {plain}.",
                    flags=CheckFlags(allow_quotes=True),
                )
            )
    return checks


def findings(path: Path) -> list[str]:
    """What is wrong in a file, each with its line."""
    registry()
    # The first name that begins a check's path decides. Code is read by this project's terms alone.
    pages = dict.fromkeys(OFF, False) | {"kinesis_spark": True} | DEFAULT["checks"] | dict.fromkeys(OFF, False)
    chosen = pages if path.suffix == ".md" else {"kinesis_spark": True}
    prose = texts(path)
    found = LintFile(path, content=prose).lint({**DEFAULT, "checks": chosen})
    return [f"{path.relative_to(ROOT)}:{one.pos[0]}: {' '.join(one.check_result.message.split())}" for one in found]


if __name__ == "__main__":
    wrong = [line for path in files() for line in findings(path)]
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))

"""List the claims of the lessons with their asserts, and the sentences that may be claims.

A claim is marked in the text, `<!-- claim: name -->`, and measured in a cell of the same lesson by
lines that end in `# claim: name`.

python -m tools.checks.claims          # what is open
python -m tools.checks.claims --write  # notebooks/CLAIMS.md, the list of claims and exercises
"""

import re
import sys
from pathlib import Path

import jupytext

ROOT = Path(__file__).parents[2]
LIST = ROOT / "notebooks/CLAIMS.md"
LESSONS = sorted((ROOT / "notebooks").glob("*.py"))
REVIEWED = Path(__file__).with_name("claims_reviewed.txt")
MARK = re.compile(r"<!--\s*claim:\s*(.+?)\s*-->")
ASSERTED = re.compile(r"^ *assert .*?# claim: (.+?)$", re.MULTILINE)
EXERCISE = re.compile(r"^## Exercises|^\*\*\d+\w?\.\d+\*\*")
COMPARISON = re.compile(
    r"\b(better|worse|best|worst|faster|slower|larger|smaller|longer|shorter|fewer|less|more than|"
    r"equal|the same|as good|as fast|fails?|nearly|half|third|quarter|tenth|twice|times as|within|"
    r"below|above)\b",
    re.IGNORECASE,
)
# Digits that count nothing: code, links, formulas, headings, and numbers of lessons and papers.
NAMES = re.compile(
    r"`[^`]*`|\[[^]]*\]\([^)]*\)|\$\$?[^$]*\$\$?|^\d+\w?\.$|et al\., \d{4}|"
    r"\b(?:lessons?|exercise|section|table|equation) \d+\w?(?:\.\d+)?",
    re.IGNORECASE,
)


def claims(lesson):
    """Dict of each marked claim of a lesson -> its asserts."""
    cells = jupytext.read(lesson).cells
    marked = [
        name for c in cells if c.cell_type == "markdown" for name in MARK.findall(flat(c.source))
    ]
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    found = {name: [] for name in marked}
    for match in ASSERTED.finditer(code):
        found.setdefault(match[1], []).append(match[0].partition("#")[0].strip())
    return found


def sentences(lesson):
    """Dict of each marked claim of a lesson -> its text, to the next mark or paragraph."""
    found = {}
    for cell in jupytext.read(lesson).cells:
        if cell.cell_type == "markdown":
            for paragraph in re.split(r"\n\s*\n|\n(?=- )", cell.source):
                _, *parts = MARK.split(flat(paragraph))
                for name, text in zip(parts[::2], parts[1::2], strict=True):
                    found[name] = f"{found.get(name, '')} {text.strip()}".strip()
    return found


def unmarked_asserts(lesson):
    """Names of asserted claims that no sentence of the lesson makes."""
    return sorted(set(claims(lesson)) - set(MARK.findall(flat(lesson.read_text("utf-8")))))


def candidates(lesson):
    """Sentences with a comparison or a number outside of the paragraphs' marked parts."""
    found = []
    for cell in jupytext.read(lesson).cells:
        if cell.cell_type != "markdown" or EXERCISE.search(cell.source):
            continue
        for paragraph in re.split(r"\n\s*\n", cell.source):
            unmarked = MARK.split(flat(paragraph))[0]  # a mark holds to the end of its paragraph
            for sentence in re.split(r"(?<=[.:?!])\s+", unmarked):
                claims_something = COMPARISON.search(sentence) or re.search(
                    r"\d", NAMES.sub("", sentence)
                )
                if claims_something and not sentence.startswith(("#", "|", "![")):
                    found.append(f"{lesson.stem}: {sentence}")
    return found


def flat(text):
    """The text in one line, without the signs of comments."""
    return " ".join(re.sub(r"^# ?", "", text, flags=re.MULTILINE).split())


def reviewed():
    """Sentences that were read and need no measurement: definitions, tasks, advice."""
    return REVIEWED.read_text("utf-8").splitlines()


def outdated():
    """Reviewed sentences that no lesson has any more."""
    current = {sentence for lesson in LESSONS for sentence in candidates(lesson)}
    return [sentence for sentence in reviewed() if sentence not in current]


def claims_and_exercises():
    """Text of the list of all claims with their asserts, and all exercises with their checks."""
    from kerastrans import lessons
    from kerastrans.lessons.course import find_exercise

    lines = [
        "# Claims and exercises",
        "",
        "Comparisons in a lesson are measured in the same lesson: an `assert` fails if the "
        "sentence is not true.",
        "`python -m tools.checks.claims --write` writes this list.",
        "",
        "## Claims",
        "",
        "| lesson | claim | measured by |",
        "|---|---|---|",
    ]
    for path in LESSONS:
        texts = sentences(path)
        for name, asserts in claims(path).items():
            code = "<br>".join(f"`{line}`" for line in asserts).replace("|", "\\|")
            lines.append(f"| [{path.stem}]({path.stem}.ipynb) | {in_table(texts[name])} | {code} |")
    lines += ["", "## Exercises", "", "| exercise | task | mistakes that the check names |"]
    lines.append("|---|---|---|")
    for number in lessons.numbers():
        exercise = find_exercise(number)
        mistakes = "<br>".join(map(in_table, exercise.mistakes))
        lines.append(f"| {number} | {in_table(flat(exercise.task))} | {mistakes} |")
    return "\n".join(lines) + "\n"


def in_table(text):
    """The text as a cell of a table: without signs that a table reads."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def main():
    """Print all claims with their asserts, then all that is open; return the number of those."""
    problems = []
    for lesson in LESSONS:
        for name, asserts in claims(lesson).items():
            print(f"{lesson.stem}: {name}: {'; '.join(asserts) or 'NO ASSERT'}")
            problems += [] if asserts else [f"{lesson.stem}: no assert for {name!r}"]
        problems += [f"{lesson.stem}: no text for {x!r}" for x in unmarked_asserts(lesson)]
        problems += [
            f"neither marked nor reviewed: {x}" for x in candidates(lesson) if x not in reviewed()
        ]
    problems += [f"reviewed, and in no lesson: {x}" for x in outdated()]
    print(*problems, sep="\n")
    return len(problems)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        LIST.write_text(claims_and_exercises(), "utf-8")
    sys.exit(min(main(), 1))

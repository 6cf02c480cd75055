"""From free text to one whole number, or to nothing: a skipped answer.

The policy, where an answer holds several numbers: the last sentence with the strongest cue decides.
Cues are, strongest first, a final answer ("final count", "answer:", a box), a total ("in total",
"the count is"), a conclusion ("so", "=", "making"). In that sentence the number after the last "="
counts, else the first after the cue ("in total" looks back), else the last. Without any cue it is
the last number outside brackets, of a sentence that does not speak of a part (visible, hidden) if
there is one; several different numbers of parts alone are no answer. Neither are several rows of a
list or numbers of several places ("4 in the top row, 3 in the bottom row"), unless they count up
from one. Neither are ranges, bounds, fractions, shares of a number and refusals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from autoeval.counting.capture.answer_numbers import Mention, find_mentions

_FLAGS = re.IGNORECASE
_CUES = [
    r"\bfinal\s+(?:answer|count|total|number)|\b(?:correct|exact)\s+(?:answer|count|number|total)"
    r"|\banswer\b\W*(?:is\b|:|=)",
    r"\btotal(?:s|ing)?\b|\baltogether\b|\boverall\b|\bin\s+all\b"
    r"|\bcount\b\W*(?:is\b|:|=|would be\b)",
    r"\bso\b|\btherefore\b|\bthus\b|\bhence\b|\bmak(?:es|ing)\b|\bgiv(?:es|ing)\b|=",
]
_LOOKS_BACK = r"\bin\s+(?:total|all)\b|\baltogether\b"
_PART = r"\b(?:visible|hidden|covered|covers|hides|occluded|seen)\b"
_REFUSAL = (
    r"\b(?:can\s?not|can['’]?t|unable|not\s+able|impossible|not\s+possible|sorry|not\s+sure)\b"
    r"(?!.*\bbut\b)"
)
_ROW = (
    r"^\s*(?:•|\d+[.)]\s)|\b(?:row|column|line|layer|ring|side|group)\b[^:]{0,20}:"
    r"|^\W*(?:visible|hidden|left|right|top|middle|bottom)\b[^:]{0,20}:"
)
_PLACE = (
    r"\b(?:first|second|third|fourth|fifth|sixth|last|next|top|middle|bottom|left|right|upper|lower)"
    r"\b"
)
_RULES = ("final", "total", "conclusion", "last", "part", "refusal")
_LONGEST = 600  # characters that are read of a sentence; longer ones are mostly repeated words
_MOST = 10**6
_OPERATOR = r"\s*[-+*/x×]"
# A plural such as "circles" is what is counted, not how it is arranged.
_FORMS = {
    "circle": r"\bcircle\b(?!s)|\bcircular|\bring\b",
    "triangle": r"\btriangle\b|\btriangular|\bpyramid",
    "rectangle": r"\brectangle\b|\brectangular|\bgrid\b|\bline\b|\bcolumn\b",
}
_STATED = r"\bconfidence(?:\s(?:level|score))?(?:\s(?:is|of))?\W{0,6}?"
_NUMBER = r"\b(\d{1,3}(?:\.\d{1,9})?)"


@dataclass(frozen=True)
class Extraction:
    """The count read out of an answer, None for a skipped one, and the rule that decided."""

    value: int | None
    rule: str


def extract_count(answer: str) -> Extraction:
    """Read the count out of a model's answer in English.

    Reasoning between ``<think>`` tags is not read, and an answer that ends inside it is skipped.

    Examples
    --------
    >>> extract_count("9 circles are visible and 3 hidden, for a total of 12.")
    Extraction(value=12, rule='total')
    >>> extract_count("Somewhere between ten and twelve.")
    Extraction(value=None, rule='no single number')
    """
    text = re.sub(r"<(think(?:ing)?)>.*?</\1>", " ", answer, flags=_FLAGS | re.DOTALL)
    if re.search(r"<think(?:ing)?>", text, _FLAGS):
        return Extraction(None, "unfinished reasoning")
    sentences = _sentences(text)
    if not sentences:
        return Extraction(None, "empty")
    choices = [_choose(sentence) for sentence in sentences]
    decided = [choice for choice in choices if choice is not None]
    if not decided:
        return Extraction(None, "no number")
    strongest = min(level for level, _ in decided)
    mention = [choice_mention for level, choice_mention in decided if level == strongest][-1]
    if strongest >= _RULES.index("last") and _is_list(sentences, choices, strongest):
        return Extraction(None, "rows of a list")
    return _settle(mention, _RULES[strongest])


def _is_list(
    sentences: list[str], choices: list[tuple[int, Mention] | None], strongest: int
) -> bool:
    """Return whether nothing but the rows of a list decides, and they do not count up from one."""
    deciding = [s for s, c in zip(sentences, choices, strict=True) if c and c[0] == strongest]
    if len(deciding) < 2 or not re.search(_ROW, deciding[-1], _FLAGS):
        return False
    rows = [sentence for sentence in deciding if re.search(_ROW, sentence, _FLAGS)]
    return len(rows) > 1 and not _counts_up(m for s in rows for m in find_mentions(s))


def _counts_up(mentions: Iterable[Mention]) -> bool:
    values = [mention.value for mention in mentions]
    return len(values) > 2 and values == list(range(1, len(values) + 1))


def _sentences(text: str) -> list[str]:
    text = re.sub(r"^\s*[-*•–]\s+", "• ", text, flags=re.MULTILINE)
    text = re.sub(r"\\boxed\s*\{([^}]*)\}", r"\nFinal answer: \1\n", text)
    text = re.sub(r"</?answer>", "\nFinal answer: ", text, flags=_FLAGS)
    text = re.sub(r"<[^<>]*>|[*`$\"#{}]|\\[()\[\]]|_{2,}", " ", text)
    parts = re.split(r"(?<=[.!?;])(?<!^\d\.)\s+|\n+", text, flags=re.MULTILINE)
    return [part.strip()[-_LONGEST:] for part in parts if part.strip()]


def _choose(sentence: str) -> tuple[int, Mention] | None:
    """Return the strength of a sentence's cue (0 strongest) and the number it gives."""
    mentions = find_mentions(sentence)
    if not mentions:
        return None
    for level, cue in enumerate(_CUES):
        cues = list(re.finditer(cue, sentence, _FLAGS))
        if cues:
            return level, _after_equals(sentence, mentions) or _near(cues[-1], level, mentions)
    return _without_cue(sentence, mentions)


def _without_cue(sentence: str, mentions: list[Mention]) -> tuple[int, Mention]:
    if re.search(_REFUSAL, sentence, _FLAGS):
        return _RULES.index("refusal"), mentions[-1]
    before = {m: sentence[: m.start] for m in mentions}
    outside = [m for m in mentions if before[m].count("(") <= before[m].count(")")] or mentions
    if len(outside) > 1 and len(re.findall(_PLACE, sentence, _FLAGS)) > 1:
        last = outside[-1]
        settled = last if _counts_up(outside) else Mention(last.start, last.end, None)
        return _RULES.index("last"), settled
    if not re.search(_PART, sentence, _FLAGS):
        return _RULES.index("last"), outside[-1]
    last = outside[-1]
    if len({mention.value for mention in outside}) > 1:
        last = Mention(last.start, last.end, None)
    return _RULES.index("part"), last


def _near(cue: re.Match[str], level: int, mentions: list[Mention]) -> Mention:
    before = [mention for mention in mentions if mention.end <= cue.start()]
    if before and re.search(_LOOKS_BACK, cue.string[max(cue.start() - 3, 0) : cue.end()], _FLAGS):
        return before[-1]
    after = [mention for mention in mentions if mention.start >= cue.end()]
    if level < 2 and after:
        return after[0]
    return mentions[-1]


def _after_equals(sentence: str, mentions: list[Mention]) -> Mention | None:
    equals = sentence.rfind("=")
    if equals < 0:
        return None
    after = [mention for mention in mentions if mention.start > equals]
    if not after or re.match(_OPERATOR, sentence[after[0].end :]):
        return None
    return after[0]


def _settle(mention: Mention, rule: str) -> Extraction:
    if rule == "refusal":
        return Extraction(None, "refusal")
    if mention.value is None:
        return Extraction(None, "no single number")
    if mention.value != int(mention.value):
        return Extraction(None, "fraction")
    if mention.value > _MOST:
        return Extraction(None, "too large")
    return Extraction(int(mention.value), rule)


def extract_choice(answer: str, choices: Sequence[str]) -> str | None:
    """Read which of ``choices`` (names of patterns) an answer names last, or None."""
    text = re.sub(r"<(think(?:ing)?)>.*?(?:</\1>|$)", " ", answer, flags=re.I | re.S)
    last = {}
    for choice in choices:
        form = _FORMS.get(choice, rf"\b{re.escape(choice)}\b")
        last[choice] = max((m.start() for m in re.finditer(form, text, re.I)), default=-1)
    best = max(last, key=lambda choice: last[choice])
    return best if last[best] >= 0 else None


def extract_confidence(answer: str) -> float | None:
    """Read a confidence in [0, 1] behind the last "confidence" of an answer, else a percentage.

    Numbers above 1, and those with a percent sign, are percentages.
    """
    numbers = re.findall(rf"{_STATED}{_NUMBER}\s?(%|percent)?", answer, re.I)
    numbers = numbers or re.findall(rf"{_NUMBER}\s?(%|percent)", answer, re.I)
    if not numbers:
        return None
    number, sign = numbers[-1]
    value = float(number) / 100 if sign or float(number) > 1 else float(number)
    return value if value <= 1 else None


class ModelExtractor:
    """Has a language model read the count; its prompt has ``{answer}`` and allows -1 for none."""

    def __init__(self, ask: Callable[[None, str], str], prompt: str) -> None:
        self.ask = ask
        self.prompt = prompt

    def __call__(self, answer: str) -> Extraction:
        """Read an answer; anything but one whole number from 0 up makes it a skipped one."""
        if not answer.strip():
            return Extraction(None, "empty")
        reply = self.ask(None, self.prompt.replace("{answer}", answer)).strip()
        number = re.fullmatch(r"(\d{1,7})(?:\.0+)?\.?", reply)
        return Extraction(int(number[1]) if number else None, "model")

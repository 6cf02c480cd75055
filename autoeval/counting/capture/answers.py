"""From free text to one whole number, or to nothing: a skipped answer.

The policy, where an answer holds several numbers:

1. Markup goes first (`answer_markup`): reasoning, tags, LaTeX, tables. JSON states its count by its
   keys, and points or boxes are counted where the words beside them give no number.
2. What stands behind the last correction ("wait", "actually", "let me recount") decides, unless it
   gives no number of all objects.
3. There, the last sentence with the strongest cue: a final answer ("final count", "answer:", a
   box), a total ("in total", "the count is"), a conclusion ("so", "=", "making").
   In that sentence the number after the last "=" counts, else the first after the cue ("in total"
   looks back), else the last. Without any cue it is the only number that is a line alone, if it is
   the first number, else the last sentence that gives a number, but for smaller ones of some of
   the same things ("12 eggs. Two are brown. No eggs are broken.").
4. Numbers of parts (visible, hidden, "of which", "including") and of places ("on the left") decide
   where there is no other, and only if they agree, or one is the sum of the others. Numbers of rows
   never do, nor two kinds that nobody added ("5 red and 7 blue dots"), nor several rows of a list,
   unless they count up from one. Ranges, bounds, fractions, shares and refusals are no answer.
5. Where hidden objects are asked for, numbers that are said of these are the ones of all objects.
6. "No elephants" is 0, unless there is a number of the same things, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from autoeval.counting.capture.answer_markup import (
    CUT_OFF,
    enumerated,
    read_markup,
    without_reasoning,
)
from autoeval.counting.capture.answer_numbers import (
    ALL,
    EACH,
    PART,
    PAST,
    ROW,
    Mention,
    N,
    find_mentions,
    is_included,
    is_of_hidden,
    mark_numbers,
)

_FLAGS = re.IGNORECASE
_CUES = [
    r"\bfinal\s+(?:answer|count|total|number|tally)"
    r"|\b(?:correct|corrected|exact)\s+(?:answer|count|number|total)"
    r"|\banswer\b\W*(?:is\b|:|=|would be\b)",
    r"(?<!sub)\btotal(?:s|l?ing)?\b|\baltogether\b|\boverall\b|\bin\s+all\b"
    r"|\bcount\b\W*(?:is\b|:|=|would be\b)"
    r"|\bnumber\s+of\s+[^.,;:]{1,60}?(?:\b(?:is|was|equals|would be|comes to)\b|:|=)",
    r"(?<!or )\bso\b(?!\s+(?:that|far|many|much)\b)|\btherefore\b|\bthus\b|\bhence\b|="
    r"|\b(?:makes?|making|gives|giving|equals?|amounts?\s+to|adds?\s+up\s+to|comes?\s+to|brings?|"
    r"bringing|sums?\s+(?:up\s+)?to)\b|\b(?:would|should|must|will)\s+be\b"
    r"|\b(?:that|which)(?:['’]s|\s+is)\b|\b(?:best|final)\s+(?:guess|estimate)\b|\bmost\s+likely\b"
    r"|\bI['’]?(?:d|ll|\s+would|\s+will)\s+(?:say|go\s+with|estimate)\b",
]
_LOOKS_BACK = r"\bin\s+(?:total|all)\b|\baltogether\b|\boverall\b(?=\W*$)|\btotal\b(?=\W*$)"
_CORRECTION = (
    r"\b(?:wait|hold\s+on|on\s+second\s+thoughts?|scratch\s+that|oops|correction|i\s+mean|or\s+rather|"
    r"make\s+that|i\s+apologi[sz]e|my\s+mistake|i\s+made\s+an?\s+(?:mistake|error))\b|"
    r"\blet\s+me\s+(?:re-?count|re-?check|re-?examine|re-?evaluate|reconsider|double[- ]check|"
    r"check|verify|correct|look\s+again|count\s+(?:again|(?:them\s+)?once\s+more))|"
    r"\b(?:looking|counting|checking)\s+again\b|\bre-?counting\b|\bre-?count\s*:|"
    r"\bdouble[- ]checking\b|"
    r"\bupon\s+(?:closer|further|re)|\bon\s+closer\b|\b(?:edit|update|revised)\s*:"
)
_AT_START = r"^\W*(?:actually|no,\s|hmm|oh,|sorry,)"
_INNER = (
    r",\s+(?:(?:actually|sorry),?\s|no,\s|no\s+(?=\d|wait\b))"
    r"|\s*\((?=(?:actually|correction|sorry)\b)"
    r"|(?:—|–|\s-|\.\.\.|…)\s*(?:(?:actually|sorry)\b,?\s|no\b,?\s+(?=\d|wait\b|it\b|there\b))"
)
_REFUSAL = (
    r"\b(?:can\s?not|can['’]?t|unable|not\s+able|impossible|not\s+possible|could\s?n['’]?t|could\s+not)\b"
    r"(?!\s+(?:to\s+)?(?:see|find|spot|detect|identify|locate|observe)\s+(?:any|a\s+single)\s+(?!image|picture|photo))(?!\s+be\s+seen\b)"
    r"(?!\s+(?:be|say)\s+(?:\w+\s+)?(?:certain|sure|for\s+(?:sure|certain)))(?!.*\b(?:but|however|though|still|yet)\b)"
    r"|\bplease\s+(?:provide|upload|share|attach|send)\b|\bnot\s+sure\s+(?:how|what|if|whether)\b"
    r"|\b(?:un|in)determin\w+\b|\btoo\s+many\s+to\s+count\b|\bno\s+(?:image|picture|photo)\b"
    r"|\bdepends\s+on\b|\b(?:unclear|need\s+(?:a\s+clearer|to\s+see))\b"
)
_NO_IMAGE = (  # nothing can be seen of it, which is no count of 0: "since no image was attached"
    r"(?<!in\sthe\s)(?<!in\sthis\s)\b(?:image|picture|photo|file)s?\s+(?:(?:is|was|were|has|have|did|does|could|can)\s*(?:not|n['’]t)\s+"
    r"(?:be\s+|been\s+)?(?:load(?:ed)?|attached|provided|displayed|uploaded|visible|available|accessible|seen)"
    r"|(?:is|was|were|seems)\s+(?:missing|unavailable|inaccessible|corrupt\w*))\b"
    r"|\bno\s+(?:image|picture|photo|file)s?\s+(?:(?:is|was|were|has|have|been|being)\s+)*"
    r"(?:given|provided|attached|uploaded|available|shared|received)\b"
)
_OFFER = (
    r"\b(?:let\s+me\s+know|would\s+you\s+like|feel\s+free|for\s+example|if\s+you\s+(?:want|need|wish|like)|"
    r"I\s+(?:can|could)\s+(?:also\s+)?(?:help|count))\b"
)
_ABOUT_TO_SAY = (
    r"\b(?:final|total|overall|answer|count|number)\b[^.!?]{0,60}"
    r"(?::|=|\b(?:is|are|of|be|equals|comes\s+to))\W*$"
)
_RULES = ("final", "total", "conclusion", "last", "part", "refusal")
_LAST = 3
_REFUSED = 5
_LONGEST = 600  # characters that are read of a sentence; longer ones are mostly repeated words
_MOST = 10**6
# A plural such as "circles" is what is counted, not how it is arranged.
_FORMS = {
    "circle": r"\bcircle\b(?!s)|\bcircular|\bring\b",
    "triangle": r"\btriangle\b|\btriangular|\bpyramid",
    "rectangle": r"\brectangle\b|\brectangular|\bgrid\b|\bline\b|\bcolumn\b",
}
_DENIED = (  # "a rectangle, not a circle", "they do not form a triangular grid"
    r"(?:\b(?:not|neither|nor|rather\s+than|instead\s+of)|n['’]t)\s+"
    r"(?:(?:form|make|show|resemble|look|like|appear|seem|to|be|arranged|in|an?|the)\s+)*\w+"
    r"(?:\s+(?:grid|pattern|shape|arrangement|formation|layout))*(?:\s+(?:n?or)\s+(?:an?\s+)?\w+)*"
)
_SPAN = r"(?:between|from|on\sa\sscale\s(?:of|from))?\s?\d\s?%?\s?(?:-|–|to|and)\s?(\d{1,3})\s?%?"
_STATED = (  # "confidence (0-100): 85" names the range first
    rf"\bconfidence(?:\s(?:level|score))?(?:\s?\({_SPAN}\))?(?:\s(?:is|of))?\W{{0,6}}?"
)
_NUMBER = r"(?<!\w)(?<![\d%][-–])(\d{1,3}(?:[.,]\d{1,9})?|(?<!\.)\.\d{1,9})(?!\d|%?[-–]\d)"
_SCALE = (
    r"\s?(?:(%|percent)|\(?(?:/|out\sof|on\sa\sscale\s(?:of|from)\s\d\s?(?:-|–|to))"
    r"\s?([1-9]\d{0,2}))?"
)
_PREPOSITION = (
    r"\b(?:(?<!result\s)(?<!results\s)(?<!resulting\s)in|on|around|across|over|under|near|among|"
    r"between|along|against|inside|at|from|using|via|for|into|by)\s+(?:the\s+|these\s+|about\s+)?$"
    r"|\bwhich\s+(?:has|have|holds?|measures?|contains?)\s+$"
)
_AND = (
    r"(?:[,;]|\band\b)\s*(?:\w+\s+){0,2}\w+\s*:\s*$"
    r"|(?:,|\band\b|\bplus\b|[&+])\s*(?:(?:and|also|another|only|just|about)\s+)*"
    r"(?:(?:an?\s+)?(?:group|set|row|bunch|cluster|line|stack|pile)\s+of\s+)?$"
)
_LIKELY = (
    r"\b(?:probably|likely|perhaps|say|closer\s+to|namely|average|mostly)\s+"
    r"(?:(?:of|about|around)\s+)?$"
)
_ITEM = rf"•|\s*[\w\s]{{1,30}}:\s*{N}\W*$"
_DOING = r"(?:\s+\w+){0,2}?\s+(?:are|were|is|was)\b"
_ALSO = r"\b(?:also|as\s+well\s+as|additionally|besides|in\s+addition)\b"
_SOME = (  # "12 eggs. Two are brown"
    r"\W*(?:(?:of|among)\s+(?:these|those|them)\W+)?(?:(?:only|just|about|at\s+least|the\s+other)\s+)?"
    rf"{N}\s+"
    r"(?:of\s+(?:these|those|them)\s+)?"
    r"(?:are|were|have|appear|look|seem|may|might|could|(?P<one>is|was|has|appears|looks|seems))\b"
)
_WITH = r"\bwith\s+(?:(?:about|only|just)\s+)?$"
_SO_MANY_WITH = r"\s+(?:being\b|(?:\w+\s+)?ones\b|[a-z]+(?<!s)\W*$)"  # "12 eggs, with 2 brown"
_PLACED = r"\s+(?:in|on|at|under|near|behind|beside|by|along)\s+(?:the|a)\s"
_PICTURED = r"s?(?:\s+(?:(?:in|on)\s+(?:the|this)\s+(?:image|picture|photo|scene)|here))?\W*$"
_VERB = r"\b(?:is|are|was|were|be|there|counts?|counted|see|it['’]?s|that['’]?s|have|has|shows?)\b"


@dataclass(frozen=True)
class Extraction:
    """What was read out of an answer.

    Parameters
    ----------
    value : int, optional
        The count; None for a skipped answer.
    rule : str
        What decided, such as ``total`` or ``no single number``.
    """

    value: int | None
    rule: str


@dataclass(frozen=True)
class _Sentence:
    """A sentence with its numbers marked, and how many corrections precede it."""

    text: str
    segment: int
    mentions: tuple[Mention, ...]

    @property
    def cue(self) -> int:
        """The strongest cue of the sentence, 0 the strongest of all, `_LAST` without one."""
        cues = (k for k, cue in enumerate(_CUES) if re.search(cue, self.text, _FLAGS))
        return next(cues, _LAST)


@dataclass(frozen=True)
class _Choice:
    """The number that a sentence gives, and by how strong a rule (0 is strongest)."""

    level: int
    mention: Mention
    sentence: _Sentence


def extract_count(answer: str, *, hidden: bool = False) -> Extraction:
    """Read the count out of a model's answer in English.

    Parameters
    ----------
    answer : str
        As the model gave it.
    hidden : bool
        Whether the question is how many objects are hidden.

    Examples
    --------
    >>> extract_count("9 circles are visible and 3 hidden, for a total of 12.")
    Extraction(value=12, rule='total')
    >>> extract_count("Somewhere between ten and twelve.")
    Extraction(value=None, rule='no single number')
    >>> extract_count("12 in total. 9 are visible, so 3 are hidden.", hidden=True).value
    3
    """
    content = read_markup(answer, hidden=hidden)
    sentences = _sentences(content.text, hidden=hidden)
    if hidden:
        sentences = _of_hidden(sentences)
    if (
        sentences
        and not sentences[-1].mentions
        and re.search(_ABOUT_TO_SAY, sentences[-1].text, _FLAGS)
    ):
        return Extraction(None, CUT_OFF)
    read = _decide(sentences)
    if read.value is not None or read.rule == "refusal":
        return read
    if content.fault:
        return Extraction(None, content.fault)
    if content.located is not None:
        return Extraction(content.located, "points")
    if read.rule == "no number" and (named := enumerated(content.text)):
        return Extraction(named, "list")
    return read


def _sentences(text: str, *, hidden: bool) -> list[_Sentence]:
    text = re.sub(
        r"\b(approx|ca|no|fig|min|max|vs|e\.g|i\.e|etc)\.(?=\s*[\w(])", r"\1", text, flags=_FLAGS
    )
    for inner in (_INNER, rf"(?<=[\w,.)])[^\w\n]{{1,5}}(?=(?:no,?\s+)?(?:{_CORRECTION}))"):
        text = re.sub(inner, lambda match: f"\n{match[0].lstrip(' ,—–.…-')}", text, flags=_FLAGS)
    sentences, segment = list[_Sentence](), 0
    for part in re.split(r"(?<=[.!?;…])\s+|\n+", text):
        part = part.strip()[-_LONGEST:].strip()
        if not part:
            continue
        adjusted = re.match(r"\W*(?:but|however)\b", part, _FLAGS) and any(
            re.search(cue, part, _FLAGS) for cue in _CUES
        )
        if adjusted or re.search(rf"{_AT_START}|{_CORRECTION}", part, _FLAGS):
            segment += 1
        sentences.append(
            _Sentence(mark_numbers(part)[0], segment, tuple(find_mentions(part, hidden=hidden)))
        )
    statements = [s for s in sentences if not re.search(_OFFER, s.text, _FLAGS)]
    return statements if any(s.mentions for s in statements) else sentences


def _of_hidden(sentences: Sequence[_Sentence]) -> list[_Sentence]:
    """Take numbers of hidden objects for those of all, and leave out the others.

    As they are stay final answers without such a number, all sentences where there is none, and
    those without a number.
    """
    chosen = list[_Sentence]()
    for sentence in sentences:
        counts = [m for m in sentence.mentions if m.role not in (ROW, EACH)]
        mentions = [m for m in counts if is_of_hidden(sentence.text, m)]
        # "5 are hidden, including 2 in part"
        mentions = [m for m in mentions if not is_included(sentence.text, m.start)] or mentions
        added = sum(mention.value or 0 for mention in mentions)
        if len(mentions) > 1 and (whole := [m for m in counts if m.value == added]):
            mentions = whole[-1:]  # "2 are fully hidden and 1 partially, 3 in total"
        if mentions or not sentence.mentions or sentence.cue == 0:
            mentions = [replace(mention, role=ALL) for mention in mentions]
            chosen.append(replace(sentence, mentions=tuple(mentions) or sentence.mentions))
    return chosen if any(s.mentions for s in chosen) else list(sentences)


def _decide(sentences: Sequence[_Sentence]) -> Extraction:
    if not any(sentence.mentions for sentence in sentences):
        return Extraction(None, "no number" if sentences else "empty")
    choices = [choice for sentence in sentences if (choice := _choose(sentence)) is not None]
    for segment in sorted({choice.sentence.segment for choice in choices}, reverse=True):
        candidates = [c for c in choices if c.sentence.segment == segment and c.level <= _LAST]
        if candidates:
            strongest = min(choice.level for choice in candidates)
            return _weigh([choice for choice in candidates if choice.level == strongest], sentences)
    if any(re.search(_REFUSAL, sentence.text, _FLAGS) for sentence in sentences):
        return Extraction(None, "refusal")
    counted = _counted_up(sentences)
    return _of_parts(sentences) if counted is None else Extraction(counted, "counting")


def _weigh(deciding: Sequence[_Choice], sentences: Sequence[_Sentence]) -> Extraction:
    """Take the last choice, unless it is one of a list, or the object in question is absent."""
    last = deciding[-1]
    if last.level < _LAST:
        return _settle(last.mention, _RULES[last.level])
    counted = _counted_up(sentences)
    if counted is not None:
        return Extraction(counted, "counting")
    listed = [choice for choice in deciding if re.match(_ITEM, choice.sentence.text)]
    if len(listed) > 1 and listed[-1] is last:
        return Extraction(None, "rows of a list")
    for mention in (choice.mention for choice in deciding[:-1]):
        if mention.value == 0 and mention.noun and last.mention.noun not in ("", mention.noun):
            return Extraction(0, "none")  # "no elephants", whatever else there is
    alone = [c for c in deciding if re.fullmatch(rf"[^\w?]*{N}[^\w?]*", c.sentence.text)]
    if alone == deciding[:1]:
        return _settle(deciding[0].mention, _RULES[_LAST])  # "12", and then how
    chosen = deciding[0]
    for choice in deciding[1:]:
        # "20 people in the park. 3 in the street.": nobody added them
        elsewhere = re.match(rf"\W*{N}{_PLACED}", choice.sentence.text, _FLAGS)
        if elsewhere and chosen.mention.noun and re.search(_PLACED, _behind(chosen), _FLAGS):
            return Extraction(None, "no single number")
        if not _of_some(choice, chosen):
            chosen = choice
    return _settle(chosen.mention, _RULES[_LAST])


def _of_some(choice: _Choice, before: _Choice) -> bool:
    """Whether a number is of some of what was counted before, or of what is there besides."""
    mention, text, earlier = choice.mention, choice.sentence.text, before.mention
    named = "" not in (earlier.noun, mention.noun)
    other = named and earlier.noun != mention.noun
    if other and re.search(_ALSO, text, _FLAGS):
        return True  # "35 coins. There is also a pen"
    if mention.value and named and _behind(choice) == _behind(before):
        return False  # "12 eggs in the image. I can clearly see 11 eggs."
    some = re.match(_SOME, text, _FLAGS)
    if some and some["one"] and mention.value != 1:
        return False  # "12 eggs. 11 looks right"
    alike = some or (named and not other)
    return bool(alike) and (mention.value or 0) < (earlier.value or 0)  # "12 eggs. Two are brown"


def _behind(choice: _Choice) -> str:
    """Return what follows a number in its sentence, but for a plural and where all objects are."""
    return re.sub(_PICTURED, "", choice.sentence.text[choice.mention.end :].lower())


def _of_parts(sentences: Sequence[_Sentence]) -> Extraction:
    """Read a count from numbers of parts alone: the only one, or the sum of the others."""
    parts = [(s.segment, s.cue, m) for s in sentences for m in s.mentions if m.role in (PART, PAST)]
    if not parts or any(m.role == ROW for s in sentences for m in s.mentions):
        return Extraction(None, "rows of a list")
    if any(mention.role == PART for _, _, mention in parts):
        parts = [entry for entry in parts if entry[2].role == PART]
    latest = max(segment for segment, _, _ in parts)
    strongest = min(cue for segment, cue, _ in parts if segment == latest)
    mentions = [m for segment, cue, m in parts if segment == latest and cue == strongest]
    values = [mention.value for mention in mentions]
    if len(set(values)) == 1:
        return _settle(mentions[-1], "part")
    whole = _whole(values)
    return Extraction(None, "no single number") if whole is None else Extraction(int(whole), "part")


def _whole(values: Sequence[float | None]) -> float | None:
    """Return the number that is the sum of all others, of three or more; None where none is."""
    numbers = [value for value in values if value is not None]
    if len(numbers) < max(3, len(values)):
        return None
    largest = max(numbers)
    return largest if largest > 0 and 2 * largest == sum(numbers) else None


def _counted_up(sentences: Sequence[_Sentence]) -> int | None:
    """Return the last number of an answer that counts "1, 2, 3 ..." and says nothing else.

    One number for each of several rows is no such counting.
    """
    by_sentence = [s.mentions for s in sentences if s.mentions]
    mentions = [mention for mentions in by_sentence for mention in mentions]
    values = [mention.value for mention in mentions]
    if len(values) < 3 or values != list(range(1, len(values) + 1)):
        return None
    rows = sum(mention.role != ALL for mention in mentions)
    return None if rows > 1 and rows == len(mentions) == len(by_sentence) else len(values)


def _choose(sentence: _Sentence) -> _Choice | None:
    """Return the number of all objects that a sentence gives; None where it speaks of parts."""
    mentions = [mention for mention in sentence.mentions if mention.role == ALL]
    if not mentions:
        return None
    sentence = replace(sentence, text=_outside_brackets(sentence, mentions))
    mentions = [m for m in mentions if sentence.text[m.start : m.end].strip()]
    level = sentence.cue
    refused = re.search(_REFUSAL, sentence.text, _FLAGS)
    if re.search(_NO_IMAGE, sentence.text, _FLAGS) or (
        level > 1 and refused and any(mention.value != 0 for mention in mentions)
    ):
        return _Choice(_REFUSED, mentions[-1], sentence)
    cues = [*re.finditer(_CUES[level], sentence.text, _FLAGS)] if level < _LAST else []
    if level == _LAST - 1 and "=" not in sentence.text:
        cues = [c for c in cues if any(m.start >= c.end() for m in mentions)]
    if not cues:
        level = _LAST
        return _Choice(level, _without_cue(sentence, mentions), sentence)
    return _Choice(level, _after_equals(sentence) or _near(sentence, cues[-1], mentions), sentence)


def _outside_brackets(sentence: _Sentence, mentions: Sequence[Mention]) -> str:
    """Blank what stands in brackets, unless all the numbers do."""
    outside = re.sub(r"\([^()]*\)?", lambda match: " " * len(match[0]), sentence.text)
    return outside if any(outside[m.start : m.end].strip() for m in mentions) else sentence.text


def _without_cue(sentence: _Sentence, mentions: Sequence[Mention]) -> Mention:
    text = sentence.text
    whole = _whole([mention.value for mention in sentence.mentions])
    if whole is not None:
        return next(mention for mention in sentence.mentions if mention.value == whole)
    before = {m: text[: m.start] for m in mentions}
    if len(mentions) > 1 and any(mention.value == 0 for mention in mentions):
        return _beside_nothing(text, mentions)
    # "27 birds on 4 wires": what stands behind a preposition tells where they are.
    first, *later_mentions = mentions
    kept = [first, *(m for m in later_mentions if not re.search(_PREPOSITION, before[m], _FLAGS))]
    kept = [first, *(m for m in kept[1:] if not _of_first(sentence, first, m))]
    last = kept[-1]
    rest = [m for m in sentence.mentions if m.role == PART and m.start > last.end]
    if (
        rest
        and re.fullmatch(
            r"(?:\s+\w+){0,3}\s*(?:\band\b|\bplus\b|[&+])\s*",
            text[last.end : rest[0].start],
            _FLAGS,
        )
        and not re.match(rf"\s*(?:\w+\s+){{0,2}}?{_VERB}", text[rest[0].end :], _FLAGS)
    ):
        return Mention(last.start, last.end, None)  # "9 circles and 3 hidden ones"
    rates = [m for m in sentence.mentions if m.role == EACH and m.noun]
    if rates and last.noun not in ("", rates[-1].noun):
        return Mention(last.start, last.end, None)  # "3 shelves with 15 books each"
    if len(kept) > 1 and last.value != kept[-2].value:
        between = text[kept[-2].end : last.start]
        fewer = (last.value or 0) < (kept[-2].value or 0)
        joined = rf"{_AND}|{_WITH}" if fewer else _AND  # "12 people with 3 dogs"
        if re.search(joined, between, _FLAGS) and not re.search(_VERB, between, _FLAGS):
            return Mention(last.start, last.end, None)  # two kinds that nobody added
        clauses = (text[kept[-2].end : last.start], text[last.end :])
        if all(re.match(_DOING, part, _FLAGS) for part in clauses) and between.rstrip().endswith(
            ("and", ",")
        ):
            return Mention(last.start, last.end, None)  # "3 are flying and 17 are standing"
    return last


def _of_first(sentence: _Sentence, first: Mention, later: Mention) -> bool:
    """Whether a number is of some of what the first of its sentence counts: "but 2 are brown"."""
    text = sentence.text
    if not first.noun or (later.value or 0) >= (first.value or 0):
        return False
    some = re.match(_SOME, text[later.start :], _FLAGS)
    if some:
        return not some["one"] or later.value == 1
    with_some = re.search(_WITH, text[: later.start], _FLAGS)
    return bool(with_some and re.match(_SO_MANY_WITH, text[later.end :], _FLAGS))


def _beside_nothing(text: str, mentions: Sequence[Mention]) -> Mention:
    """Choose between numbers and "no oranges" in one sentence."""
    first, last = mentions[0], mentions[-1]
    if first.value == 0 and first.noun and last.noun not in ("", first.noun):
        return first  # "no oranges, only 12 lemons"
    before = text[mentions[-2].end : last.start]
    if last.value == 0 and last.noun and not re.search(rf"\bbut\b|{_VERB}", before, _FLAGS):
        return mentions[-2]  # "12 dots and no squares"
    return last


def _near(sentence: _Sentence, cue: re.Match[str], mentions: Sequence[Mention]) -> Mention:
    """Return the number that belongs to a cue of a sentence."""
    before = [mention for mention in mentions if mention.end <= cue.start()]
    after = [mention for mention in mentions if mention.start >= cue.end()]
    if len(after) > 2 and [m.value for m in after] == [*range(1, len(after) + 1)]:
        return after[-1]  # "I count: 1, 2, 3, 4"
    around = sentence.text[max(cue.start() - 3, 0) :]
    if before and (not after or re.match(rf"\W*(?:{_LOOKS_BACK})", around, _FLAGS)):
        return before[-1]
    # "70 to 80, probably around 75"
    narrowed = [
        m
        for m in after
        if m.value is not None and re.search(_LIKELY, sentence.text[: m.start], _FLAGS)
    ]
    if after and after[0].value is None and narrowed:
        return narrowed[0]
    return after[0] if after else mentions[-1]


def _after_equals(sentence: _Sentence) -> Mention | None:
    """Return the result behind the last "=", or before it where a calculation is behind it."""
    text, mentions = sentence.text, sentence.mentions
    equals = text.rfind("=")
    after = [mention for mention in mentions if mention.start > equals >= 0]
    if re.match(rf"=\s*\(?\s*{N}[^=.;]*?[-+×*/]\s*\(?\s*{N}", text[max(equals, 0) :]):
        before = [m for m in mentions if not text[m.end : equals].strip() and m.end <= equals]
        return before[-1] if before else None
    if not after:
        return None
    first, last = after[0], after[-1]
    # "15, minus 2: 13"
    changed = re.search(
        r"\b(?:minus|plus|but|except|however)\b", text[first.end : last.start], _FLAGS
    )
    return last if changed and last.role == ALL else first


def _settle(mention: Mention, rule: str) -> Extraction:
    if mention.value is None:
        return Extraction(None, "no single number")
    if mention.value != int(mention.value):
        return Extraction(None, "fraction")
    if mention.value > _MOST:
        return Extraction(None, "too large")
    return Extraction(int(mention.value), rule)


def extract_choice(answer: str, choices: Sequence[str]) -> str | None:
    """Return which pattern an answer names last; None where it names none, or denies all.

    Parameters
    ----------
    answer : str
        As the model gave it; what it thinks before it answers is passed over.
    choices : sequence of str
        Names of patterns.
    """
    text, last = re.sub(_DENIED, " ", without_reasoning(answer) or "", flags=re.I), {}
    for choice in choices:
        form = _FORMS.get(choice, rf"\b{re.escape(choice)}\b")
        last[choice] = max((m.start() for m in re.finditer(form, text, re.I)), default=-1)
    best = max(last, key=lambda choice: last[choice])
    return best if last[best] >= 0 else None


def extract_confidence(answer: str) -> float | None:
    """Read a confidence in [0, 1] behind the last "confidence" of an answer, else a percentage.

    Numbers above 1, and those with a percent sign, are percentages, but for "8/10", "8 out of 10"
    and "confidence (1-10): 8". A number below 1 is a share of 1 on a scale in brackets, too: models
    answer 0.85 where 0 to 100 was requested. None where there is no such number, as of a range, or
    it is over 100 %.

    Parameters
    ----------
    answer : str
        As the model gave it.
    """
    numbers = re.findall(rf"{_STATED}{_NUMBER}{_SCALE}", answer, re.I)
    numbers = numbers or re.findall(rf"(){_NUMBER}\s?(%|percent)()", answer, re.I)
    if not numbers:
        return None
    span, number, sign, whole = numbers[-1]
    stated = float(number.replace(",", "."))
    if not whole:
        whole = 100 if sign else 1 if stated < 1 else span or (100 if stated > 1 else 1)
    value = stated / float(whole)
    return value if value <= 1 else None


class ModelExtractor:
    """Has a language model read the count.

    Parameters
    ----------
    ask : callable
        Called with None for an image and the prompt; returns the model's answer.
    prompt : str
        With ``{answer}``, which is replaced; it should allow -1 for none.
    """

    def __init__(self, ask: Callable[[None, str], str], prompt: str) -> None:
        self.ask = ask
        self.prompt = prompt

    def __call__(self, answer: str) -> Extraction:
        """Read an answer; anything but one whole number from 0 up makes it a skipped one."""
        if not answer.strip():
            return Extraction(None, "empty")
        reply = self.ask(None, self.prompt.replace("{answer}", answer)).strip()
        number = re.fullmatch(r"(\d{1,7}|\d{1,3}(?:,\d{3})+)(?:\.0+)?\.?", reply)
        return Extraction(int(number[1].replace(",", "")) if number else None, "model")

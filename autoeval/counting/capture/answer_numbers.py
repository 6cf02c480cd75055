"""The numbers of a sentence of an answer, and what each is said of: all objects, a part, or else.

Numbers are marked first, in digits or in words, so that the patterns below see one token for each.
The grammar of number words is our own: the packages text2num and number-parser read 0 to 1300 as
well, but neither "a dozen", "half a dozen", "3 hundred" nor "a hundred and five", number-parser
takes "no one" for 1, and answers are also read where only the standard library is installed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from unicodedata import numeric

# What a number is said of.
ALL = "all"
PART = "part"
ROW = "row"
EACH = "each"
PAST = "past"

_FLAGS = re.IGNORECASE
# Characters for private use: around the index of a number, and in the place of what has been read.
_OPEN = "\ue000"
_CLOSE = "\ue001"
_GONE = "\ue002"
N = f"{_OPEN}\\d+{_CLOSE}"

# --- numbers in words ---
_UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: n for n, word in enumerate(("zero", *_UNITS, *_TEENS))}
_SMALL |= {word: 10 * n for n, word in enumerate(_TENS, start=2)}
_LARGE = {"hundred": 100, "thousand": 1000, "million": 10**6}
_JOIN = r"[\s-]+"
_AND = r"(?:,?[\s-]+(?:and[\s-]+)?)"
_UNIT = "|".join(_UNITS)
_TEEN = "|".join(_TEENS)
_BELOW_100 = rf"(?:(?:{'|'.join(_TENS)})(?:[\s-]*(?:{_UNIT})\b)?|(?:{_TEEN})|zero|(?:{_UNIT}))\b"
_BELOW_1000 = rf"(?:(?:(?:an?|{_BELOW_100}){_JOIN})?hundred\b(?:{_AND}{_BELOW_100})?|{_BELOW_100})"
_WORDS = (
    rf"\b(?:(?:(?:an?|{_BELOW_1000}){_JOIN})?(?:thousand|million)\b(?:{_AND}{_BELOW_1000})?"
    rf"|{_BELOW_1000})"
)
_DOZENS = (
    rf"\b(?:(?:a\s+)?(half)(?:\s+a\s+|[\s-]+)dozen\b|(?:(an?|{_BELOW_100}){_JOIN}dozens?|dozen)\b)"
)
_ARTICLES = {
    "a single": 1,
    "a lone": 1,
    "a couple of": 2,
    "a couple": 2,
    "a pair of": 2,
    "a pair": 2,
}
_ARTICLE = (
    r"\b(?:a\s+(?:single|lone)|a\s+couple(?:\s+of)?|a\s+pair(?:\s+of)?)\b"
    rf"(?!\s+(?:of\s+)?(?:{_OPEN}|hundred|thousand))"  # "a couple of dozen"
)
# "A dog" is one dog where nothing else is said.
_ARRANGED = (
    r"(?:few|couple|lot|bit|part|portion|grid|row|pattern|guess|rough|handful|dozen|hundred|thousand|"
    r"partial|fraction|number|estimate|group|bunch|series|set|collection|total|black|circle\s+of|"
    r"line|column|triangle|rectangle|ring|cluster|variety|mix|pile|stack|crowd|flock|herd|circle|square|"
    r"image|picture|photo|view|large\s+(?:number|group)|great|good|regular|triangular|rectangular|"
    r"circular|single|lone|pair)"
)
_ONLY_A = (
    rf"(?:\b(?:only|just)\s+|^\W*(?:yes,?\s+)?there\s+is\s+|^\W*)(an?)\s+(?!{_ARRANGED}\b)"
    r"(?![^.]*\b(?:number|amount|count|quantity)\b)(?=[a-z]+(?:\s+[a-z]+)?(?:\s+(?:in|on)\s+(?:the|this)\s+\w+)?\W*$)"
)
# "One" is a pronoun before these and after those.
_PRONOUN_BEFORE = (
    r"\b(?:each|every|this|that|which|no|any|not|even|another|other|last|next|first|second|the|by|some|"
    r"missed|extra|odd|little|red|blue|green|black|white|hidden|wrong|same|more|per)\s+$"
)
_PRONOUN_AFTER = (
    r"\s+(?:by\s+one|at\s+a\s+time|another|of\s+(?!a\b)|can\b|could\b|might\b|may\b|would\b|"
    r"should\b|is\b|was\b|has\b|that\b|which\b|who\b|in\b|on\b|at\b|behind\b|from\b|to\b|and\s+only)"
)
# --- numbers in digits ---
_SPACE = "[ \u00a0\u2009\u202f'’]"
_DIGITS = (
    r"(?<![A-Za-z0-9_])(?<!\d[.,])(?<![A-Za-z]-)"
    r"(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d{1,12})?"
    rf"|(?<!\d\s)\d{{1,3}}(?:{_SPACE}\d{{3}})+(?![\d,])(?!\s\d)"
    r"|\d{1,3}(?:\.\d{3}){2,}(?!\d)|(?<!,)\d{1,3},\d{1,2}(?![\d,])|\d{1,15}(?:\.\d{1,12})?)(?!\d)"
)
_REST = (  # "2 hundred and 50", "2 thousand 300"
    r"(?:(?<=hundred)(?:\s+and)?\s+\d{1,2}|(?<=thousand)(?:\s+and)?\s+\d{1,3})\b"
    r"(?!\s*(?:[.,%]\d|%|(?:hundred|thousand|million)\b))"
)
_ISH = r"(?:-?ish\b)?"
_ATTACHED = (  # of digits: ordinals, decades, units
    r"(?:st|nd|rd|th|s|px|cm|mm|m|km|in|ft|deg|fps|mp|ms|h|kg|g|d|pt|pts|am|pm)\b"
)
_POWER = (  # of ten: "10^3", "1.5 × 10^3", "2e3"
    r"(?<![\w.,])(?:(\d{1,9}(?:\.\d{1,9}|,\d{1,2})?)(?:e\+?|\s*×\s*10\s*\^\s*)|10\s*\^\s*)(\d)(?!\w)"
)
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_POWER_RAISED = rf"(?<![\w.,])10([{_RAISED}])(?!\w)"  # "10³"
_FRACTION = r"(?<![\w.,])(\d{1,9})\s?([¼-¾⅐-⅞])"  # "2½"
_NO_COUNT = (  # digits that are dates, times, shares of a network's name
    r"\b(?:in|since|from|during|year)\s+(?:19|20)\d\d\b(?!\s+\w+s\b)"
    r"|\b\d{1,2}:\d{2}\b|https?://\S+"
)

# --- what numbers are said of ---
_UNIT_WORD = (
    r"(?:%|percent\b|per\s+cent\b|°|degrees?\b|pixels?\b|px\b|cm\b|mm\b|km\b|centimet\w+|"
    r"millimet\w+|met(?:er|re)s?\b|inch(?:es)?\b|feet\b|foot\b|ft\b|seconds?\b|minutes?\b|"
    r"hours?\b|days?\b|years?\b|times\b|tries\b|attempts?\b|steps?\b|passes\b|fps\b|dpi\b|"
    r"megapixels?\b|kg\b|grams?\b|units?\s+(?:apart|wide|high|tall|long)|sides?\b|corners?\b|"
    r"angles?\b|dimensions?\b|directions?\b|rows?\b|columns?\b|cols?\b|lines?\b|layers?\b|"
    r"tiers?\b|floors?\b|stor(?:e?ys?|ies)\b|levels?\b|rings?\b|concentric\b|diagonals?\b|quadrants?\b|sections?\b|regions?\b|"
    r"areas?\b|halves\b|parts\b|images?\b|pictures?\b|photos?\b|photographs?\b|patterns?\b|"
    r"colou?rs?\b|types?\b|kinds?\b|sorts?\b|shades?\b|sizes?\b|shapes?\b|varieties\b|"
    r"categories\b|possibilities\b|options?\b|reasons?\b|ways?\b|occluders?\b|groups?\b|"
    r"clusters?\b|sets?\b|legs\b|wheels\b|eyes\b|petals\b|wings\b|arms\b|ears\b)"
)
_MEASURE = (
    r"\b(?:radius|diameter|spac(?:ing|ed)|width|height|side\s+length|distance|angle|resolution|"
    r"scale|length|offset|gap|margin|thickness|wide|tall)\b"
)
_ABOUT = r"(?:(?:of|is|was|are|about|around|approximately|roughly|nearly|almost|every|by|:|=)\s*)*"
_LABELLED = (
    r"\b(?:step|row|column|col|line|figure|fig|image|picture|photo|table|page|no\.|question|layer|"
    r"level|section|option|version|panel|frame|attempt|case|part|example|"
    r"(?:error|status)(?:\s+code)?|http|(?:jersey|shirt|bib|wearing|including)\s+number)"
)
_LABEL = (
    r"(?!(?:image|figure|picture|photo|question|count|total|answer|about|around|are|see|have|only|"
    r"approximately|of|at)\b)[a-z]+(?<!s)"
)
_HOLDS = r"(?:has|have|had|contains?|containing|holds?|holding|with|of|shows?|consists?\s+of|:)"
_DIFFERENT = r"(?:(?!(?:both|the|of|in|at|per|and|or|to|with|for|on|all)\b)\w+\s+)?"
_OBJECTS = (  # "12 onion rings" are no 12 rings, as "3 concentric rings" are
    r"(?!(?:concentric|outer|inner|square|cubic|circular|full|complete|different|distinct|separate|"
    r"other|visible|small|large|big|equal|front|hind|long|short|thin|thick)\b)"
    r"[a-z]+\s+(?:rings|wings|legs|wheels|eyes|petals|arms|ears|meters)\b"
    r"|(?:floor|picture|photo|corner|side|step|row|ring|line)\s+"  # "12 picture frames"
    r"(?!(?:patterns|grids|lengths|columns|was|has|this)\b)[a-z]{2,}s\b"
)
_NUMBERS = (  # that say something else than how many objects there are
    rf"[(\[]\s*-?{N}(?:\s*[,;]\s*-?{N}){{1,3}}\s*[)\]]",  # coordinates
    rf"\b[xy]\s*=\s*{N}",
    rf"(?<!%\s)(?<!percent\s)\bconfiden\w+(?:\W+(?:is|level|score|of|about)\b)*\W{{1,6}}{N}(?:\s*(?:/|out\s+of)\s*{N})?",
    rf"\b(?:rows|columns|lines|steps|layers|images|floors)\s+{N}\s*(?:[-–—,&]|to|and|through)\s*{N}",
    rf"{_LABELLED}\s*#?\s*{N}",
    rf"\b{_LABEL}\s+{N}(?=\s*:\s*(?:about\s+)?{N})",
    rf"(?<!{_CLOSE}\s)\b(?:rows|columns|cols|layers|spacing|size|per\s+row)\s*[:=]\s*{N}",
    rf"#\s?{N}",
    rf"\b(?:rows|columns|layers|lines|groups)\s+{_HOLDS}\s+{N}(?:\s*,\s*{N})*(?:,?\s*and\s+{N})+",
    rf"\bso\s+far\b[^.;]{{0,40}}?{N}|{N}[^.;]{{0,30}}?\bso\s+far\b",
    rf"\b(?:off|wrong|differs?|out|var(?:y|ies))\s+by\s+(?:about\s+|one\s+or\s+)?{N}(?:\s+(?:or|to)\s+{N})?|\b(?:within|error\s+of|uncertainty\s+of)\s+{N}",
    rf"(?:\bbetween\s+{N}\s+and\s+{N}|{N}\s*(?:[-–—~]|to)\s*{N})\s*{_UNIT_WORD}",
    rf"{N}(?:\s*(?:×|by|times|multiplied\s+by)\s*{N})+",
    rf"{N}\s+(?:bunch|pack|box|bag|basket|tray|plate|pile|stack|carton|crate|bowl)(?:es|s)?\s+of\s+{N}",
    rf"{N}\s*[-\s]\s*(?!{_OBJECTS}){_DIFFERENT}(?:{_UNIT_WORD})(?:\s+(?:of|with|by|containing)\s+{N}"
    r"(?:\s+columns?)?)?",
    rf"{N}\s*/\s*{N}",
    rf"{N}\s*(?:%|°|″|′′)|{N}\s+(?:wide|deep|tall|high|long|across|down|apart|thick)\b",
    rf"{_MEASURE}\s*(?:apart\s+)?{_ABOUT}\s*{N}",
    rf"(?:\bnot|n['’]t|\brather\s+than|\binstead\s+of|\bother\s+than|\bas\s+opposed\s+to)"
    rf"\s+(?:just\s+|only\s+|exactly\s+|be\s+)?{N}",
    rf"{N}\s+(?:\w+\s+)?(?:black|dark|grey|gray|occluding|opaque|covering)\s+"
    r"(?:box(?:es)?|rectangle|square|patch(?:es)?|bar|block|mask|region|area)\b(?!s)",
    rf"(?<!\bthe\s)\b(?:black|dark)\s+box(?:es)?\s*[:=]\s*{N}",
    rf"(?:^|(?<=[\s:=(]))[-−]{N}",  # below zero
    rf"\b(?:minus|subtract\w*|remov\w+|without|except(?:\s+for)?|but\s+for)\s+(?:the\s+)?{N}",
)
_BEFORE_RANGES = 13  # patterns above that must be read before ranges are
_BOUND = (
    r"(?:at\s+(?:least|most|minimum)|(?:more|less|fewer|greater|larger|smaller|higher|lower)\s+than|"
    r"(?<!looking\s)over|under|above|below|upwards?\s+of|in\s+excess\s+of|exceed(?:s|ing)?|"
    r"(?<!adds\s)(?<!add\s)(?<!adding\s)(?<!sums\s)up\s+to|a?\s*(?:minimum|maximum)\s+of|"
    r"min(?:imum)?\.?|max(?:imum)?\.?|as\s+many\s+as|beyond)"
)
_SHARE = (
    rf"\b(?:{N}[\s-]+|an?\s+)?(?:half|thirds?|quarters?|fifths?|tenths?)\b(?!\s+a\b)(?!\s+\w*dozen)"
)
_RANGES = (  # and bounds, shares, sums that nobody added up: no single number
    rf"{N}(?:\s*[-+×*/]\s*{N})*\s*[=+×]\s*[.…?]*\s*$",  # cut off before the result
    rf"\bbetween\s+{N}\s+and\s+{N}",
    rf"{N}\s*(?:[-–—~]|(?<!\.)\.\.(?!\.))\s*{N}",
    rf"{N}\s+(?:\w+\s+)?(?:max|min|maximum|minimum|at\s+most|at\s+least|tops)\b(?!\s+{N})",
    rf"{N}\s*(?:,|—|–|-)?\s*\(?(?:to|or|(?:(?:or|but)\s+)?(?:possibly|maybe|perhaps)|or\s+even)\s+{N}\)?",
    rf"{N}[\s-]something\b",
    rf"{N}\s+\w+\s*,?\s*\(?(?:or|(?:or\s+)?(?:possibly|maybe|perhaps))\s+{N}(?=\W*$)",
    rf"{N}\s+{N}\s*/\s*{N}",
    rf"\b{_BOUND}\s+(?:about\s+|around\s+|the\s+)?{N}",
    rf"(?<![=-])(?:[<>]=?|[≤≥⩽⩾])\s*{N}",
    rf"{N}(?:\s*\+|\s+plus\b)(?!\s*(?:or\s+minus|{N}|\w+\s))",
    rf"{N}\s+(?:\w+\s+){{0,2}}?(?:or|and)\s+(?:more|above|over|fewer|less|up(?:wards?)?)\b",
    rf"{N}\s+and\s+an?\s+(?:half|third|quarter)\b",
    rf"(?:{_SHARE}|{N}\s*/\s*{N})\s+(?:of\s+)?(?:(?:the|these|those|all)\s+)*{N}",
    rf"\b(?:twice|double|triple)\s+(?:(?:the|as\s+many\s+as)\s+)?{N}",
    rf"{N}\s+(?:\w+\s+)?pairs?\s+of\b",
    rf"\b(?:couple|few|several|many)\s+(?:of\s+)?(?:{N}|(?:dozen|hundred|thousand)s?\b)",
    r"\b(?:dozens|hundreds|thousands|scores)\b",
    rf"{N}(?:\s*\+\s*{N})+(?!\d|\s*[+=])(?!\s*(?:is|equals|makes|gives)\b)",
)
_TO_EACH = (
    rf"{N}\s+(?:\w+\s+)?(?:each\b|apiece\b|per\s+\w+|(?:in|on|for)\s+(?:each|every|a\s+(?:row|column))"
    rf"\b(?:\s+of\s+(?:the|its)\s+{N})?)",
    rf"\b(?:each|every|per)\s+(?:\w+\s+){{0,3}}{_HOLDS}\s*(?:exactly\s+|about\s+)?{N}",
)
_COUNTED_FROM_ONE = (
    rf"\b(?:number|label|count|mark|index)\w*(?:\s+\w+){{0,3}}?\s+(?:from\s+)?"
    rf"({N})\s*(?:-|–|to|through|until|up\s+to)\s*({N})"
)
_OF_ALL = (  # "9 of the 12 dots", "of the 12 dots, 9 are red": the 12 speak of all
    rf"({N})\s+(?:out\s+)?of\s+(?:(?:the|these|those|all|a\s+total\s+of)\s+(?:\w+\s+)?"
    rf"|(?={N}\s+(?:\w+\s+){{0,2}}?(?:visible|hidden|shown|seen|covered|occluded)\b))({N})"
    rf"|\bof\s+(?:(?:the|these|those|all)\s+(?:\w+\s+)?)?({N})\s+\w+,\s+(?:only\s+|about\s+)?({N})"
    r"(?=\s+(?:is|are|was|were|has|have)\b)"
)
_GIVE_OR_TAKE = (
    rf"({N})\W{{0,3}}(?:±|\+\s?/?\s?[-−]|plus\s*(?:or|/)\s*minus|give\s+or\s+take)\s*(?:about\s+)?{N}"
    rf"(?:\s*(?:or|to|-)\s*{N})?"
)
_CHANGED = r"\b(?:chang|revis|correct|updat|adjust|switch)\w*\b[^.;]{0,40}?\bfrom\s+"

# --- no objects at all ---
_UNCOUNTED = (  # what is not there need not be what is counted
    r"(?:image|picture|photo|photograph|attachment|file|doubt|way|need|reason|indication|evidence|"
    r"information|sign|pattern|box|occlusion|obstruction|overlap|gap|exact|clear|exception|"
    r"answer|number|count|estimate|idea|point|problem|limit|change|difference|longer|matter|space|room|"
    r"text|label|context|detail|guarantee|certainty|other|more|additional|further|extra|partial|"
    r"access|abilit(?:y|ie)|capabilit(?:y|ie)|vision|permission|input|content|data|result|response|"
    r"comment|clue|question|thank|worrie)"
)
_NO_OF_SPANISH = r"(?:se|es|lo|la|me|sé|puedo|podemos|tengo|veo|creo|estoy)\b"  # is "not"
_UNSHOWN = rf"\s+(?:(?:attached|uploaded|provided|visual|actual)\s+)?{_UNCOUNTED}s?\b"
_NOT = r"(?:\b(?:not|cannot|never|hardly)\b|n['’]t\b)"
_BEING = r"(?:is|are|was|were|be|been|to|can|could|appears?|seems?|not|at\s+all|\w+ly)\b"
_THERE = (  # not so "none overlap" and "none are broken", which say nothing of how many there are
    r"(?:in|on|at|here|there|that|which|and|but|or|visible|present|shown|seen|found|detected|depicted|"
    r"pictured|identified|counted|exists?|remain\w*|hidden|covered|occluded|obscured|blocked|unseen|"
    r"behind|beneath|under\w*|missing|else|whatsoever|for|as|since|because|so)\b"
)
_NOBODY = r"(?:nobody|no[\s-]one)"
_AT_ALL = (  # not so "no one in the water", beside others on the beach
    r"(?=(?:\s+(?:visible|present|here|there|at\s+all))?"
    r"(?:\s+in\s+(?:the|this)\s+(?:image|picture|photo|scene))?\s*(?:[,.;:!]|$))"
)
_NOTHING = (
    rf"\bnone\s+of\s+(?:the|these|those)\s+{N}\s+\w+|\bof\s+(?:the|these|those)\s+{N}\s+\w+,?\s+none\b",
    rf"\b(?:no|zero)\s+(?!{_UNCOUNTED}s?\b|{_NO_OF_SPANISH})(?!one\b|{N}|,)(?P<noun>[a-z][\w'-]*(?:\s+[a-z][\w'-]*){{0,2}}?)"
    r"(?=\s+(?:in|on|at|are|is|were|was|can|could|here|there|visible|present|shown|to|behind|"
    r"found|detected|of\s+this|that|which|within|and|or|match\w*|fit|meet|appear|exist|remain|seem|do|whatsoever|among\w*|anywhere)\b|\s*[.,;:!)]|\s*$)",
    rf"(?:{_NOT}|\bunable\b|\bfail(?:s|ed)?\b)(?:\s+(?!but\b|how\b)[\w'’]+){{0,6}}?\s+"
    r"(?:any\s+of\s+(?:the|these|those)\s+|any\b|a\s+single\b|even\s+one\b)"
    rf"(?!{_UNSHOWN})(?:\s+(?P<noun>[a-z][\w'-]*))?",
    r"\bthere(?:\s+(?:are|is|were)|['’]s)\s+(?:none|nothing)\b(?!\s+(?:else|unusual))",
    r"^\W*(?:no\b\W+)?(?:none|nothing|nil)\b(?!\s+of\s+(?:the\s+)?(?:above|options|this|that))"
    rf"(?=(?:\s+of\s+(?:the|these|those|them)\b(?:\s+[a-z]+s\b)?)?(?:\s+{_BEING})*"
    rf"(?:\s+{_THERE}|(?<=are)\s+[a-z]+s\W*$|\W*$|\s*[^\w\s]))",
    r"(?::|=|\b(?:is|are|was|were|be|hides?|covers?))\W*(?:none|nil)\b",
    rf"\bthere(?:\s+(?:is|was)(?:n['’]t|\s+not)|['’]s\s+not)\s+an?\s+(?!{_ARRANGED}\b|{_UNCOUNTED}\b)(?P<noun>[a-z]+)",
    r"\b(?:there\s+(?:are|were)(?:n['’]t|\s+not)|(?:can\s?not|(?:ca|could)n['’]t|could\s+not|unable\s+to|"
    r"not\s+able\s+to)\s+(?:see|find|spot|detect))\s+"
    r"(?P<noun>(?!all\b|any\b|enough\b|this\b|details\b|images\b|pictures\b|photos\b)[a-z]+(?<!s)s)\b"
    r"(?!\s+(?:behind|hidden|under|beneath|clearly|well))",
    r"\bno\s+(?:evidence|signs?|trace|indication)\s+of\s+(?P<noun>[a-z]+s)\b",
    r"\b(?:is|are)\s+absent\b|\blacks?\s+(?:any\s+)?(?P<noun>[a-z]+s)\b",
    r"\b(?:does|do)(?:n['’]t|\s+not)\s+(?:appear|exist)\b(?!\s+to)",
    r"\bneither\b[^.]*\bnor\b",
    rf"\b(?:is|are|was|were)(?:n['’]t|\s+not)\s+(?:any\b(?!{_UNSHOWN})|present\b|(?:visible|shown|depicted|seen|found|"
    r"there)\b(?=\s+in\s+(?:this|the)|\W*$)|in\s+(?:this|the)\s+(?:image|picture|photo))",
    r"\b(?:does|do|did)(?:n['’]t|\s+not)\s+(?:contain|show|include|have|depict|feature|"
    r"display|see|find|spot|observe|detect|notice)\s+(?P<noun>(?!all\b|any\b|enough\b|this\b)[a-z]+s)\b",
    r"^\W*not\s+an?\s+(?P<noun>[a-z]+)\b",
    r"\bnot\s+(?:even\s+)?one\b(?!\s+but)|\bnowhere\b",
    r"\b(?:do|does|did)(?:n['’]t|\s+not)\s+(?:see|find|spot|detect|notice|contain|show|include|depict)\s+an?\s+"
    rf"(?!{_ARRANGED}\b|{_UNCOUNTED}\b)(?P<noun>[a-z]+)\b",
    r"\b(?:does|do|did)(?:n['’]t|\s+not)\s+(?:actually\s+)?(?:contain|show|include|have|depict|feature|see|find|"
    r"spot|observe|detect|notice)\s+(?P<noun>(?!(?:all|any|enough|this|that|it|them|one|everything|clear|well|"
    r"much|more|the)\b)[a-z]+)(?=\s*[.,;!]|\s+(?:in|on|here|at)\b|\s*$)",
    r"\bwithout\s+any\b|\b(?:devoid|free)\s+of\b",
    rf"^\W*{_NOBODY}\W*$|\b{_NOBODY}\s+(?:is|was|can\s+be|appears|seems)(?:\s+to\s+be|\s+seen)?{_AT_ALL}",
    rf"\b(?:there\s+(?:is|was)|there['’]s|see|find|spot|detect)\s+(?:none|{_NOBODY}){_AT_ALL}",
    rf"(?:\bthere\s+(?:is|was)(?:n['’]t|\s+not)|{_NOT}\s+see)\s+any(?:one|body){_AT_ALL}",
    r"\b(?:image|picture|photo)\s+(?:is|was|appears|seems|looks)\s+(?:to\s+be\s+)?(?:\w+ly\s+)?empty\b",
)

# --- parts ---
_PARTLY = (
    r"(?:(?:not\s+)?visible|hidden|covered|cover(?:s|ing)?|hid(?:e|es|ing)|occlud\w+|obscur\w+|"
    r"blocked|unseen|seen|partial(?:ly)?|partly|remaining|missing|additional|extra|more|further|behind|beneath|"
    r"underneath|subtotal|left\s+over|(?:of|among)\s+(?:which|whom|them|these|those)\b"
    rf"(?!\s+(?:\w+\s+)?{_OPEN})|of\s+the\s+\w+)"
)
_FEW_WORDS = r"(?:(?:the|about|around|at\s+least|only|just|another)\s+)*"
_INCLUDED = (  # "12 eggs, including 2 brown and 3 cracked ones"
    r"(?:\bincluding|[,(]\s*counting|\b(?:this|these|which)(?:\s+(?:count|total|number|estimate))?\s+includes?)"
    rf"\s+{_FEW_WORDS}(?:{N}(?:\s+[a-z'-]+){{1,3}}?\s*(?:,|,?\s*\band\b)\s*{_FEW_WORDS})*$"
)
_TOGETHER = (  # "including the hidden ones: 16" is of all, not "dots with hidden parts: 3"
    r"(?:(?<!not )(?<!without )\b(?:including|counting)|(?:(?<!\w )|(?<=total )|(?<=count ))\bwith)"
    r"\s+(?!(?:only|just)\b)(?:[^\s:,;.]+\s+){0,2}"
    r"(?:hidden|occluded|covered|obscured|partial\w*)(?:\s+\w+){0,2}\s*:\s*$"
)
_HIDDEN = (
    r"\b(?:hidden|hid(?:e|es|ing)|cover(?:s|ed|ing)?|occlud\w+|obscur\w+|block(?:s|ed|ing)?|unseen|"
    r"invisible|behind|beneath|underneath|missing|conceal(?:s|ed|ing)?|in\s+part|"
    r"part(?:ly|ially))\b"
)
_SEEN = (
    rf"\b(?:visible|seen|whole)\b|(?:{_NOT}|\bun)\s*(?:\w+\s+)?(?:hidden|covered|occluded|obscured)"
    r"|\b(?:total|altogether)\b"
)
_UNSEEN = rf"{_NOT}\s+(?:be\s+)?(?:\w+\s+)?(?:visible|seen)\b"
_ORDER = (
    r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|next|top|middle|"
    r"bottom|left|right|upper|lower|outer|inner|front|back|centre|center|central|other|base|"
    r"uppermost|lowest|1st|2nd|\d+th|3rd)"
)
_LINE = (
    r"(?:row|column|col|line|layer|ring|tier|shelf|floor|stor(?:e?y)|diagonal|circle|level|group|"
    r"cluster|side)"
)
_OF_ROW = (
    rf"(?:\b{_LINE}s?\s*#?\s*(?:{N})|\b{_ORDER}(?:[\s-]+\w+)?\s+{_LINE}s?\b|^\W*{_ORDER}\b[^:]{{0,20}}:"
    rf"|(?<!per\s)(?<!each\s)(?<!every\s)\b{_LINE}\b[^:]{{0,20}}:|\b{_LABEL}\s+{N}\s*:\s*$)"
)
_SPOT = (
    r"(?:top|middle|bottom|left|right|upper|lower|outer|inner|front|back|centre|center|base|other\s+side|"
    r"uppermost|lowest)"
)
_PLACE = (
    rf"(?:\b(?:on|at|in|to|above|below|from)\s+(?:the\s+)?(?:\w+\s+)?{_SPOT}\b|\b{_ORDER}\s+"
    r"(?:side|half|part|corner|section|edge|quadrant|area|portion)\b|^\W*"
    rf"{_ORDER}\b\W*$|\b(?:in|on)\s+the\s+{_ORDER}\W*$|\(\s*{_ORDER}\b|\bin\s+the\s+(?:\w+\s+)?(?:back|fore)ground\b|\babove\s+the\b|\bbelow\s+(?:it|the)\b|\bbehind\s+it\b)"
)
_INTRODUCED = (  # "starting at the top row, there are"
    rf"^\W*(?:\w+\s+){{0,3}}?(?:in|on|at|with|from|for|along)\s+(?:the\s+)?{_ORDER}\s+(?:\w+\s+)?"
    rf"(?:{_LINE}|half|part|corner|section|edge)\b[^,;:.]{{0,20}},[^,;:.]*$"
    rf"|\b(?:at|in|on|for|with|the)\s+(?:the\s+)?{_ORDER}\s+(?:\w+\s+)?{_LINE}\b[^,;:.]{{0,20}}\s+and\s+"
    r"(?:I\s+)?(?:can\s+)?(?:see|count|find)\b[^,;:.]*$"
)
_BEFORE = (
    r"\b(?:initial(?:ly)?|original(?:ly)?|previous(?:ly)?|earlier|at\s+first|first\s+(?:I\s+)?(?:got|thought|counted|guess\w*|"
    r"estimate\w*|said|count)|thought|used\s+to|wrong\s+to\s+say|wrongly|mistakenly|incorrectly|miscounted)\b"
)
_AT_FIRST = (
    r"(?:\w+\s+){0,2}?(?:(?:the|my)\s+first\s+(?:time|try|pass|count)|at\s+first|initially|"
    r"before)\b"
)
_CLAUSE_WORDS = (
    r"\s[-–—]\s|\b(?:and|but|plus|while|whereas|although|though|including|counting|"
    r"if|when|as|assuming|even|whether|because|since|so|that|giving|making|makes?|gives?|equals?|brings?)\b"
)
_STATEMENT_START = rf"[,;(){{}}\[\].?!•]|{_CLAUSE_WORDS}"  # "hidden = 3" is one statement
_CLAUSE_START = rf"=|{_STATEMENT_START}"
_CLAUSE_END = rf"[:,;(){{}}\[\].?!•=]|{_CLAUSE_WORDS}"


@dataclass(frozen=True)
class Mention:
    """A number in a text, where it stands and what it is said of.

    Parameters
    ----------
    start, end : int
        Position in the text of `mark_numbers`.
    value : float, optional
        None for a range, or anything else that is no single number.
    role : str
        `ALL`, `PART`, `ROW`, `EACH` or `PAST`.
    noun : str
        Stem of the noun behind the number, of "no elephants" the elephants; empty where there is
        none.
    """

    start: int
    end: int
    value: float | None
    role: str = ALL
    noun: str = ""


def find_mentions(sentence: str, *, hidden: bool = False) -> list[Mention]:
    """List the numbers of a sentence that may be a count, from left to right.

    Numbers of rows and columns, sizes, labels, coordinates, percentages, ordinals, negated and
    negative numbers are left out; ranges, bounds ("50+"), shares of a number and sums that are not
    added up are no single number.

    Parameters
    ----------
    sentence : str
        Plain text.
    hidden : bool
        Whether hidden objects are what is counted: of "3 of the 12" then the first number is taken.

    Examples
    --------
    >>> [m.value for m in find_mentions("Four rows of 3 make 12 dots, at 90 %")]
    [12.0]
    >>> [m.value for m in find_mentions("Between 8 and 10, or about eleven")]
    [None, 11]
    """
    marked, values = mark_numbers(sentence)
    rest, mentions = marked, list[Mention]()

    def take(pattern: str, value: Callable[[re.Match[str]], float | None]) -> None:
        nonlocal rest
        for match in re.finditer(pattern, rest, _FLAGS):
            mentions.append(_mention(marked, match.start(), match.end(), value(match)))
        rest = re.sub(pattern, lambda match: _GONE * len(match[0]), rest, flags=_FLAGS)

    def number(token: str) -> float | None:
        return values[int(token.strip(_OPEN + _CLOSE))]

    for match in re.finditer(_COUNTED_FROM_ONE, rest, _FLAGS):
        if number(match[1]) == 1:
            mentions.append(_mention(marked, match.start(2), match.end(2), number(match[2])))
            rest = rest[: match.start()] + _GONE * len(match[0]) + rest[match.end() :]
    for pattern in _TO_EACH:
        for match in re.finditer(pattern, rest, _FLAGS):
            if not re.search(rf"{N}\s*{_UNIT_WORD}", match[0], _FLAGS):
                noun = _noun(re.sub(N, "", match[0]))
                mentions.append(Mention(match.start(), match.end(), None, EACH, noun))
        rest = re.sub(pattern, lambda match: _GONE * len(match[0]), rest, flags=_FLAGS)
    for match in re.finditer(rf"{_CHANGED}{N}\s+to\s+({N})", rest, _FLAGS):
        mentions.append(_mention(marked, match.start(1), match.end(1), number(match[1])))
        rest = rest[: match.start()] + _GONE * len(match[0]) + rest[match.end() :]
    for match in re.finditer(_OF_ALL, rest, _FLAGS):
        of_part, of_all = (1, 2) if match[1] else (4, 3)
        group = of_part if hidden else of_all
        start, end = match.span(group)
        mentions.append(Mention(start, end, number(match[group]), ALL, _noun(marked[end:])))
        rest = rest[: match.start()] + _GONE * len(match[0]) + rest[match.end() :]
    rest = re.sub(_GIVE_OR_TAKE, lambda m: m[1] + " " * (len(m[0]) - len(m[1])), rest, flags=_FLAGS)
    for k, pattern in enumerate((*_NUMBERS[:_BEFORE_RANGES], *_RANGES, *_NUMBERS[_BEFORE_RANGES:])):
        if 0 <= k - _BEFORE_RANGES < len(_RANGES):
            take(pattern, lambda match: None)
        else:
            rest = re.sub(pattern, lambda match: _GONE * len(match[0]), rest, flags=_FLAGS)
    nouns = {}
    for pattern in _NOTHING:
        for match in re.finditer(pattern, rest, _FLAGS):
            nouns[match.start()] = (match.groupdict().get("noun") or "").split()
            words = nouns[match.start()]
            noun = _stem(words[-1]) if words else ""
            role = _role(_unseen(marked), match.start(), match.end())
            on_a_post = re.search(r"\b(?:stop|road|street|traffic) sign", " ".join(words), _FLAGS)
            if noun and not on_a_post and re.fullmatch(rf"{_UNCOUNTED}s?", noun, _FLAGS):
                continue
            if re.match(
                r"\s+(?:was|were|is|are)\s+(?:specified|given|mentioned)", rest[match.end() :]
            ):
                continue
            of_number = rf"{N}\s+(?:\w+\s+){{0,2}}$"  # "3 dots are not visible"
            if re.match(r"is|are|was|were", match[0], _FLAGS) and re.search(
                of_number, rest[: match.start()], _FLAGS
            ):
                continue
            if re.search(r"\b(?:hid(?:e|es)|covers?|behind|without)\b", match[0], _FLAGS):
                role = PART
            mentions.append(Mention(match.start(), match.end(), 0.0, role, noun))
        rest = re.sub(pattern, lambda match: _GONE * len(match[0]), rest, flags=_FLAGS)
    take(N, lambda match: number(match[0]))
    return sorted(mentions, key=lambda mention: mention.start)


def mark_numbers(text: str) -> tuple[str, list[float]]:
    """Put a token in the place of each number.

    Parameters
    ----------
    text : str
        Plain text.

    Returns
    -------
    marked : str
        Text with tokens, which `N` matches.
    values : list of float
        That the tokens stand for: a token holds a position in this list.
    """
    values: list[float] = []

    def put(value: float, match: re.Match[str]) -> str:
        values.append(value)
        return f"{_OPEN}{len(values) - 1}{_CLOSE}"

    def digits(match: re.Match[str]) -> str:
        plain = re.sub(r"(?<=\d),(?=\d{1,2}$)", ".", match["digits"])  # a decimal comma
        plain = re.sub(rf"{_SPACE}|,", "", plain)
        value = float(plain.replace(".", "") if plain.count(".") > 1 else plain)
        scale = (match["scale"] or "").strip().lower().rstrip("s")
        rest = float((match["rest"] or "0").split()[-1])
        return put(value * {**_LARGE, "dozen": 12, "k": 1000, "": 1}[scale] + rest, match)

    def power(match: re.Match[str]) -> str:
        return f"{float((match[1] or '1').replace(',', '.')) * 10 ** int(match[2]):.1f}"

    def dozens(match: re.Match[str]) -> str:
        word = (match[2] or "a").lower()
        if match[1]:
            return put(6, match)
        return put(12 * (float(word) if word.isdigit() else words_to_number(word)), match)

    def words(match: re.Match[str]) -> str:
        if match[0].lower() == "one" and _is_pronoun(match):
            return match[0]
        return put(words_to_number(match[0]), match)

    text = re.sub(r"-by-", " by ", text, flags=_FLAGS)
    text = re.sub(_POWER_RAISED, lambda match: f"10^{_RAISED.index(match[1])}", text)
    text = re.sub(_FRACTION, lambda m: f"{int(m[1]) + numeric(m[2]):.6f}", text)
    text = re.sub(_POWER, power, text, flags=_FLAGS)
    text = re.sub(_NO_COUNT, lambda match: " " * len(match[0]), text, flags=_FLAGS)
    numeral = (
        rf"(?P<digits>{_DIGITS})(?:{_ISH})(?:(?P<attached>{_ATTACHED})"
        rf"|(?P<scale>\s*(?:hundred|thousand|million|dozen)s?\b|k\b)?(?P<rest>{_REST})?)"
    )
    text = re.sub(numeral, lambda m: " " if m["attached"] else digits(m), text, flags=_FLAGS)
    text = re.sub(_DOZENS, dozens, text, flags=_FLAGS)
    text = re.sub(
        _ONLY_A, lambda m: m[0][: m.start(1) - m.start()] + put(1, m) + " ", text, flags=_FLAGS
    )
    text = re.sub(_ARTICLE, lambda m: _article(m, put), text, flags=_FLAGS)
    return re.sub(_WORDS, words, text, flags=_FLAGS), values


def _article(match: re.Match[str], put: Callable[[float, re.Match[str]], str]) -> str:
    if re.search(
        r"\bnot\s+(?:even\s+)?$|n['’]t\s+(?:\w+\s+)?$", match.string[: match.start()], _FLAGS
    ):
        return match[0]  # "not a single one"
    if re.match(
        r"\s+(?:row|column|line|grid|pattern|glance|image|photo|answer|number)",
        match.string[match.end() :],
        _FLAGS,
    ):
        return match[0]
    return put(_ARTICLES[" ".join(match[0].lower().split())], match) + " "


def _is_pronoun(match: re.Match[str]) -> bool:
    before, after = match.string[: match.start()], match.string[match.end() :]
    if re.search(r"\b(?:only|just|exactly|is|are|of|:)\s*$", before, _FLAGS):
        if re.search(r"\b(?:only|just|exactly)\s*$", before, _FLAGS):
            return bool(re.match(r"\s+by\s+one\b", after, _FLAGS))
        return bool(re.match(r"\s+(?:by\s+one|of\s+(?:the|them|which|these|those))", after, _FLAGS))
    if re.search(r"\b(?:only|just)\s+the\s*$", before, _FLAGS):
        return False
    if re.search(_PRONOUN_BEFORE, before, _FLAGS):
        return True
    return bool(re.match(_PRONOUN_AFTER, after, _FLAGS))


def words_to_number(text: str) -> int:
    """Turn number words into a number; "a" counts as one, and a scale alone as one of it.

    Parameters
    ----------
    text : str
        Such as ``two hundred and five``; other words are passed over.
    """
    total = part = 0
    pattern = "|".join(sorted({*_SMALL, *_LARGE, r"an?\b"}, key=len, reverse=True))
    for word in re.findall(pattern, text.lower()):
        if word == "hundred":
            part = max(part, 1) * 100
        elif word in _LARGE:
            total, part = total + max(part, 1) * _LARGE[word], 0
        elif word in _SMALL:
            part += _SMALL[word]
        elif word in ("a", "an"):
            part += 1
    return total + part


def _mention(marked: str, start: int, end: int, value: float | None) -> Mention:
    role = _role(_unseen(marked) if value == 0 else marked, start, end)
    return Mention(start, end, value, role, _noun(marked[end:]))


def _unseen(marked: str) -> str:
    """Strike what would make a part of "no elephants are visible", which speaks of them all."""
    return re.sub(r"\b(?:visible|seen)\b", lambda word: "-" * len(word[0]), marked, flags=_FLAGS)


def _role(marked: str, start: int, end: int) -> str:
    """Return what a number is said of, by the words of its clause."""
    before = re.split(_CLAUSE_START, marked[:start], flags=_FLAGS)[-1]
    after = re.split(_CLAUSE_END, marked[end:], maxsplit=1, flags=_FLAGS)[0]
    if intro := re.search(_INTRODUCED, marked[:start], _FLAGS):
        return ROW if re.search(rf"\b{_LINE}\b", intro[0], _FLAGS) else PART
    if is_included(marked, start):
        return PART
    if re.search(_TOGETHER, marked[:start], _FLAGS):
        before = ""
    near_before = " ".join(before.split()[-5:])
    near_after = " ".join(after.split()[:6])
    if re.search(_OF_ROW, before, _FLAGS) or re.search(
        rf"\b(?:in|on)\s+(?:the\s+)?(?:{_ORDER}\s+(?:\w+\s+)?{_LINE}\b|{_LINE}\s*#?\s*{N})",
        near_after,
        _FLAGS,
    ):
        return ROW
    if re.search(_BEFORE, before, _FLAGS) or re.match(_AT_FIRST, near_after, _FLAGS):
        return PAST
    if re.match(rf"\s*(?:\w+\s+){{0,2}}?{_PARTLY}\b", f" {near_after}", _FLAGS) or re.search(
        rf"\b{_PARTLY}\b(?:\W+\w+){{0,3}}\W*$", near_before, _FLAGS
    ):
        return PART
    if re.search(_PLACE, near_after, _FLAGS) or re.search(_PLACE, near_before, _FLAGS):
        return PART
    if re.match(
        rf"\s*(?:\w+\s+){{0,3}}?(?:that|which|who)\s+(?:\w+\s+){{0,3}}?{_PARTLY}\b",
        marked[end:],
        _FLAGS,
    ):
        return PART
    bracket = re.match(rf"[^,;:.]{{0,30}}?\(\s*{_ORDER}\b", marked[end:], _FLAGS)
    return PART if bracket else ALL


def is_included(marked: str, start: int) -> bool:
    """Whether a number is of some of what was counted before it: "12 eggs, including 2 brown ones".

    Parameters
    ----------
    marked : str
        Sentence, as `mark_numbers` returns it.
    start : int
        Position of the number in it.
    """
    return re.search(_INCLUDED, marked[:start], _FLAGS) is not None


def is_of_hidden(marked: str, mention: Mention) -> bool:
    """Whether the clause of a number says that so many objects are hidden.

    Parameters
    ----------
    marked : str
        Sentence, as `mark_numbers` returns it.
    mention : Mention
        Number of it.
    """
    if re.search(_TOGETHER, marked[: mention.start], _FLAGS):
        return False
    before = re.sub(rf"{N}(?:\s*[-−+×]\s*{N})+\s*=\s*$", "", marked[: mention.start])
    before = re.split(rf"{_STATEMENT_START}|\bwith\b", before, flags=_FLAGS)[-1]
    after = re.split(rf"{_CLAUSE_END}|\bwith\b", marked[mention.end :], maxsplit=1, flags=_FLAGS)[0]
    clause = f"{before}{marked[mention.start : mention.end]}{after}"
    clause = re.sub(_UNSEEN, "hidden", clause, flags=_FLAGS)
    return bool(re.search(_HIDDEN, clause, _FLAGS)) and not re.search(_SEEN, clause, _FLAGS)


def _noun(after: str) -> str:
    """Return the stem of the noun behind a number, empty where there is none."""
    phrase = re.match(r"\s+((?:[a-z][\w'-]*\s*){1,4})", after, _FLAGS)
    if not phrase:
        return ""
    stop = (
        r"\s*\b(?:in|on|at|of|are|is|were|was|can|could|here|there|visible|shown|arranged|behind|"
        r"and|or|with|have|has|each|per|apiece|that|which|this|to|for|from|as|but|hidden|total|altogether|plus)\b"
    )
    words = re.split(stop, phrase[1], maxsplit=1, flags=_FLAGS)[0].split()
    return _stem(words[-1]) if words else ""


def _stem(word: str) -> str:
    word = word.lower()
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word

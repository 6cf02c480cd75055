"""Report pages: everything is shown as text, and one file holds it all."""

import base64
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from autoeval.accuracy.measures import find_target
from autoeval.report.charts import picture_rows
from autoeval.report.page import (
    Chart,
    Heading,
    Headline,
    IntervalRow,
    Intervals,
    Page,
    Table,
    Text,
    Thumbnails,
    Warnings,
)

pytestmark = pytest.mark.usefixtures("drawn")

HOSTILE = "<img src=x onerror=alert(1)>.jpg"
ESCAPED = "&lt;img src=x onerror=alert(1)&gt;.jpg"


def chart():
    figure = Figure(figsize=(3, 2))
    axes = figure.subplots()
    axes.plot([0, 1], [1, 0])
    axes.set_title(HOSTILE)
    return figure


def whole_page():
    table = pd.DataFrame({HOSTILE: [HOSTILE]}, index=[HOSTILE])
    blocks = [
        Heading(HOSTILE),
        Text(HOSTILE),
        Text(HOSTILE),
        Headline(HOSTILE, HOSTILE, HOSTILE),
        Warnings([HOSTILE]),
        Table("", table, caption=HOSTILE),
        Chart(chart(), HOSTILE),
        Thumbnails([(np.zeros((8, 6, 3), np.uint8), HOSTILE)], HOSTILE),
    ]
    return Page(HOSTILE, blocks)


def test_a_scale_of_differences_has_negative_values():
    """From -10 to 10: -5 is at a quarter, an interval of -10 to 0 fills the left half."""
    plot = Intervals(
        [IntervalRow("b", -0.05, -0.1, 0.0)], find_target("mAP"), "b less a", low=-0.1, high=0.1
    )
    html = Page("t", [plot]).render()
    assert 'class="dot now" style="left: 25.00%"' in html
    assert 'class="reach now" style="left: 0.00%; right: 50.00%"' in html
    assert re.findall(r'left: \d+%">(-?\d+)<', html) == ["-10", "-5", "0", "5", "10"]


def page_of(frame, **options):
    return Page("t", [Table("", frame, **options)]).render()


def test_a_hostile_name_is_text_in_every_block():
    html = whole_page().render()
    assert HOSTILE not in html
    assert not re.search(r"<img src=x", html)
    # title twice, heading 1, text 2, headline 3, warning 1, table header, index, cell, caption and
    # label 5, figure caption and alternative text 2, thumbnails 1 + 2.
    assert html.count(ESCAPED) == 19


def test_a_quote_cannot_leave_an_attribute():
    page = Page("t", [Chart(chart(), '" onload="alert(1)')])
    assert 'alt="&#34; onload=&#34;alert(1)"' in page.render()


def test_nothing_is_fetched_from_elsewhere():
    html = whole_page().render()
    assert "http" not in re.sub(r"base64,[A-Za-z0-9+/=]+", "", html)
    sources = re.findall(r'(?:src|href)="([^"]*)"', html)
    assert len(sources) == 2 and all(source.startswith("data:image/") for source in sources)
    assert 'name="viewport"' in html


def test_numbers_sort_by_value_and_missing_values_show_as_a_dash():
    frame = pd.DataFrame({"count": [12, -3], "error": [0.123456, np.nan], "name": ["a", None]})
    html = page_of(frame, formats={"error": "{:.2f}"})
    assert '<td class="number" data-value="12.0">12</td>' in html
    assert '<td class="number" data-value="-3.0">\N{MINUS SIGN}3</td>' in html
    assert '<td class="number" data-value="0.123456">0.12</td>' in html
    assert '<td class="number">–</td>' in html
    assert '<td class="text">–</td>' in html


@pytest.mark.parametrize(
    ("value", "text"),
    [(25791.0, "25791"), (0.00012345, "0.0001234"), (3.14159, "3.142"), (True, "yes")],
)
def test_default_formats(value, text):
    assert f">{text}</td>" in page_of(pd.DataFrame({"v": pd.Series([value], dtype=object)}))


def test_wide_tables_can_break_headers_and_pairs_but_not_within_parentheses():
    name = "mean: roadworld_nano@0.1"
    rows = {name: ["216.4 (213.3, +3.1)", "– (63.9)", "one, two"]}
    html = page_of(pd.DataFrame(rows))
    assert "mean: roadworld_<wbr>nano<wbr>@0.1</button>" in html
    cells = re.findall(r'<td class="([^"]*)">([^<]*)</td>', html)
    pair = ("text pair", "216.4 (213.3,\N{NO-BREAK SPACE}+3.1)")
    assert cells == [pair, ("text", "– (63.9)"), ("text", "one, two")]
    assert "&lt;b&gt;_<wbr>of" in page_of(pd.DataFrame({"<b>_of_a_long_name": [1]}))


def test_a_plain_range_is_no_column_and_a_named_index_is_one():
    named = pd.DataFrame({"v": [1]}, index=pd.Index(["x"], name="set"))
    html = page_of(pd.DataFrame({"v": [1]}), sortable=False) + page_of(named, sortable=False)
    heads = re.findall(r"<th [^>]*>([^<]*)</th>", html)
    assert heads == ["v", "set", "v"]


def test_headlines_in_a_row_share_a_block_and_no_warnings_show_nothing():
    page = Page("t", [Headline("MAE", "3"), Headline("RMSE", "5"), Warnings([]), Text("")])
    html = page.render()
    assert html.count("<dl ") == html.count("</dl>") == 1 and html.count("<dt>") == 2
    assert "Warnings" not in html and "<p>" not in html


def test_what_lies_beside_the_page_is_not_on_it(tmp_path):
    table = Table("rows", pd.DataFrame({"a": [1]}), caption="all rows", on_page=False)
    page = Page("t", [table, Chart(chart(), "a chart", "drawn", on_page=False)])
    assert "all rows" not in page.render() and "a chart" not in page.render()
    page.write(tmp_path / "t.html")
    assert {path.name for path in (tmp_path / "t").iterdir()} == {"rows.csv", "drawn.png"}


def test_a_second_page_in_a_folder_removes_what_only_the_first_one_wrote(tmp_path):
    """Curves of one result lay beside the tables of another; files of others are left alone."""
    table = Table("rows", pd.DataFrame({"a": [1]}))
    page = tmp_path / "t.html"
    Page("first", [table, Chart(chart(), "a chart", "drawn"), Table('a&"b', table.table)]).write(
        page
    )
    assert len([*(tmp_path / "t").iterdir()]) == 3
    (tmp_path / "t/of_the_user.csv").write_text("1")
    (tmp_path / "outside.csv").write_text("1")
    Page("second", [Table("rows", pd.DataFrame({"a": [2]}))]).write(page)
    assert {path.name for path in (tmp_path / "t").iterdir()} == {"rows.csv", "of_the_user.csv"}
    assert pd.read_csv(tmp_path / "t/rows.csv")["a"].tolist() == [2]
    page.write_text('<meta name="autoeval-files" content="../outside.csv">')
    Page("third", [table]).write(page)
    assert (tmp_path / "outside.csv").exists()


def test_equal_pages_are_equal_bytes_and_pictures_decode(tmp_path):
    first, second = tmp_path / "deep" / "a.html", tmp_path / "b.html"
    whole_page().write(first)
    whole_page().write(second)
    assert first.read_bytes() == second.read_bytes()
    svg = re.search(r"data:image/svg\+xml;base64,([^\"]+)", first.read_text())
    assert b"</svg>" in base64.b64decode(svg.group(1))


def test_large_pictures_are_shrunk():
    import cv2

    page = Page("t", [Thumbnails([(np.zeros((100, 400, 3), np.uint8), "wide")], side=40)])
    uri = re.search(r"data:image/jpeg;base64,([^\"]+)", page.render()).group(1)
    image = cv2.imdecode(np.frombuffer(base64.b64decode(uri), np.uint8), cv2.IMREAD_COLOR)
    assert image.shape == (10, 40, 3)


def test_a_sheet_takes_any_number_of_pictures_and_any_name(tmp_path):
    picture = np.zeros((30, 40, 3), np.uint8)
    for n in (1, 5):
        sheet = picture_rows([(picture, r"$\frac_<img>.jpg")] * n, "title")
        sheet.savefig(tmp_path / "sheet.png")
        assert sum(ax.has_data() for ax in sheet.axes) == n


def test_commands_of_warnings_are_code_and_stay_text():
    page = Page("a page", [Warnings([f"see `{HOSTILE}` and `b`", "one ` alone"])])
    html = page.render()
    assert f"<li>see <code>{ESCAPED}</code> and <code>b</code></li>" in html
    assert "<li>one ` alone</li>" in html

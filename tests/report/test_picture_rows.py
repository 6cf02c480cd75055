"""Pictures on one sheet."""

import numpy as np

from autoeval.report.embed import picture_rows


def test_a_sheet_takes_any_number_of_pictures_and_any_name(tmp_path):
    picture = np.zeros((30, 40, 3), np.uint8)
    for n in (1, 5):
        sheet = picture_rows([(picture, r"$\frac_<img>.jpg")] * n, "title")
        sheet.savefig(tmp_path / "sheet.png")
        assert sum(ax.has_data() for ax in sheet.axes) == n

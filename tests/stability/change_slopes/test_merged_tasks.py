"""Several tasks as one: shared data once, clashes refused."""

from pathlib import Path

import pytest

from autoeval.errors import InputError
from autoeval.io.tasks.task import SeedSetFiles, Task
from autoeval.stability.change_slopes.merged_tasks import merge_tasks


def files(name, word, labels="a.json", group=None):
    return SeedSetFiles(name, Path(labels), Path("images"), {word: word}, group=group)


SETS = files("street", "car"), files("road", "car", "b.json")
CARS = Task("cars", ("car",), SETS, {"bus": "car"})
PEOPLE = Task("people", ("person",), (files("street", "person"),), {"rider": "person"})


def test_shared_data_is_there_once_with_the_words_of_both():
    merged = merge_tasks([CARS, PEOPLE])
    assert merged.categories == ("car", "person")
    assert [entry.name for entry in merged.seed_sets] == ["street", "road"]
    assert merged.seed_sets[0].mapping == {"car": "car", "person": "person"}
    assert merged.seed_sets[1].mapping == {"car": "car"}
    assert merged.detector_mapping == {"bus": "car", "rider": "person"}


def test_one_task_stays_as_it_is():
    merged = merge_tasks([CARS])
    assert (merged.categories, merged.seed_sets) == (CARS.categories, CARS.seed_sets)


CLASHES = [
    (
        Task("people", ("person",), (files("street", "person", "c.json"),)),
        r"seed set 'street', one in a\.json",
    ),
    (Task("vans", ("van",), (), {"bus": "van"}), "'bus' for different categories"),
]


@pytest.mark.parametrize(("other", "message"), CLASHES)
def test_one_name_for_different_data_or_categories_is_refused(other, message):
    with pytest.raises(InputError, match=message):
        merge_tasks([CARS, other])

"""Tasks that share data become one."""

from pathlib import Path

import pytest

from autoeval.errors import InputError
from autoeval.metasets.task import SeedSetFiles, Task, merge_tasks


def files(name, word, labels="a.json", family=None):
    return SeedSetFiles(name, Path(labels), Path("images"), {word: word}, family=family)


CARS = Task(
    "cars", ("car",), (files("street", "car"), files("road", "car", "b.json")), {"bus": "car"}
)
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


def test_one_name_for_different_data_is_refused():
    other = Task("people", ("person",), (files("street", "person", "c.json"),))
    with pytest.raises(InputError, match=r"seed set 'street', one in a\.json"):
        merge_tasks([CARS, other])


def test_one_word_for_two_categories_is_refused():
    other = Task("vans", ("van",), (), {"bus": "van"})
    with pytest.raises(InputError, match="'bus' for different categories"):
        merge_tasks([CARS, other])

"""Joining fits is fitting their labelled sites together."""

import contextlib
from dataclasses import replace
from datetime import datetime
from functools import cache

import numpy as np
import pytest
from label_worlds import make_site

from autoeval.errors import InputError
from autoeval.estimation.estimator import AccuracyEstimator
from autoeval.estimation.fit_file import FittedSites
from autoeval.estimation.fitting import FitSettings, fit_sets, join_fits
from autoeval.estimation.labelled_sets import labelled_site
from autoeval.sites.file_looks import Looks
from autoeval.sites.site import Site
from autoeval.words import Notice

WORDS = ("car", "person")
DETECTOR = {"detector": {"name": "one"}, "pass": {"stability": 0.5}}


@cache
def site(seed, name=None):
    return make_site(seed, n_images=30 + seed, categories=WORDS, name=name)


@cache
def fit(*seeds):
    return fit_sets([site(seed) for seed in seeds], context=DETECTOR)


def fit_of(labelled, context=DETECTOR, *, trained_here=False):
    settings = FitSettings(trained_here=trained_here)
    return fit_sets([labelled], context=context, settings=settings)


def context(**of_pass):
    return {**DETECTOR, "pass": {**DETECTOR["pass"], **of_pass}}


def numbers_at(fitted, known=""):
    """Value and ends at a new site or at one of the fit, and of each category."""
    estimate = fitted.predict_site(Site(site(9).boxes, known=known))
    each = [list(of.values()) for of in estimate.per_category.values()]
    assert len(each) == 2
    return np.array([[estimate.value, estimate.lower, estimate.upper], *each])


def test_a_joined_fit_is_the_fit_of_all_sites_in_any_order_and_from_files(tmp_path):
    whole, parts = fit(0, 1, 2), {name: fit(k) for k, name in enumerate("abc")}
    for name, part in parts.items():
        part.save(tmp_path / f"{name}.parquet")
    read = {name: AccuracyEstimator.load(tmp_path / f"{name}.parquet") for name in "cab"}
    for joined in (join_fits(parts), join_fits(read), join_fits({"ab": fit(0, 1), "c": fit(2)})):
        np.testing.assert_allclose(joined.calibration_.boxes, whole.calibration_.boxes, atol=1e-9)
        assert list(joined.floors_) == list(whole.floors_)
        for known in ("", "site1"):
            np.testing.assert_allclose(
                numbers_at(joined, known), numbers_at(whole, known), atol=1e-9
            )
        ours, theirs = (of.label_assistance_.small_sample_bias for of in (joined, whole))
        assert ours == pytest.approx(theirs, abs=1e-9)
    unlike = join_fits({"a": fit(0), "b": fit(1)})
    assert np.abs(numbers_at(unlike) - numbers_at(whole)).max() > 1e-3


def test_what_sites_are_called_does_not_matter():
    named = {name: fit_of(site(k, f"place {9 - k}")) for k, name in enumerate("abc")}
    np.testing.assert_allclose(numbers_at(join_fits(named)), numbers_at(fit(0, 1, 2)), atol=1e-9)


def test_a_joined_fit_can_be_joined_and_saved_again(tmp_path):
    both = join_fits({"a": fit(0), "b": fit(1)})
    both.save(tmp_path / "both.parquet")
    joined = join_fits({"ab": AccuracyEstimator.load(tmp_path / "both.parquet"), "c": fit(2)})
    np.testing.assert_allclose(numbers_at(joined), numbers_at(fit(0, 1, 2)), atol=1e-9)


def with_words(seed, words):
    task = {"task": {"name": "any", "words": words}}
    return fit_sets([site(seed)], context={**DETECTOR, **task})


def test_words_that_fits_were_told_are_known_to_the_joined_one():
    car = {"car": ["car", "van"], "person": ["person"]}
    joined = join_fits({"a": with_words(0, car), "b": with_words(1, {"car": ["van"]})})
    assert joined.categories_ == car
    plain = make_site(1, n_images=31, categories=WORDS)
    plain = replace(plain, everywhere=False, looks=Looks.of(plain.boxes))
    assert join_fits({"a": with_words(0, car), "b": fit_of(plain)}).categories_ is None
    for order in ("ab", "ba"):  # persons are cars in one fit, and themselves in the other
        fits = {"a": with_words(0, {"car": ["car", "person"]}), "b": fit_of(plain)}
        with pytest.raises(InputError, match="car, person are categories of their own"):
            join_fits({key: fits[key] for key in order})
    with pytest.raises(InputError, match="bus for the category car, another fit car, van"):
        join_fits({"a": with_words(0, car), "b": with_words(1, {"car": ["bus"]})})


@pytest.mark.parametrize("order", [("named", "plain"), ("plain", "named")])
def test_words_that_one_fit_was_told_stand_where_their_category_is_named(order):
    """They were forgotten: no box of a new site was one of the category."""
    fits = {"named": with_words(0, {"vehicle": ["car", "van"]}), "plain": fit(1)}
    joined = join_fits({name: fits[name] for name in order})
    again = join_fits({"joined": joined, "more": fit(2)})
    boxes = [[20.0 * k, 10.0, 15.0, 12.0] for k in range(30)]
    rows = [
        {"file_name": "1.jpg", "category": WORDS[k % 2], "bbox": box, "score": (k + 1) / 31}
        for k, box in enumerate(boxes)
    ]
    for fitted in (joined, again):
        assert fitted.categories_ is None
        named = fitted.read_site(rows, categories=["vehicle"]).boxes
        assert named.categories == ("vehicle",)
        assert named.boxes[:, 0].tolist() == [box[0] for box in boxes[::2]]
        assert fitted.read_site(rows).boxes.categories == WORDS


def test_words_that_labels_of_one_set_spell_otherwise_are_those_of_another():
    """As Person and person: they were two categories of the joined fit, or two detectors."""

    def called(seed, *words):
        labelled = make_site(seed, n_images=30 + seed, categories=WORDS)
        boxes, truth = (replace(of, categories=words) for of in (labelled.boxes, labelled.truth))
        passes = {"boxes": boxes, "reference": boxes.where(boxes.scores > 2)}  # without a box
        return fit_of(
            replace(labelled, **passes, truth=truth, looks=Looks.of(boxes), everywhere=False)
        )

    same = join_fits({"a": called(0, *WORDS), "b": called(1, *WORDS)})
    for words in (("car", "Person"), ("CAR", "Person")):
        joined = join_fits({"a": called(0, *WORDS), "b": called(1, *words)})
        assert joined.regression_.categories_ == list(WORDS)
        assert joined.looks_.frequencies == same.looks_.frequencies
        for known in ("", "site0"):
            np.testing.assert_array_equal(numbers_at(joined, known), numbers_at(same, known))


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_two_words_of_one_fit_are_not_that_of_another(order):
    """As car and CAR where another fit has Car: the first of them was it, in one of the orders."""
    words = {"a": ("Car", "person"), "b": ("car", "CAR", "person")}
    sites = {name: make_site(k, categories=words[name]) for k, name in enumerate(words)}
    fits = {name: fit_of(replace(sites[name], everywhere=False)) for name in order}
    assert {*join_fits(fits).regression_.categories_} == {"Car", "car", "CAR", "person"}


def test_named_categories_that_are_spelt_otherwise_are_those_of_another_fit():
    """As of --category Person and --category person: two categories of the joined fit."""

    def named(seed, *words):
        labelled = site(seed)
        boxes, truth = (replace(of, categories=words) for of in (labelled.boxes, labelled.truth))
        task = {"task": {"name": "any", "words": {word: [word] for word in words}}}
        labelled = replace(labelled, boxes=boxes, truth=truth, looks=Looks.of(boxes))
        return fit_of(labelled, {**DETECTOR, **task})

    same = join_fits({"a": named(0, *WORDS), "b": named(1, *WORDS)})
    joined = join_fits({"a": named(0, *WORDS), "b": named(1, "Car", "PERSON")})
    assert joined.categories_ == same.categories_ == {word: [word] for word in WORDS}
    assert joined.regression_.categories_ == list(WORDS)
    np.testing.assert_array_equal(numbers_at(joined), numbers_at(same))


@pytest.mark.parametrize(
    ("order", "plain", "name", "word"),
    [
        ("ab", "Car", "car", "Car"),  # --category car=Car: two categories
        ("ba", "Car", "car", "Car"),
        (
            "ba",
            "car",
            "car",
            "Car",
        ),  # files spell it otherwise, too: one or two, by the order
        ("ba", "car", "Car", "car"),
    ],
)
def test_a_named_category_is_the_one_of_a_fit_without_names_that_has_its_word(
    order, plain, name, word
):
    def called(labelled, first):
        boxes, truth = (
            replace(of, categories=(first, "person")) for of in (labelled.boxes, labelled.truth)
        )
        return replace(labelled, boxes=boxes, truth=truth, looks=Looks.of(boxes))

    def joined(name, word):
        named = called(site(1), name)
        looks = Looks.of(replace(named.boxes, categories=(word, "person")))
        task = {"task": {"name": "any", "words": {name: [word], "person": ["person"]}}}
        fits = {
            "a": fit_of(replace(called(site(0), plain), everywhere=False)),
            "b": fit_of(replace(named, looks=looks), {**DETECTOR, **task}),
        }
        return join_fits({key: fits[key] for key in order})

    one, same = joined(name, word), joined(plain, plain)
    assert one.regression_.categories_ == same.regression_.categories_ == [plain, "person"]
    assert one.context_["words"] == same.context_["words"]
    boxes = replace(site(9).boxes, categories=(plain, "person"))
    estimates = [fitted.predict_site(Site(boxes)) for fitted in (one, same)]
    assert estimates[0].value == pytest.approx(estimates[1].value, abs=1e-9)
    assert estimates[0].upper == pytest.approx(estimates[1].upper, abs=1e-9)
    named_so = one.read_site(
        [{"file_name": "1.jpg", "category": word, "bbox": [0, 0, 9, 9], "score": 0.9}],
        categories=[name],
    )
    assert named_so.boxes.categories == (plain,) and len(named_so.boxes) == 1


@pytest.mark.parametrize("order", ["abc", "cab"])
def test_a_named_category_of_a_word_that_is_spelt_otherwise_is_that_of_another_fit(order):
    """Of --category person=Person and --category person: it had other words, and was refused."""

    def named(seed, *words):
        labelled = site(seed)
        looks = Looks.of(replace(labelled.boxes, categories=words))
        task = {
            "task": {"name": "any", "words": dict(zip(WORDS, map(list, zip(words)), strict=True))}
        }
        return fit_of(replace(labelled, looks=looks), {**DETECTOR, **task})

    def joined(*spellings):
        fits = dict(
            zip("abc", (named(k, *words) for k, words in enumerate(spellings)), strict=True)
        )
        return join_fits({name: fits[name] for name in order})

    same, other = joined(WORDS, WORDS, WORDS), joined(WORDS, ("Car", "Person"), ("CAR", "person"))
    assert other.categories_.keys() == same.categories_.keys()
    assert other.regression_.categories_ == same.regression_.categories_
    assert len(other.looks_.categories) == len(WORDS)
    np.testing.assert_allclose(numbers_at(other), numbers_at(same), atol=1e-9)


def with_reference(seed, digest="large"):
    labelled = site(seed)
    return fit_of(replace(labelled, reference=labelled.boxes), context(reference=digest))


def test_a_reference_that_one_was_fitted_without_is_forgotten():
    first = with_reference(0)
    assert "reference_ap" in first.table_
    joined = join_fits({"a": first, "b": fit(1)})
    assert "reference" not in joined.context_["pass"] and "reference_ap" not in joined.table_
    # nor is it run on new images, which was then refused
    loading = {"detector": {"name": "one"}, "reference": {"name": "large"}}
    loaded = join_fits({"a": replace(first, loading_=loading), "b": fit(1)})
    assert loaded.loading_ == {**loading, "reference": None}
    both = join_fits({"a": first, "b": with_reference(1)})
    assert both.context_["pass"]["reference"] == "large" and "reference_ap" in both.table_


def test_two_references_that_are_run_are_not_mixed():
    first, second = with_reference(0), with_reference(1, "larger")
    with pytest.raises(InputError, match="a, b have different reference detectors"):
        join_fits({"a": first, "b": second})
    # of boxes in files nobody knows, and with a fit that reads none no reference is read
    assert "reference_ap" in join_fits({"a": first, "b": with_reference(1, "predictions 7")}).table_
    assert "reference_ap" not in join_fits({"a": first, "b": second, "c": fit(2)}).table_


def test_other_detectors_and_methods_are_refused():
    other = fit_of(site(1), {**DETECTOR, "detector": {"name": "two"}})
    with pytest.raises(InputError, match=r"a and b do not go together.*\n.*detector\.name"):
        join_fits({"a": fit(0), "b": other})
    plane = fit_of(make_site(3, categories=("plane",)))
    with pytest.raises(InputError, match="c knows plane, the first fit car, person"):
        join_fits({"a": fit(0), "c": plane})
    with pytest.raises(InputError, match="predictions and fits with a detector are not joined"):
        join_fits({"a": fit(0), "c": fit_of(site(2), {})})
    with pytest.raises(InputError, match="site0 is in more than one of a, b"):
        join_fits({"a": fit(0), "b": fit(0, 1)})


def test_settings_that_nothing_reads_do_not_part_fits():
    settings = {"dropout": {"rate": 0.15}, "stability": {"cost": "giou"}, "seed": 7}
    joined = join_fits({"a": fit(0), "b": fit_of(site(1), context(**settings))})
    np.testing.assert_array_equal(numbers_at(joined), numbers_at(fit(0, 1)))


def test_a_set_by_two_names_is_recognised_by_its_boxes():
    with pytest.raises(InputError, match="set site0, other is in more than one of a, z"):
        join_fits({"a": fit(0), "z": fit_of(site(0, "other"))})


def test_categories_of_one_set_that_were_fitted_apart_are_of_one_site():
    whole, parts = site(0), {}
    for name in WORDS:
        boxes = whole.boxes.as_categories([name], {name: name})
        k = WORDS.index(name)
        truth = whole.truth.where(whole.truth.label == k)
        truth = replace(truth, categories=(name,), label=np.zeros(len(truth), int))
        parts[name] = fit_of(replace(whole, boxes=boxes, truth=truth))
    assert join_fits(parts).regression_.sites_ == ["site0"]


def test_sets_of_one_name_with_other_labels_are_named_after_their_fits():
    """As those of two folders that both hold an annotations.json."""
    one, other = (fit_of(site(k, "annotations")) for k in (0, 1))
    paths = ("/runs/a/estimator.parquet", "/runs/b/estimator.parquet")
    joined = join_fits(dict(zip(paths, (one, other), strict=True)))
    assert joined.regression_.sites_ == ["a/annotations", "b/annotations"]
    assert joined.regression_.groups_ == ["a/annotations", "b/annotations"]
    with pytest.raises(InputError, match="in more than one of"):
        join_fits({"a": one, "b": one})


def test_a_group_that_was_given_stays_where_sets_have_its_name(tmp_path):
    """Two files harbour.json, with --group harbour: they were two groups, as if independent."""
    for k, name in enumerate("ab"):
        labelled = replace(site(k, "harbour"), group="harbour", looks=None)
        fit_of(labelled_site(labelled)).save(tmp_path / f"{name}.parquet")
    joined = join_fits(
        {name: AccuracyEstimator.load(tmp_path / f"{name}.parquet") for name in "ab"}
    )
    assert joined.regression_.sites_ == ["a/harbour", "b/harbour"]
    assert joined.regression_.groups_ == ["harbour"]


def test_labels_tell_images_of_equal_names_apart():
    """Frames of several cameras are numbered alike; one set that is labelled again is the same."""
    first, second = (make_site(k, categories=WORDS, name="annotations") for k in (0, 1))
    assert first.boxes.images == second.boxes.images
    joined = join_fits({"a": fit_of(first), "b": fit_of(second)})
    assert joined.regression_.sites_ == ["a/annotations", "b/annotations"]
    moved = replace(first.truth, boxes=first.truth.boxes + 0.01)
    with pytest.raises(InputError, match="in more than one of"):
        join_fits({"a": fit_of(first), "b": fit_of(replace(first, truth=moved))})


def test_labels_of_one_set_by_another_name_count_once_whatever_was_found():
    """Boxes of two detectors on the same labels were joined as two sets of one detector."""
    first = make_site(0, categories=WORDS, name="annotations")
    generator = np.random.default_rng(0)
    found = first.boxes.boxes + generator.uniform(-4, 4, first.boxes.boxes.shape)
    others = replace(first.boxes, boxes=found, scores=first.boxes.scores**2)
    renamed = replace(first, boxes=others, name="val")
    with pytest.raises(InputError, match="set annotations, val is in more than one of a, b"):
        join_fits({"a": fit_of(first), "b": fit_of(renamed)})


@pytest.mark.parametrize(("ids", "names", "same"), [("other", "", True), ("", "other/", False)])
def test_images_of_a_set_are_known_by_their_names(ids, names, same):
    """Equal numbers were equal images, and those that a program had numbered anew were others."""
    first = make_site(0, categories=WORDS, name="annotations")
    images = tuple(
        replace(of, image_id=f"{ids}{of.image_id}", file_name=f"{names}{of.file_name}")
        for of in first.boxes.images
    )
    moved = {
        name: replace(of, images=images, boxes=of.boxes + 0.4)
        for name, of in (("boxes", first.boxes), ("truth", first.truth))
    }
    fits = {"a": fit_of(first), "b": fit_of(replace(first, **moved))}
    if not same:
        assert join_fits(fits).regression_.sites_ == ["a/annotations", "b/annotations"]
        return
    with pytest.raises(InputError, match="in more than one of"):
        join_fits(fits)


@pytest.mark.parametrize("group", ["", "harbour"])
def test_images_of_sites_of_two_groups_are_a_warning(group):
    """Where one group is left out the other holds the same images: only `check` said so."""
    whole = make_site(0, n_images=60, categories=WORDS)
    parts = [whole.on_images(range(40)), whole.on_images(range(30, 60))]
    sets = [
        labelled_site(replace(part, name=name, group=group or name, looks=None))
        for part, name in zip(parts, "ab", strict=True)
    ]
    fitted = fit_sets(sets, context=DETECTOR)
    found = [of for of in fitted.fit_result_.warnings if of.code == "images-in-several-groups"]
    assert len(found) == (0 if group else 1)
    confident = np.unique(whole.boxes.image[whole.boxes.scores > 0.5])
    assert all(of.startswith(f"{np.sum(confident[confident < 40] >= 30)} images") for of in found)


def test_each_site_keeps_whether_the_detector_was_trained_there(tmp_path):
    at_home = fit_of(site(0), trained_here=True)
    join_fits({"a": at_home, "b": fit(1)}).save(tmp_path / "joined.parquet")
    regression = AccuracyEstimator.load(tmp_path / "joined.parquet").regression_
    assert at_home.regression_.domain_shift_.posterior is None
    assert sum(regression.domain_shift_.posterior) == pytest.approx(1)


def test_a_fit_whose_sites_are_not_there_is_refused(tmp_path):
    fit(0).save(tmp_path / "fit.parquet")
    (tmp_path / "fit.sites.npz").unlink()
    alone = AccuracyEstimator.load(tmp_path / "fit.parquet")
    np.testing.assert_array_equal(numbers_at(alone), numbers_at(fit(0)))  # it estimates as before
    with pytest.raises(InputError, match="a does not hold its labelled sites"):
        join_fits({"a": alone, "b": fit(1)})
    (tmp_path / "fit.sites.npz").write_bytes(b"no archive")
    with pytest.raises(InputError, match="cannot be read"):
        join_fits({"a": AccuracyEstimator.load(tmp_path / "fit.parquet"), "b": fit(1)})


def test_a_damaged_file_of_sites_is_refused(tmp_path):
    fit(0).save(tmp_path / "fit.parquet")
    content, refused = (tmp_path / "fit.sites.npz").read_bytes(), 0
    for place in range(100, len(content), len(content) // 40):  # in a stream, a name, a checksum
        damaged = content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]
        (tmp_path / "fit.sites.npz").write_bytes(damaged)
        with contextlib.suppress(InputError):
            FittedSites(path=tmp_path / "fit.sites.npz").read()
            continue
        refused += 1
    assert refused > 20


def test_the_sites_beside_a_fit_are_its_own(tmp_path):
    """Those of v0.1 and v0.2 were one file, and those of a fit that lay there before stayed."""
    names = ["v0.1", "v0.2"]
    for k, name in enumerate(names):
        fit(k).save(tmp_path / name)
    read = [AccuracyEstimator.load(tmp_path / name).sites_.read() for name in names]
    assert [[labelled.name for labelled in sites] for sites in read] == [["site0"], ["site1"]]
    replace(fit(0), sites_=FittedSites()).save(tmp_path / "v0.2")
    assert AccuracyEstimator.load(tmp_path / "v0.2").sites_.read() == ()


def test_labelled_sites_are_read_as_they_were_written(tmp_path):
    labelled = site(0)
    clean = labelled.boxes
    taken = datetime(2026, 3, 2, 8, 30)
    images = (replace(clean.images[0], size=None, taken=taken), *clean.images[1:])
    labelled = replace(
        labelled.with_images(images),
        reference=replace(clean.where(clean.scores > 0.5), images=images),
        blocks=np.arange(len(labelled)) // 2,
    )
    note = Notice("copies-left-out", "2 copies", severity="note")
    labelled = replace(
        labelled,
        truth=replace(labelled.truth, images=images),
        group="cameras",
        grouped=True,
        trained_here=True,
        left_out=(note,),
    )
    FittedSites((labelled,)).write(tmp_path / "fit.parquet")
    (read,) = FittedSites(path=tmp_path / "fit.sites.npz").read()
    for name in ("name", "group", "grouped", "everywhere", "trained_here", "left_out", "looks"):
        assert getattr(read, name) == getattr(labelled, name), name
    assert (
        read.left_out[0].severity == "note"
        and read.evaluation.content_key == labelled.evaluation.content_key
    )
    assert read.boxes.images == images and read.truth.images == images
    pairs = [
        (read.boxes, labelled.boxes),
        (read.reference, labelled.reference),
    ]
    for ours, theirs in pairs:
        for name in ("image", "label", "boxes", "scores"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
            assert getattr(ours, name).dtype == getattr(theirs, name).dtype
    np.testing.assert_array_equal(read.blocks, labelled.blocks)
    np.testing.assert_array_equal(read.truth.crowd, labelled.truth.crowd)


def test_the_sites_of_another_version_are_not_called_damaged(tmp_path):
    np.savez(tmp_path / "fit.sites.npz", sites='{"format": 0}')
    with pytest.raises(InputError, match=r"fit\.sites\.npz was written by another version") as told:
        FittedSites(path=tmp_path / "fit.sites.npz").read()
    assert "cannot be read" not in str(told.value)


@pytest.mark.parametrize("name", ["site0", "another name"])
def test_a_set_is_not_joined_with_a_part_of_itself(name):
    part = replace(site(0).on_images(np.arange(25)), name=name, group=name)
    with pytest.raises(InputError, match="Each counts once"):
        join_fits({"a": fit(0), "b": fit_of(part)})
    with pytest.raises(InputError, match="Each counts once"):
        join_fits({"a": fit(0), "b": fit_of(replace(site(0).above(0.3), name=name, group=name))})


@pytest.mark.parametrize("cut", [0, 1])
def test_of_two_labelled_sets_that_with_another_threshold_is_named(cut):
    sets = [site(0), site(1)]
    boxes = sets[cut].above(0.25).boxes
    sets[cut] = replace(sets[cut], boxes=boxes, looks=Looks.of(boxes))
    warnings = fit_sets(sets, context=DETECTOR).fit_result_.warnings
    (notice,) = (notice for notice in warnings if notice.code == "another-threshold")
    assert notice.startswith(sets[cut].name)

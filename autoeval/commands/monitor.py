"""What `autoeval monitor` prints, writes and sends, and its status."""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoeval.commands.estimate import N_LABELS, repeated_for_plan, unused_folder
from autoeval.errors import InputError

if TYPE_CHECKING:
    from autoeval.commands.command_line import Invocation
    from autoeval.monitoring.monitored import Monitored
    from autoeval.runtime.files import PathLike

ALARM = 3  # status of the command


@contextlib.contextmanager
def around(invocation: Invocation) -> Iterator[dict[str, Any]]:
    """Refuse what cannot be printed or sent; with --quiet suppress progress.

    Parameters
    ----------
    invocation : Invocation
        What was typed.

    Raises
    ------
    InputError
        If the webhook is no address, or two options exclude each other.
    """
    typed = invocation.values
    if typed["webhook"] is not None:
        from autoeval.report.alarms import check_webhook

        check_webhook(typed["webhook"])
    if typed["quiet"] + typed["json_lines"] + typed["verbose"] > 1:
        raise InputError(
            "--json-lines prints every site, --quiet alarms and warnings alone, --verbose "
            "everything: give one of them."
        )
    if not typed["quiet"]:
        yield {}
        return
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("always", UserWarning)
        yield {}
    for warning in caught:
        if warning.category is UserWarning:
            print(f"warning: {warning.message}")


def show(
    monitored: Monitored,
    invocation: Invocation,
    *,
    json_lines: bool = False,
    prometheus: PathLike | None = None,
    fail_on_alarm: bool = False,
    webhook: str | None = None,
    work_dir: PathLike = "work_dirs/monitor",
    quiet: bool = False,
    verbose: bool = False,
) -> int:
    """Print the states of all sites, write the page and tables, and send alarms.

    Parameters
    ----------
    json_lines : bool
        Print a line of JSON for each site.
    prometheus : path-like, optional
        File to write: gauges for the textfile collector of Prometheus's node_exporter.
    fail_on_alarm : bool
        End with status 3 while a site has an alarm.
    webhook : str, optional
        Address to which new alarms are sent as JSON (POST).
    quiet : bool
        Print alarms and warnings alone.
    verbose : bool
        Print everything.
    """
    from autoeval.api.options import load_estimator
    from autoeval.monitoring.monitor_store import MonitorStore
    from autoeval.report.alarms import json_lines as lines_of
    from autoeval.report.alarms import prometheus_text
    from autoeval.report.monitor import (
        Pictures,
        alarm_lines,
        monitored_page,
        monitored_text,
        monitored_values,
        site_pictures,
    )
    from autoeval.report.page import PAGE, about, written_files
    from autoeval.runtime.files import write_table, write_text
    from autoeval.words import warning_lines

    folder, typed = Path(work_dir), invocation.values
    spec = load_estimator(typed["estimator"]).loading_.get("detector")
    names = ("images", "predictions", "detector", "checkpoint", "estimator")
    facts = about(invocation.command_line, spec=spec, **{name: typed[name] for name in names})
    commands = label_commands(invocation, monitored)
    if json_lines:
        print(lines_of(monitored.to_pandas()), flush=True)
    elif quiet:
        alarms = [f"ALARM: {line}" for line in alarm_lines(monitored)]
        not_compared = monitored.candidate[1] if monitored.candidate else ()
        lines = [*alarms, *warning_lines((*not_compared, *monitored.warnings))]
        print("\n".join(lines), end="\n" if lines else "", flush=True)
    else:
        print(monitored_text(monitored, commands, verbose=verbose), flush=True)
    pictures: Pictures = {}
    if monitored.pictures:
        pictures = site_pictures(monitored, MonitorStore(folder))
    page = monitored_page(monitored, commands, pictures=pictures, about=facts)
    written = page.write(folder / PAGE, monitored_values(monitored, facts))
    written.append(write_table(folder / "windows.parquet", monitored.windows()))
    if prometheus:
        write_text(prometheus, prometheus_text(monitored, finished_s=time.time()))
        written.append(Path(prometheus))
    if not (json_lines or quiet):
        print(f"\n{written_files(written)}")
    failed = webhook and not _sent(webhook, folder, invocation, monitored)
    if fail_on_alarm and monitored.alarms:
        return ALARM
    return int(bool(failed))


def _sent(webhook: str, folder: Path, invocation: Invocation, monitored: Monitored) -> bool:
    """Send the alarms that were not sent before.

    Parameters
    ----------
    webhook : str
        Address.
    folder : Path
        Of the monitor, which remembers what was sent.
    invocation : Invocation
        What was typed.
    monitored : Monitored
        The run.

    Returns
    -------
    bool
        False where that did not work; the alarms are then sent by the next run.
    """
    from autoeval.monitoring.monitor_store import MonitorStore
    from autoeval.report.alarms import new_alarms, post_json, remember

    store = MonitorStore(folder)
    alarms = new_alarms(store, monitored)
    if not alarms:
        return True
    images = invocation.values["images"] or invocation.values["predictions"]
    try:
        post_json(webhook, {"images": str(images), "alarms": alarms})
    except OSError as error:
        print(f"error: {error}; the next run tries again", file=sys.stderr)
        return False
    remember(store, monitored)
    return True


def label_commands(invocation: Invocation, monitored: Monitored) -> dict[str, str]:
    """Return the command that plans labels of each site with an alarm.

    Sites of which neither a file of boxes nor a folder of images has the name have none, nor those
    whose images are in a list of all.

    Parameters
    ----------
    invocation : Invocation
        What was typed.
    monitored : Monitored
        The run.
    """
    from autoeval.api.options import OF_REFERENCE, load_estimator
    from autoeval.io.predictions.formats import SUFFIXES
    from autoeval.model.pair_table import REFERENCE_AP
    from autoeval.monitoring.monitor_store import ROOT, MonitorStore
    from autoeval.monitoring.read_sites import LISTS

    typed = invocation.values
    store = MonitorStore(typed["work_dir"])
    notes = store.files() if typed["predictions"] and store.path.exists() else {}
    of_one = ["predictions", "images", "img_dir", *(["reference"] if typed["predictions"] else [])]
    references = typed["reference"] or ()
    of_both = references and typed["against"]
    if of_both and REFERENCE_AP not in load_estimator(typed["estimator"]).rows_:
        references, of_one = (), [*of_one, *OF_REFERENCE]  # it is of the other detector alone
    commands, folders = {}, list[Path]()
    for site in monitored.alarms:
        words = ["autoeval", "label", "plan", "--estimator", typed["estimator"]]
        if typed["predictions"]:
            folder = Path(typed["predictions"])
            files = [
                path for path in (folder / f"{site.name}{end}" for end in SUFFIXES) if path.exists()
            ]
            if not files:
                continue
            words += ["--predictions", files[0]]
            if typed["images"]:  # a folder with a list of each site
                lists = [Path(typed["images"]) / f"{site.name}{end}" for end in LISTS]
                lists = [path for path in lists if path.exists()]
                if not lists:  # a list of all sites: those of one have no file
                    continue
                words += ["--images", lists[0]]
            for reference in references:
                words += ["--reference", Path(reference) / files[0].relative_to(folder)]
        elif (Path(typed["images"]) / site.name).is_dir():
            words += ["--images", Path(typed["images"]) / site.name]
        else:
            continue
        of_site = (typed["site_categories"] or {}).get(site.name) or {}
        for name, called in of_site.items():
            words += ["--category", f"{name}={','.join(called)}", "--present", name]
        categories = ["categories", "present"] if of_site else []
        words += repeated_for_plan(invocation, [*of_one, *categories])
        if site.name in (typed["known_sites"] or {}):
            words += ["--site", typed["known_sites"][site.name]]
        # a folder that is there has a plan of fewer images of this site, which others were added to
        name = f"labels_{site.name.replace('/', '_')}"
        while (folder := unused_folder(Path("work_dirs") / name)) in folders:  # of a/b and a_b
            name += "_"
        folders.append(folder)
        # images of the history may be gone: a plan draws of what the file names, or the folder has
        folder_of = "" if site.name == ROOT else f"{site.name}/"
        n_there = sum(name.startswith(folder_of) for name in monitored.pictures)
        n_there = notes.get(site.name, {}).get("n_images", n_there) or N_LABELS
        n_images = min(int(site.history["n_images"].sum()), n_there)
        words += ["--n", n_images] if n_images < N_LABELS else []
        words += ["--work-dir", folder]
        commands[site.name] = shlex.join(map(str, words))
    return commands

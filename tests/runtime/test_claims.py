import os
import signal
import subprocess
import sys
import threading
import time

from autoeval.runtime.job import Job
from autoeval.runtime.jobs import run_jobs
from autoeval.runtime.store import Claims, RowStore

OWNER = """
import sys, time
from autoeval.runtime.store import Claims
claims = Claims(sys.argv[1])
print(claims.take("job"), flush=True)
time.sleep(60)
"""


def test_a_claim_dies_with_its_owner(tmp_path):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None and owner.stdout.readline() == "True\n"
    claims = Claims(tmp_path)
    assert claims.is_taken("job") and not claims.take("job")
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    with claims.kept():
        assert not claims.is_taken("job") and claims.take("job")
    assert not list(tmp_path.iterdir())


def test_two_runs_of_one_folder_share_the_jobs(tmp_path):
    """Each of them waits within a job until the other is within one, too."""
    jobs = [Job(f"job{k}", 1, payload=k) for k in range(12)]
    done, counts, both = [], [], threading.Barrier(2)

    def work(job, advance):
        both.wait(timeout=60)
        done.append(job.key)
        return [{"value": job.payload**2}]

    def run():
        counts.append(run_jobs(jobs, work, RowStore(tmp_path), what="test"))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == sorted(job.key for job in jobs)
    assert [(count.done, count.reused) for count in counts] == [(6, 6), (6, 6)]
    values = RowStore(tmp_path).table(job.key for job in jobs)["value"]
    assert values.tolist() == [k**2 for k in range(12)]


def test_a_run_waits_for_the_jobs_of_another(tmp_path):
    store = RowStore(tmp_path)
    other = store.claims()
    other.take("a")

    def finish():
        time.sleep(0.3)
        store.write("a", [{"value": 7}])
        other.release("a")

    thread = threading.Thread(target=finish)
    thread.start()
    counts = run_jobs([Job("a", 1)], lambda job, advance: [{"value": 0}], store, what="test")
    thread.join()
    assert (counts.done, counts.reused) == (0, 1)
    assert store.table(["a"])["value"].tolist() == [7]

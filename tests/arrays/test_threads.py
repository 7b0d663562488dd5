"""Items in threads: in order, few at a time, and BLAS as it was."""

import threading

import pytest
from sklearn import config_context, get_config
from threadpoolctl import threadpool_info

from gferm.arrays import threads
from gferm.arrays.threads import map_ahead


def blas():
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]


@pytest.fixture(params=[1, 2, 3])
def cores(request, monkeypatch):
    monkeypatch.setattr(threads, "_allowed_threads", lambda: request.param)
    return request.param


def test_results_come_in_the_order_of_the_items(cores):
    assert list(map_ahead(lambda x: x * x, iter(range(20)), room=99)) == [x * x for x in range(20)]
    assert list(map_ahead(str, [], room=99)) == []


@pytest.mark.parametrize("room", [0, 1, 2, 99])
def test_no_more_items_are_in_work_than_there_are_cores_and_room(cores, room):
    inside, most, lock = 0, 0, threading.Lock()

    def work(item):
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        threading.Event().wait(0.005)
        with lock:
            inside -= 1

    list(map_ahead(work, range(12), room=room))
    assert most == max(min(cores, room), 1)


def test_the_first_error_is_raised_and_no_more_is_read(cores):
    read = []

    def items():
        for item in range(50):
            read.append(item)
            yield item

    def work(item):
        if item in (3, 4):
            raise ValueError(f"item {item}")

    before = blas()
    with pytest.raises(ValueError, match="item 3"):
        list(map_ahead(work, items(), room=99))
    assert len(read) <= 3 + cores
    assert blas() == before


def test_blas_has_one_thread_meanwhile_and_what_it_had_afterwards(cores):
    before = blas()
    found = list(map_ahead(lambda item: max(blas()), range(3), room=99))
    assert blas() == before
    assert cores == 1 or found == [1, 1, 1]


def test_overlapping_users_leave_blas_as_it_was():
    """Whoever comes first or goes last: two passes over chunks, and a fit between them."""
    before = blas()
    started, release = threading.Barrier(3), threading.Event()

    def slow(item):
        if item == 0:
            started.wait(10)
        release.wait(10)

    def stream():
        list(map_ahead(slow, range(2), room=99))

    def fit():
        with threads.one_blas_at_a_time():
            started.wait(10)
            release.wait(10)

    for order in ([stream, fit], [fit, stream]):
        workers = [threading.Thread(target=work) for work in order]
        for worker in workers:
            worker.start()
        started.wait(10)
        assert threads._allowed_threads() == max(before)  # what others hold is no limit of ours
        release.set()
        for worker in workers:
            worker.join()
        release.clear()
        assert blas() == before


def test_items_are_worked_on_under_the_callers_configuration(cores):
    with config_context(assume_finite=True):
        found = list(map_ahead(lambda item: get_config()["assume_finite"], range(4), room=99))
    assert found == [True] * 4

"""The store of one tree: small documents in memory up to a budget, the rest in one file."""

import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fronts import FD, needs_proc
from together import together
from usp import _store
from usp._store import Document, DocumentWriter, Store
from usp.objects.exchange import Exchange

EXCHANGE = Exchange("http://h/a", "http://h/b", content_type="text/xml")
PATIENCE = 10.0


def put(store: Store, *chunks: bytes) -> Document:
    writer = DocumentWriter(store)
    for chunk in chunks:
        writer.write(chunk)
    return writer.finish(EXCHANGE)


def read(document: Document) -> bytes:
    return b"".join(document.chunks())


@together("chunks, in_memory", [([b"12345", b"", b"67890"], True), ([b"12345", b"678901"], False)])
def test_a_document_stays_in_memory_unless_it_is_larger_than_small(chunks, in_memory):
    document = put(Store(memory=100, small=10), *chunks)
    text = b"".join(chunks)
    assert document.data == (text if in_memory else None)
    assert (document.store._spool is None) is in_memory
    assert (document.size, read(document), document.exchange) == (len(text), text, EXCHANGE)


def test_documents_beyond_the_budget_go_to_the_spool_however_small():
    store = Store(memory=25, small=10)
    documents = [put(store, b"%010d" % n) for n in range(4)]
    assert [document.data is None for document in documents] == [False, False, True, True]
    assert [read(document) for document in documents] == [b"%010d" % n for n in range(4)]


def test_a_document_that_leaves_memory_or_is_discarded_gives_its_budget_back():
    store = Store(memory=10, small=8)
    assert put(store, b"12345", b"67890").data is None
    for data in (b"12345678", b"1234567890"):  # in memory, and in the spool
        writer = DocumentWriter(store)
        writer.write(data)
        writer.discard()
        writer.discard()
    assert store.hold(10, 8)


def test_a_document_can_be_read_twice_and_by_two_readers_at_once():
    for size in (10, 1_000_000):
        document = put(Store(memory=1000, small=1000), os.urandom(size))
        assert read(document) == read(document)
        first, second = document.chunks(), document.chunks()
        assert all(a == b for a, b in zip(first, second, strict=True))


def test_large_documents_come_in_bounded_pieces_and_are_at_one_place_of_the_spool():
    for store in (Store(), Store(memory=0), Store(10**7, 10**7)):
        document = put(store, *(bytes(70_000) for _ in range(10)))
        assert max(map(len, document.chunks())) <= 256 * 1024
        assert document.places == (() if document.data else ((0, 700_000),))
        assert len(repr(document)) < 1000  # which does not show the bytes


@given(
    st.lists(st.lists(st.binary(max_size=30), max_size=6), max_size=8),
    st.integers(0, 60),
    st.integers(0, 60),
    st.randoms(use_true_random=False),
)
def test_what_was_written_is_read_whatever_the_thresholds_and_however_writers_alternate(
    documents, memory, small, random
):
    store = Store(memory, small)
    writers = [DocumentWriter(store) for _ in documents]
    queue = [(at, chunk) for at, chunks in enumerate(documents) for chunk in chunks]
    random.shuffle(queue)
    written = [b""] * len(documents)
    for at, chunk in queue:
        writers[at].write(chunk)
        written[at] += chunk
    stored = [writer.finish(EXCHANGE) for writer in writers]
    assert [read(document) for document in stored] == written
    assert [document.size for document in stored] == list(map(len, written))
    held = sum(len(document.data) for document in stored if document.data is not None)
    assert held == store._held <= memory


@needs_proc
def test_thousands_of_documents_need_one_open_file():
    before = len(list(FD.iterdir()))
    store = Store(memory=1000, small=100)
    documents = [put(store, b"%d" % n * 50) for n in range(5000)]
    assert len(list(FD.iterdir())) <= before + 1
    assert all(read(document) == b"%d" % n * 50 for n, document in enumerate(documents))
    del documents, store
    assert len(list(FD.iterdir())) <= before


def test_writers_and_readers_in_many_threads_do_not_disturb_each_other():
    store = Store(memory=50_000, small=20_000)
    barrier = threading.Barrier(8)

    def work(number: int) -> bool:
        barrier.wait(120)
        fine = True
        for turn in range(20):
            data = bytes([number]) * (turn * 2000 + number)
            document = put(store, *(data[at : at + 777] for at in range(0, len(data), 777)))
            fine = fine and read(document) == data
        return fine

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


@pytest.mark.parametrize("memory", [0, 10_000])
def test_a_pickled_document_is_read_from_a_store_of_its_own(memory):
    store = Store(memory, memory)
    documents = [put(store, b"a" * 500), put(store, b"b" * 500)]
    copies = pickle.loads(pickle.dumps(documents))
    if store._spool is not None:
        store._spool.close()
    assert [read(document) for document in copies] == [b"a" * 500, b"b" * 500]
    assert copies[0].store is copies[1].store is not store
    assert copies[0].exchange == EXCHANGE
    assert (copies[0].data is None) == (memory == 0)


def test_a_pickled_store_is_empty_and_has_the_same_thresholds():
    store = Store(memory=10, small=5)
    put(store, b"1234")
    copy = pickle.loads(pickle.dumps(store))
    assert (copy.hold(10, 5), copy.hold(1, 5)) == (True, False)


def test_a_spool_that_was_cut_off_is_an_error_and_not_an_end():
    document = put(Store(memory=0), b"x" * 1000)
    document.store._spool.truncate(10)
    with pytest.raises(OSError, match="cut off"):
        read(document)


# Threads do not wait for each other's disk --------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "pwrite"), reason="this system writes where it stands")
def test_a_slow_write_does_not_hold_up_others(monkeypatch):
    store, began, go_on = Store(), threading.Event(), threading.Event()
    real = os.pwrite

    def slow(file, data, offset):
        if bytes(data) == b"slow":
            began.set()
            assert go_on.wait(PATIENCE)
        return real(file, data, offset)

    monkeypatch.setattr(os, "pwrite", slow)
    places = {}
    thread = threading.Thread(target=lambda: places.update(slow=store.append(b"slow")))
    thread.start()
    assert began.wait(PATIENCE)
    places["quick"] = store.append(b"quick")  # would wait forever for a lock
    assert b"".join(store.read([places["quick"]])) == b"quick"
    go_on.set()
    thread.join(PATIENCE)
    assert b"".join(store.read([places["slow"], places["quick"]])) == b"slowquick"


@pytest.mark.parametrize("has_offsets", [True, False])
def test_a_write_that_takes_only_a_part_goes_on(monkeypatch, has_offsets):
    if has_offsets and not hasattr(os, "pwrite"):
        pytest.skip("this system writes where it stands")
    monkeypatch.setattr(_store, "_HAS_OFFSETS", has_offsets)
    if has_offsets:
        real = os.pwrite
        monkeypatch.setattr(os, "pwrite", lambda file, data, at: real(file, data[:3], at))
    store = Store()
    places = [store.append(text) for text in (b"0123456789", b"", b"abcdefg")]
    assert b"".join(store.read(places)) == b"0123456789abcdefg"

"""Two-sided messages."""

import threading

import numpy as np
import pytest

import shmem
from shmem import _messages


# A message of up to 4016 bytes is sent at once; a longer one waits for its receiver.
@pytest.mark.parametrize("size", [0, 1, 1000, 4016, 4017, 300_000])
def test_send(size, me, right, left):
    data, got = np.full(size, me, "u1"), np.zeros(size, "u1")
    sent, message = False, None
    while not sent or message is None:
        sent = sent or shmem.send_test(data, np.int8(3), right)
        message = message or shmem.recv_test(got, 3, left)
    assert message == (3, left, size) and message.nbytes == size
    assert (got == left).all()
    assert shmem.recv_test(got) is None
    shmem.barrier_all()


def test_recv(me, n, right, left):
    """recv takes any tag and any PE, in the order of each sender, also into symmetric memory."""
    box = shmem.zeros(4, "float32")
    for i in range(20):
        shmem.send(np.full(4, 100 * me + i, "float32"), tag=i % 2, pe=right)
    for i in range(1, 20, 2):
        assert shmem.recv(box, tag=1) == (1, left, 16)
        assert (box == 100 * left + i).all()
    for i in range(0, 20, 2):
        assert shmem.recv(box, pe=left) == shmem.Message(0, left, 16)
        assert (box == 100 * left + i).all()
    shmem.send(b"plain bytes", 7, me)
    text = bytearray(20)
    assert shmem.recv(text, shmem.ANY, shmem.ANY).nbytes == 11
    assert text[:11] == b"plain bytes"
    shmem.barrier_all()


def test_what_a_send_keeps(me):
    """send_test keeps an array only while the library may read it later."""
    before, sent = len(_messages._under_way), 0
    while shmem.send_test(np.full(1000, 5, "u1"), 5, me):
        sent += 1
    for _ in range(20):  # a program may drop a short message that has no room
        assert not shmem.send_test(np.full(1000, 5, "u1"), 5, me)
    assert len(_messages._under_way) == before
    got = np.zeros(5000, "u1")
    for _ in range(sent):
        assert shmem.recv(got, 5, me).nbytes == 1000
    data = np.full(5000, 7, "u1")
    assert not shmem.send_test(data, 6, me)
    assert len(_messages._under_way) == before + 1
    assert shmem.recv(got, 6, me).nbytes == 5000 and (got == 7).all()
    assert shmem.send_test(data, 6, me)
    assert len(_messages._under_way) == before


def test_too_small(me):
    shmem.send(np.arange(5), 4, me)
    small = np.full(2, -1)
    with pytest.raises(shmem.SizeError, match=rf"it has 16 bytes.*tag 4 of PE {me} has 40"):
        shmem.recv(small)
    assert (small == -1).all()
    with pytest.raises(shmem.SizeError):
        shmem.recv_test(small, 4)
    large = np.zeros(6, int)
    assert shmem.recv(large) == (4, me, 40)
    assert (large[:5] == np.arange(5)).all()


def test_threads(me):
    """One thread of this PE sends long messages to another."""
    count, total = 20, np.zeros(1, int)

    def receive():
        got = np.zeros(5000, int)
        for i in range(count):
            shmem.recv(got, tag=i, pe=me)
            total[0] += got.sum()

    thread = threading.Thread(target=receive)
    thread.start()
    for i in range(count):
        shmem.send(np.full(5000, i), i, me)
    thread.join()
    assert total[0] == 5000 * count * (count - 1) // 2


def test_bad_messages(me, n):
    a = np.zeros(4)
    for tag in (-1, -2, 1 << 31, 1.5, None):
        with pytest.raises(shmem.ArgumentError):
            shmem.send(a, tag, me)
    for tag in (-2, 1 << 31, "x"):
        with pytest.raises(shmem.ArgumentError):
            shmem.recv_test(a, tag)
    for pe in (n, -1, None):
        with pytest.raises(shmem.PEError):
            shmem.send_test(a, 0, pe)
    for pe in (n, -2, None):
        with pytest.raises(shmem.PEError):
            shmem.recv(a, pe=pe)
    with pytest.raises(shmem.LayoutError, match="it is not contiguous"):
        shmem.send(a[::2], 0, me)
    with pytest.raises(shmem.LayoutError, match="it is not contiguous"):
        shmem.recv(a[::2])
    with pytest.raises(shmem.LayoutError, match="read-only"):
        shmem.recv(b"1234")
    with pytest.raises(shmem.DtypeError):
        shmem.send(None, 0, me)
    assert shmem.recv_test(a) is None

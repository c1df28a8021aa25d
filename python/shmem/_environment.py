"""The settings of init, which are variables of the environment while the library reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches

from shmem._errors import ArgumentError
from shmem._settings import SETTINGS


def _text(value: object) -> str:
    """The value of a setting as the library reads it."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, list):
        return ",".join(value)
    return str(value)


@contextmanager
def environment(settings: Mapping[str, object]) -> Iterator[None]:
    """Sets the variables of settings, which the library reads at init, and then restores them.

    A setting of None leaves its variable as it is.
    """
    before: dict[str, str | None] = {}
    names = {word: "SHMEM_" + word.upper() for word in settings}
    for word, name in names.items():
        if name not in SETTINGS:
            words = [n.removeprefix("SHMEM_").lower() for n in SETTINGS]
            near = get_close_matches(word.lower(), words, 1)
            nearest = f"the nearest is {near[0]}; " if near else ""
            raise ArgumentError(
                "init",
                word,
                "is not a setting",
                f"{nearest}shmem-info --env lists all, with SHMEM_",
            )
    try:
        for word, value in settings.items():
            if value is None:
                continue
            name = names[word]
            before.setdefault(name, os.environ.get(name))
            os.environ[name] = _text(value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = old

"""The files of a benchmark: its rows behind the facts of the machine, and the page of them."""

import json
import os


def rows(folder, name, facts, found):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        for row in [{"facts": facts}, *found]:
            f.write(json.dumps(row) + "\n")


def read(path):
    """The facts and the rows of a file that `rows` has written."""
    with open(path, encoding="utf-8") as f:
        first, *found = [json.loads(line) for line in f]
    return first["facts"], found


def read_beside(path):
    """What `read` returns of a file of another machine; {} and [] without such a file."""
    return read(path) if os.path.exists(path) else ({}, [])


def page(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)

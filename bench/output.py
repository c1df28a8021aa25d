"""The files of a benchmark: JSON lines, facts of the machine first and then rows; and a page."""

import json
import os


def rows(folder, name, facts, found):
    """Writes the facts and the rows (found) into a file."""
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
    """Like `read`, of a file with the rows of another machine; {} and [] without the file."""
    return read(path) if os.path.exists(path) else ({}, [])


def said(facts):
    """The facts of a machine in one line of a page."""
    return ", ".join(f"{k} {v}" for k, v in facts.items())


def page(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)

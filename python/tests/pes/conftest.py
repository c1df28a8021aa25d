"""One job for all tests of this folder."""

from job import *  # noqa: F403

"""The table of what was measured is that of the results."""

import unittest

import support


class TestSupport(unittest.TestCase):
    def test_committed(self):
        text = support.PAGE.read_text()
        self.assertEqual(text, support.page(text), "run: python3 bench/support.py")

    def test_machine(self):
        self.assertRegex(support.machine("gpu"), r"^2 H200 and 32 cores, 20\d\d-\d\d-\d\d$")
        self.assertRegex(support.machine("README"), r"^\d+ cores, 20\d\d-\d\d-\d\d$")

    def test_no_facts(self):
        with self.assertRaises(SystemExit):
            support.machine("figures")

    def test_places(self):
        self.assertEqual(support.where("a ([b](c.md))"), "a ([b](c.md))")
        self.assertIn("[x](../../bench/results/gpu.md) of 2 ", support.where("see {gpu:x}."))


if __name__ == "__main__":
    unittest.main()

"""Tests of bench/start_steps.py: what it sees of a process, and of a job that fails."""

import os
import sys
import unittest

import start_steps

# Has a file of the kernel open for a while, and sleeps.
PROGRAM = "import time; f = open('/proc/kallsyms'); print('here', flush=True); time.sleep(0.2)"


class Steps(unittest.TestCase):
    def test_a_process(self):
        argv = [sys.executable, "-c", PROGRAM]
        lines, pes, took = start_steps.watch(argv, os.path.realpath(sys.executable))
        text = "\n".join(text for _, text in lines)
        self.assertIn("log: here", text)
        (pe,) = pes
        self.assertRegex(text, "has open: .*/proc/kallsyms")
        self.assertGreater(pe.open["/proc/kallsyms"], 50)
        self.assertLess(pe.open["/proc/kallsyms"], took)
        self.assertGreater(pe.ran, 1)

    def test_a_job_that_fails(self):
        with self.assertRaisesRegex(SystemExit, "failed with 3\nlog: why"):
            start_steps.watch(["sh", "-c", "echo why; exit 3"], "/nowhere")

    def test_calls(self):
        self.assertEqual(start_steps.call_of("running\n"), "running")
        self.assertEqual(start_steps.call_of("99999 0x1 0x2\n"), "call 99999")


if __name__ == "__main__":
    unittest.main()

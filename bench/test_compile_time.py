"""Tests of bench/compile_time.py: the steps of nvcc, names, medians and ratios."""

import tempfile
import unittest

import compile_time
import output


class Figures(unittest.TestCase):
    def test_own_names(self):
        text = "#include <nvshmem.h>\n#include <nvshmemx.h>\nnvshmemx_int_put_warp(NVSHMEM_TEAM);\n"
        own = "#include <shmem/shmem.cuh>\nshmemx_int_put_warp(SHMEM_TEAM);\n"
        self.assertEqual(compile_time.own_names(text), own)

    def test_steps(self):
        env, commands = compile_time.steps(
            "#$ _SPACE_= \n#$ PATH=/a:/b\nanother line\n#$ gcc -DA=1 -E x.cu\n"
            '#$ "$CICC_PATH/cicc" -m64 a=b\n'
            "#$ ptxas -m64\n#$ cudafe++ --c++17\n#$ fatbinary --create=x\n#$ gcc -c -x c++ y\n"
        )
        self.assertEqual(env, {"_SPACE_": " ", "PATH": "/a:/b"})
        kinds = [compile_time.kind(c) for c in commands]
        self.assertEqual(kinds, ["front", "cicc", "ptxas", "front", "host", "host"])

    def test_a_command_that_fails(self):
        with self.assertRaisesRegex(SystemExit, "failed with 3\nwhy"):
            compile_time.seconds(["sh", "-c", "echo why >&2; exit 3"])

    def test_the_page_divides(self):
        rounds = [{"cicc": c, "host": 1.0, "bytes": 300} for c in (1.0, 9.0, 2.0)]
        one = compile_time.row("put", "nvshmem.h", rounds)
        self.assertEqual((one["seconds"], one["cicc"]), (3.0, 2.0))
        other = {**one, "headers": "NVIDIA", "seconds": 12.0, "bytes": 400}
        facts = {"rounds": 3, "cores": 16}
        with tempfile.TemporaryDirectory() as folder:
            output.rows(folder, compile_time.ROWS, facts, [one, other])
            lines = compile_time.draw(folder).splitlines()
            slower = [{**r, "seconds": 2 * r["seconds"]} for r in (one, {**other, "seconds": 10})]
            output.rows(folder, compile_time.BESIDE, {**facts, "cores": 2}, slower)
            beside = compile_time.draw(folder).splitlines()
        figures = "| put | nvshmem.h | 3.00 |  | 2.00 |  | 1.00 | 300 | 0.25 | 0.75 |"
        self.assertEqual(lines[-2], figures)
        self.assertTrue(lines[-1].endswith("| 400 |  |  |"))
        self.assertEqual(beside[-2], figures + " 6.00 | 0.30 |")
        self.assertTrue(beside[-1].endswith("| 400 |  |  | 20.00 |  |"))


if __name__ == "__main__":
    unittest.main()

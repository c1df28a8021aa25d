"""Tests of bench/compile_time.py: the steps of nvcc, names, medians and ratios."""

import unittest

import compile_time


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
        lines = compile_time.page([one, other], {}, 3).splitlines()
        self.assertEqual(
            lines[-2], "| put | nvshmem.h | 3.00 |  | 2.00 |  | 1.00 | 300 | 0.25 | 0.75 |"
        )
        self.assertTrue(lines[-1].endswith("| 400 |  |  |"))


if __name__ == "__main__":
    unittest.main()

"""Tests of bench/collectives_hosts.py: how the hosts are started, and what the page shows."""

import os
import tempfile
import unittest

import collectives_hosts
import output


class Hosts(unittest.TestCase):
    def test_libshmem(self):
        argv = collectives_hosts.Libshmem("w", "m", "tcp").command(8, 4, ["p"])
        self.assertEqual(
            argv, ["build/bin/shmemrun", "-n", "8", "--hosts", "4", "--host-netns", "p"]
        )

    def test_oshmem(self):
        with tempfile.TemporaryDirectory() as work:
            argv = collectives_hosts.OpenMPI(work, work, "").command(8, 4, ["p"])
            self.assertEqual(argv[:4], ["build/bin/shmemrun", "-n", "4", "--hosts"])
            self.assertIn("shmem-0:2,shmem-1:2,shmem-2:2,shmem-3:2", argv)
            (folder,) = os.listdir(work)
            for name in ("host", "as", "agent"):
                path = os.path.join(work, folder, name)
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                self.assertTrue(os.access(path, os.X_OK))
                self.assertIn(os.path.join(work, folder), text)

    def test_starts(self):
        barrier, same, gathering = collectives_hosts.starts(4, 30, 4096)
        self.assertEqual(barrier, ("tests=barrier:latency", "sizes=8", "budget=30"))
        self.assertEqual(same[:2], ("tests=broadcast:latency,sum:latency", "sizes=8,64,512,4096"))
        self.assertEqual(gathering[1], "sizes=8,64,512")

    def test_page(self):
        rows = [
            {"pes": 2, "hosts": 2, "system": s, "metric": "sum", "size": 8, "median": m}
            for s, m in (("libshmem", 5.0), ("oshmem", 10.0))
        ]
        rows.append({**rows[0], "pes": 4, "metric": "barrier_all", "size": 0})
        text = collectives_hosts.page(rows, {"cores": 8})
        self.assertIn("| sum | 8 | 5 | 10 | 0.50 |  |  |  |  |", text)
        self.assertIn("## 4 PEs on 2 hosts", text)
        self.assertIn("| barrier_all |  | 5 |  |  |  |  |  |  |", text)
        rows += [{**rows[0], "system": s, "median": m} for s, m in (("wire", 4), ("framed", 5.5))]
        text = collectives_hosts.page(rows, {})
        self.assertIn("| sum | 8 | 5 | 10 | 0.50 | 4 | 1.25 | 5.5 | 0.91 |", text)

    def test_write(self):
        values = {(2, 2, "libshmem", "sum", 8): [7.0, 5.0, 6.0]}
        with tempfile.TemporaryDirectory() as out:
            collectives_hosts.write(out, "c", {"cores": 8}, values, {("oshmem", 2, 2): 3})
            facts, rows = output.read(os.path.join(out, "c.jsonl"))
            with open(os.path.join(out, "c.md"), encoding="utf-8") as f:
                text = f.read()
        self.assertEqual((facts, rows[0]["median"], rows[0]["pes"]), ({"cores": 8}, 6.0, 2))
        self.assertIn("- oshmem, 2 PEs on 2 hosts: 3", text)

    def test_wire(self):
        def sent(metric):
            return collectives_hosts.on_the_wire(metric, 100, 8)

        self.assertEqual(sent("broadcast"), ("one_way", 100))
        self.assertEqual(sent("sum"), ("both_ways", 100))
        self.assertEqual(sent("fcollect"), ("both_ways", 400))
        self.assertEqual(sent("collect"), ("both_ways", 400))
        self.assertEqual(sent("alltoall"), ("both_ways", 1600))
        self.assertEqual(collectives_hosts.on_the_wire("barrier_all", 0, 8), ("both_ways", 8))


if __name__ == "__main__":
    unittest.main()

"""hcasim.py on runs and sweeps of the program, and the notebook of the docs.

python3 hcasim_test.py PROGRAM SOURCE_ROOT
"""
import contextlib
import io
import json
import os
import pathlib
import sqlite3
import sys
import tempfile
import unittest

import hcasim

STUDY = """
study: few
base: {testbench: ping}
axes:
  clock: {knob: 'node*.hca.clock', values: [300 MHz, 600 MHz], labels: [slow, fast]}
  lanes: {knob: 'node*.pcie.lanes', values: [8, 16]}
metrics:
  write: {figure: WRITE, unit: ns}
  hits: {statistic: node0.hca.mrc_cache.hits}
"""


class Runs(unittest.TestCase):
    def test_results_are_those_of_the_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            run = hcasim.run("ping", set={"node*.hca.clock": "500 MHz"}, seed=7, output=f"{folder}/out", options=["--no-trace"])
            result = json.loads(pathlib.Path(folder, "out", "result.json").read_text())
            self.assertTrue(run.passed)
            self.assertEqual(run.failures, [])
            self.assertEqual(result["seed"], run.result["seed"])
            self.assertEqual(run.figure("WRITE"), result["figures"]["WRITE"]["value"])
            self.assertEqual(run.unit("WRITE"), "ns")
            self.assertEqual(sum(p["time"] for p in run.table("WRITE")[:-1]), run.table("WRITE")[-1]["time"])
            self.assertEqual(hcasim.Run(f"{folder}/out").figures(), run.figures())

    def test_statistics_are_chosen_by_path(self):
        run = hcasim.run("ping", options=["--no-trace"])
        self.assertEqual(set(run.statistics("node0.hca.mrc_cache.hit*")),
                         {"node0.hca.mrc_cache.hits", "node0.hca.mrc_cache.hit_ratio"})
        self.assertIn("node0.host.mmio_read_time.p99", run.statistics())
        self.assertFalse(run.statistics("nothing"))

    def test_a_temporary_folder_goes_with_its_run(self):
        run = hcasim.run("ping", options=["--no-trace"])
        folder = run.folder
        self.assertTrue(folder.is_dir())
        del run
        self.assertFalse(folder.exists())

    def test_a_failed_check_is_told_and_raises_nothing(self):
        run = hcasim.run("ping", set={"link.loss": 1}, options=["--no-trace"])
        self.assertFalse(run.passed)
        self.assertTrue(run.failures)

    def test_bad_input_raises_the_programs_words(self):
        with self.assertRaisesRegex(hcasim.Error, "there is no testbench 'pong'; did you mean 'ping'"):
            hcasim.run("pong")
        with self.assertRaisesRegex(hcasim.Error, "result.json: No such file or directory; name a folder"):
            hcasim.Run("/nowhere")
        run = hcasim.run("ping", options=["--no-trace"])
        with self.assertRaisesRegex(KeyError, "no 'WRIT' among the figures; there are WRITE, READ, SEND"):
            run.figure("WRIT")
        with self.assertRaisesRegex(KeyError, "no table 'x'; there are WRITE"):
            run.table("x")

    def test_without_a_program(self):
        kept = {name: os.environ.pop(name) for name in ("HCASIM", "PATH")}
        try:
            with self.assertRaisesRegex(hcasim.Error, "set HCASIM to its path"):
                hcasim.run("ping")
        finally:
            os.environ.update(kept)


class Sweeps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        pathlib.Path(cls.folder.name, "few.yaml").write_text(STUDY)
        cls.study = hcasim.sweep(f"{cls.folder.name}/few.yaml", f"{cls.folder.name}/out", jobs=2)

    @classmethod
    def tearDownClass(cls):
        cls.study.close()
        cls.folder.cleanup()

    def test_axes_metrics_and_rows(self):
        s = self.study
        self.assertEqual(s.axes, {"clock": ["slow", "fast"], "lanes": [8, 16]})
        self.assertEqual(s.metrics["write"], "ns")
        self.assertEqual([r["status"] for r in s.rows()], 4 * ["passed"])
        self.assertEqual([(r["clock"], r["lanes"]) for r in s.rows(clock="fast")], [("fast", 8), ("fast", 16)])
        self.assertLess(s.column("write", clock="fast", lanes=16)[0], s.column("write", clock="slow", lanes=16)[0])
        with self.assertRaisesRegex(KeyError, "no column 'ways'; there are id, status, clock, lanes"):
            s.rows(ways=2)

    def test_rows_are_those_of_the_file(self):
        with contextlib.closing(sqlite3.connect(f"{self.folder.name}/out/results.sqlite")) as base:
            self.assertEqual([tuple(r.values()) for r in self.study.rows()],
                             base.execute("SELECT * FROM results ORDER BY id").fetchall())
        self.assertEqual(self.study.statistics(1, "node0.hca.mrc_cache.hits"),
                         {"node0.hca.mrc_cache.hits": self.study.rows()[0]["hits"]})
        with self.assertRaisesRegex(KeyError, "no point 9"):
            self.study.statistics(9)

    def test_csv(self):
        file = pathlib.Path(self.folder.name, "few.csv")
        self.study.to_csv(file)
        lines = file.read_text().splitlines()
        self.assertEqual(lines[0], "id,status,clock,lanes,write,hits")
        self.assertEqual(len(lines), 5)

    def test_a_folder_without_results(self):
        with self.assertRaisesRegex(hcasim.Error, "results.sqlite: no such file; name a folder"):
            hcasim.Study(self.folder.name)


class Notebook(unittest.TestCase):
    def test_every_cell_prints_what_the_page_shows(self):
        cells = json.loads(pathlib.Path(ROOT, "docs", "notebooks", "questions.ipynb").read_text())["cells"]
        space = {}
        for cell in cells:
            if cell["cell_type"] != "code":
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec("".join(cell["source"]), space)
            shown = "".join(line for o in cell["outputs"] for line in o["text"])
            self.assertEqual(printed.getvalue().rstrip("\n"), shown.rstrip("\n"), "".join(cell["source"]))


if __name__ == "__main__":
    os.environ["HCASIM"], ROOT = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])

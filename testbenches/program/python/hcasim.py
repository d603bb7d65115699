"""Runs hcasim and reads its results. Python 3.9 or newer; no other package is needed.

    import hcasim
    run = hcasim.run("ping", set={"node*.hca.clock": "500 MHz"})
    run.figure("WRITE")                       # 1210, in the unit that run.unit("WRITE") says
    study = hcasim.sweep("testbenches/studies/mrc_cache.yaml", "out")  # or hcasim.Study("out") of an earlier sweep
    for row in study.rows(sets=64):
        print(row["keys"], row["rate"])

The program is the one that HCASIM names, or the one beside an installed copy of this file, or `hcasim` in PATH.
"""
import csv
import fnmatch
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import weakref

PASSED, FAILED, BAD_INPUT = 0, 1, 2


class Error(Exception):
    """What the program refused, in its own words, or a folder without results."""


def program():
    """Returns the path of the program. Raises Error when there is none."""
    named = os.environ.get("HCASIM")
    if named:
        return named
    installed = pathlib.Path(__file__).resolve().parents[3] / "bin" / "hcasim"
    found = str(installed) if installed.is_file() else shutil.which("hcasim")
    if not found:
        raise Error("there is no program hcasim in PATH; set HCASIM to its path")
    return found


def run(testbench, *, set=None, param=None, seed=None, output=None, options=()):  # noqa: A002, the option's name
    """Runs a testbench or a description file, and returns its Run. A failed check raises nothing: see Run.passed.

    set:     knobs by path: {"node*.hca.clock": "500 MHz"}
    param:   parameters of the testbench
    output:  folder of the results, which must not be there; None = a temporary one, removed with the Run
    options: further options of `hcasim run`, as ["--spans"]
    """
    words = [str(testbench)]
    for path, value in (set or {}).items():
        words += ["--set", f"{path}={_text(value)}"]
    for name, value in (param or {}).items():
        words += ["--param", f"{name}={_text(value)}"]
    if seed is not None:
        words += ["--seed", str(seed)]
    kept = tempfile.mkdtemp(prefix="hcasim.") if output is None else None
    folder = pathlib.Path(kept, "run") if kept else pathlib.Path(output)
    try:
        _call(["run", *words, "-o", str(folder), *map(str, options)])
        made = Run(folder)
    except BaseException:
        if kept:
            shutil.rmtree(kept, ignore_errors=True)
        raise
    if kept:
        weakref.finalize(made, shutil.rmtree, kept, ignore_errors=True)
    return made


def sweep(study, output, *, jobs=None, options=()):
    """Runs every point of a study, and returns its Study. Points that do not pass raise nothing: see the column `status`."""
    words = ["sweep", str(study), "-o", str(output)]
    if jobs is not None:
        words += ["-j", str(jobs)]
    _call([*words, *map(str, options)])
    return Study(output)


class Run:
    """The results of one run, from the folder that `hcasim run -o` wrote."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        file = self.folder / "result.json"
        try:
            self.result = json.loads(file.read_text())
        except OSError as e:
            raise Error(f"{file}: {e.strerror}; name a folder that 'hcasim run -o' wrote") from None

    @property
    def passed(self):
        return self.result["passed"]

    @property
    def failures(self):
        """What failed, in words."""
        return self.result["failures"]

    def figure(self, name):
        return self._of("figures", name)["value"]

    def unit(self, name):
        """The unit of a figure."""
        return self._of("figures", name)["unit"]

    def figures(self):
        return {name: f["value"] for name, f in self.result["figures"].items()}

    def table(self, title):
        """The rows of a table, as dictionaries by column."""
        for t in self.result["tables"]:
            if t["title"] == title:
                names = [c["name"] for c in t["columns"]]
                return [dict(zip(names, row)) for row in t["rows"]]
        raise KeyError(f"no table '{title}'; there are {', '.join(t['title'] for t in self.result['tables']) or 'none'}")

    def statistics(self, pattern="*"):
        """Values by path, 'node0.hca.mrc_cache.hits'; a histogram gives one for each measure: '....mean', '....p99'."""
        return _chosen(((unit.removeprefix("system."), {name: _measures(s) for name, s in of_unit.items()})
                        for unit, of_unit in self.result["statistics"].items()), pattern)

    def _of(self, what, name):
        if name not in self.result[what]:
            raise KeyError(f"no '{name}' among the {what}; there are {', '.join(self.result[what]) or 'none'}")
        return self.result[what][name]


class Study:
    """The results of a sweep, from the folder that `hcasim sweep -o` wrote, also while the sweep goes on."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        file = self.folder / "results.sqlite"
        if not file.is_file():
            raise Error(f"{file}: no such file; name a folder that 'hcasim sweep -o' wrote")
        self._base = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
        self._base.row_factory = sqlite3.Row

    def close(self):
        self._base.close()

    def sql(self, query, *values):
        """The rows of a query over the tables of results.sqlite (docs/studies.md), as dictionaries."""
        return [dict(r) for r in self._base.execute(query, values)]

    @property
    def axes(self):
        """The values of each axis, in their order."""
        out = {}
        for r in self.sql("SELECT name, label, number FROM axes ORDER BY position, value_index"):
            out.setdefault(r["name"], []).append(r["label"] if r["number"] is None else _whole(r["number"]))
        return out

    @property
    def metrics(self):
        """The unit of each metric."""
        return {r["name"]: r["unit"] for r in self.sql("SELECT name, unit FROM metrics ORDER BY position")}

    def rows(self, **where):
        """A dictionary for each point: id, status, axes and metrics. rows(sets=64): only points with these values."""
        all_rows = self.sql("SELECT * FROM results ORDER BY id")
        for name in where:
            if all_rows and name not in all_rows[0]:
                raise KeyError(f"no column '{name}'; there are {', '.join(all_rows[0])}")
        return [r for r in all_rows if all(str(r[n]) == str(v) for n, v in where.items())]

    def column(self, name, **where):
        """The values of one axis or metric."""
        return [r[name] for r in self.rows(**where)]

    def statistics(self, point, pattern="*"):
        """The statistics of a point by its id, as Run.statistics."""
        found = self.sql("SELECT statistics FROM points WHERE id = ?", point)
        if not found:
            raise KeyError(f"no point {point}")
        return _chosen(json.loads(found[0]["statistics"] or "{}").items(), pattern)

    def to_csv(self, file):
        """Writes rows() with a line of names."""
        rows = self.rows()
        with open(file, "w", newline="") as out:
            writer = csv.DictWriter(out, rows[0].keys() if rows else ["id", "status"])
            writer.writeheader()
            writer.writerows(rows)

    def dataframe(self):
        """rows() as a DataFrame; needs pandas."""
        import pandas

        return pandas.DataFrame(self.rows())


def _measures(statistic):
    return statistic.get("value", {k: v for k, v in statistic.items() if k not in ("unit", "help", "signal")})


def _chosen(units, pattern):
    out = {}
    for unit, of_unit in units:
        for name, value in of_unit.items():
            path = f"{unit}.{name}"
            parts = {f"{path}.{k}": v for k, v in value.items()} if isinstance(value, dict) else {path: value}
            out.update((p, v) for p, v in parts.items() if fnmatch.fnmatchcase(p, pattern))
    return out


def _text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def _whole(number):
    return int(number) if float(number).is_integer() else number


def _call(words):
    done = subprocess.run([program(), *words], capture_output=True, text=True, check=False)
    if done.returncode not in (PASSED, FAILED):
        raise Error(done.stderr.strip().removeprefix("hcasim: ") or f"hcasim ended with status {done.returncode}")

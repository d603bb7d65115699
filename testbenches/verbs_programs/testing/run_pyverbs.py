"""One module of rdma-core's own tests on the simulated adapter: run_pyverbs.py FOLDER MODULE [TEST_THAT_IS_LEFT_OUT...]

FOLDER is the package `tests` as Debian ships it (/usr/share/doc/rdma-core/tests), some files packed. Prints a line a test. What
is drawn at random is the same in every run.
"""
import gzip
import importlib
import pathlib
import random
import shutil
import sys
import tempfile
import unittest

ADDRESS = "127.0.0.1"  # node0


class Result(unittest.TestResult):
    def say(self, test, what, why=""):
        name = test.id() if hasattr(test, "id") else str(test)
        print(f"{name} ... {what}{': ' + why if why else ''}", flush=True)

    def startTest(self, test):
        super().startTest(test)
        random.seed(test.id())

    def addSuccess(self, test):
        super().addSuccess(test)
        self.say(test, "ok")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say(test, "skipped", " ".join(str(reason).split()))

    def addError(self, test, err):
        super().addError(test, err)
        self.say(test, "ERROR", " ".join(str(err[1]).split()))
        print(self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say(test, "FAIL", " ".join(str(err[1]).split()))


def unpack(source, to):
    to.mkdir()
    for file in sorted(pathlib.Path(source).iterdir()):
        if file.suffix == ".gz":
            (to / file.stem).write_bytes(gzip.decompress(file.read_bytes()))
        elif file.suffix == ".py":
            shutil.copy(file, to)


def main():
    source, name, *out = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        unpack(source, pathlib.Path(folder) / "tests")
        return run(folder, name, out)


def tests_of(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from tests_of(part)
        else:
            yield part


def run(folder, name, out):
    sys.path[:0] = [folder, folder + "/tests"]
    sys.dont_write_bytecode = True
    random.seed(1)
    del sys.argv[1:]
    importlib.import_module("args_parser").parser.parse_args()
    # The device has no network interface; its node has an address all the same.
    case = importlib.import_module("tests.base").RDMATestCase
    case._get_ip_mac = lambda self, device, port, gid: self.args.append([device, port, gid, ADDRESS, None])
    module = importlib.import_module("tests." + name)
    result = Result()
    tests = tests_of(unittest.defaultTestLoader.loadTestsFromModule(module))
    unittest.TestSuite(t for t in tests if t.id().split(".")[-1] not in out).run(result)
    print(f"{result.testsRun} run, {len(result.skipped)} skipped, {len(result.errors) + len(result.failures)} failed")
    return 0 if result.wasSuccessful() else 1


sys.exit(main())

"""stream.py on the streams of system runs: what it reads, it writes again to the byte. Argument: the source tree."""

import os
import sys
import tempfile
import unittest

import stream

SOURCE = sys.argv.pop(1)
RECORDED = os.path.join(SOURCE, "traces", "streams")


class StreamTest(unittest.TestCase):
    def written(self, s):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "again.stream")
            stream.write(path, s)
            with open(path, encoding="ascii") as file:
                return file.read()

    def error_of(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "bad.stream")
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            with self.assertRaises(ValueError) as raised:
                stream.read(path)
            return str(raised.exception)[len(path):]

    def test_recorded_streams_come_back_to_the_byte(self):
        for unit in stream.KINDS:
            path = os.path.join(RECORDED, unit + ".stream")
            s = stream.read(path)
            self.assertEqual(s.unit, unit)
            with open(path, encoding="ascii") as file:
                self.assertEqual(self.written(s), file.read(), unit)

    def test_fields_are_those_of_the_run(self):
        keys = stream.read(os.path.join(RECORDED, "key_check.stream")).items
        checked = {i["key"] >> 8 for i in keys if i["kind"] == "check"}
        self.assertTrue(checked and checked <= {i["index"] for i in keys if i["kind"] == "set_mrc"})
        writes = stream.read(os.path.join(RECORDED, "doorbell.stream")).items
        qps = {i["number"] for i in writes if i["kind"] == "qp"}
        rung = {i["number"] for i in writes if i["kind"] in ("sq", "rq", "blueflame")}
        self.assertTrue(rung and rung <= qps)

    def test_every_field_of_every_kind_has_a_place_of_its_own(self):
        for unit, kinds in stream.KINDS.items():
            for kind in kinds:
                taken = [0xFF] + [0] * (stream.WORDS - 1)
                for name, (word, low, bits) in stream.fields_of(unit, kind).items():
                    mask = ((1 << bits) - 1) << low
                    self.assertLess(mask, 1 << 64, name)
                    self.assertFalse(taken[word] & mask, f"{unit} {kind} {name}")
                    taken[word] |= mask

    def test_bad_files_are_refused_with_their_place(self):
        head = "lockstep key_check mode full seed 1 stall 0 fault 0\n"
        self.assertTrue(self.error_of("hello\n").startswith(":1: not a stream"))
        self.assertTrue(self.error_of("lockstep port mode full seed 1 stall 0 fault 0\n").startswith(":1: there is no unit 'port'"))
        self.assertTrue(self.error_of(head + "1 2 3\n").startswith(":2: 10 words"))
        self.assertTrue(self.error_of(head + "0 0 0 0 0 0 0 0 0 x\n").startswith(":2: 10 words"))
        self.assertEqual(self.error_of(head + "9 0 0 0 0 0 0 0 0 0\n"), ":2: key_check has no items of kind 9")
        with self.assertRaises(ValueError):
            stream.encode("key_check", {"kind": "check", "key": 1 << 32})


if __name__ == "__main__":
    unittest.main()

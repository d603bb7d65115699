"""What is not equivalent is not proven.   python3 prove_equivalents_test.py SOURCE_ROOT"""

import pathlib
import shutil
import sys
import unittest

import prove_equivalents as prove

ROOT = pathlib.Path(sys.argv.pop()).resolve()


@unittest.skipUnless(shutil.which("yosys"), "there is no Yosys")
class Proofs(unittest.TestCase):
    def setUp(self):
        self.prover = prove.Prover(ROOT, "doorbell")
        self.addCleanup(self.prover.close)

    def proven(self, file, right, wrong, line=None):
        claim = prove.Claim(file, line, right, wrong, "combinational", 1)
        return self.prover.same_for_every_state(claim, file.removesuffix(".sv"), wrong)

    def test_a_fault_that_shows_is_not_proven(self):
        self.assertFalse(self.proven("uar_decode.sv", "bytes == 13'd8", "bytes == 13'd9"))
        self.assertFalse(self.proven("fall_through.sv", "head + 1'b1", "head"))

    def test_a_fault_that_does_not_is_proven(self):
        self.assertTrue(self.proven("uar_decode.sv", "number != '0 && number[31:24] == '0", "number[31:24] == '0 && number != '0"))

    def test_a_register_that_counts_is_not_unseen(self):
        self.assertFalse(self.prover.unseen_while("fall_through", "tail", "count"))

    def test_places_and_registers_that_are_not_there(self):
        with self.assertRaises(ValueError):
            self.proven("uar_decode.sv", "bytes == 13'd8", "1'b0", "assign nowhere = bytes == 13'd8;")
        with self.assertRaises(ValueError):
            self.prover.unseen_while("fall_through", "nothing", "count")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)

"""Faults of which nothing can be seen, proven with Yosys: those entries of models/adapter/UNIT/rtl/equivalents.txt that say how (a line `! ...`).

    python3 prove_equivalents.py SOURCE_ROOT [UNIT...]

  ! combinational       the module with the fault has the same outputs and the same next state for every input and every state
  ! REGISTER while V    whatever REGISTER holds while V is 0, the module does the same: two copies of it, in which REGISTER may
                        differ while V is 0, have the same outputs and next states, REGISTER again but while V is 0, and reset
                        clears V. So a fault that only changes what reset leaves in REGISTER cannot be seen.

Memories become registers, so modules that have large ones are made smaller by their parameters (SMALLER). Status: 0 all are proven,
1 one is not, 2 bad input, 77 there is no Yosys.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SMALLER = {"key_check": {"SLOTS": 4, "KEYS": 4, "DRAINS": 2}, "key_epochs": {"ENTRIES": 4}, "page_walker": {"TAG_BITS": 2, "LEAF_SETS": 2, "UPPER_SETS": 2},
           "translation_lookup": {"SETS": 2, "BITS": 8}, "fall_through": {"DEPTH": 8}}


class Claim:
    def __init__(self, file, line, right, wrong, how, number):
        self.file, self.line, self.right, self.wrong, self.how, self.number = file, line, right, wrong, how, number


def claims_of(path):
    file, entry, found = None, {}, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        kind, text = line[:1], line[2:]
        if kind == "@":
            file = text
        elif kind in (":", "-", "+", "!"):
            entry[kind] = text
        elif kind == "=":
            if "!" in entry:
                found.append(Claim(file, entry.get(":"), entry["-"], entry["+"], entry["!"], number))
            entry = {}
    return found


def sources_of(root, unit):
    folder = root / "models" / "adapter" / unit / "rtl"
    listed = re.search(r"set\(sources ([^)]*)\)", (folder / "CMakeLists.txt").read_text()).group(1).split()
    paths = [pathlib.Path(s.replace("${PROJECT_SOURCE_DIR}", str(root))) for s in listed]
    return [p if p.is_absolute() else folder / p for p in paths]


def pattern_of(text):
    """Spaces aside."""
    return r"\s*".join(re.escape(c) for c in text if not c.isspace())


def faulty(text, claim, wrong):
    """The source with the fault; it may be said in which line."""
    if claim.line is None:
        spot = re.search(pattern_of(claim.right), text)
        return text[:spot.start()] + wrong + text[spot.end():] if spot else None
    for line in re.finditer(pattern_of(claim.line), text):
        spot = re.search(pattern_of(claim.right), line.group(0))
        if spot:
            at = line.start()
            return text[:at + spot.start()] + wrong + text[at + spot.end():]
    return None


def wrongs_of(claim):
    if claim.wrong != "*":
        return [claim.wrong]
    if claim.right == "'0":
        return ["'1"]
    bits = re.fullmatch(r"(\d+)'d0", claim.right)
    return [f"{bits.group(1)}'d1", f"~{bits.group(1)}'d0"] if bits else []


class Prover:
    def __init__(self, root, unit):
        self.sources = sources_of(root, unit)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="prove_"))
        self.names = {p.name: p for p in self.sources}

    def close(self):
        shutil.rmtree(self.folder)

    def yosys(self, script):
        ran = subprocess.run(["yosys", "-q", "-p", script], cwd=self.folder, capture_output=True, text=True)
        if ran.returncode != 0 and "ERROR" in ran.stderr + ran.stdout and "proof did fail" not in ran.stderr + ran.stdout:
            raise ValueError("yosys: " + (ran.stderr + ran.stdout)[-400:])
        return ran.returncode == 0

    def combinational(self, name, module, replaced=None):
        """Writes NAME.il: a module without registers, whose state are ports."""
        files = []
        for p in self.sources:
            files.append(str(p))
            if replaced and p.name == replaced[0]:
                changed = self.folder / f"{name}_{p.name}"
                changed.write_text(replaced[1])
                files[-1] = str(changed)
        smaller = "".join(f"chparam -set {k} {v} {module}; " for k, v in SMALLER.get(module, {}).items())
        # The parameters may give it another name.
        self.yosys(f"read_verilog -sv {' '.join(files)}; {smaller}hierarchy -check -top {module}; proc; flatten; "
                   f"memory_collect; memory_map; opt_clean; expose -dff -evert-dff; opt_clean; rename -top {name}; "
                   f"write_rtlil {name}.il; write_json {name}.json")

    def same_for_every_state(self, claim, module, wrong):
        text = faulty(self.names[claim.file].read_text(), claim, wrong)
        if text is None:
            raise ValueError(f"{claim.file} has no '{claim.right}' in '{claim.line}'")
        self.combinational("right", module)
        self.combinational("wrong", module, (claim.file, text))
        return self.yosys("read_rtlil right.il; read_rtlil wrong.il; miter -equiv -make_assert -flatten right wrong both; "
                          "hierarchy -top both; opt -full; sat -verify -prove-asserts -show-inputs both")

    def unseen_while(self, module, register, valid):
        self.combinational("right", module)
        described = json.loads((self.folder / "right.json").read_text())["modules"]["right"]["ports"]
        ports = {n: (p["direction"] == "input", len(p["bits"])) for n, p in described.items()}
        for n in (register, valid):
            if n + ".q" not in ports:
                raise ValueError(f"{module} has no register {n}")
        shared = [n for n, (into, _) in ports.items() if into and n != register + ".q"]
        width = ports[register + ".q"][1]

        def declared(n, suffix=""):
            return f"[{ports[n][1] - 1}:0] \\{n}{suffix} "

        text = ["module both(" + ", ".join([f"input {declared(n)}" for n in shared] +
                                           [f"input {declared(register + '.q', s)}" for s in "ab"] + ["output ok, output clears"]) + ");"]
        equal = []
        for s in "ab":
            pins = []
            for n, (into, _) in ports.items():
                own = s if n == register + ".q" or not into else ""
                pins.append(f".\\{n} (\\{n}{own} )")
                if not into:
                    text.append(f"wire {declared(n, s)};")
            text.append(f"right {s} ({', '.join(pins)});")
        for n, (into, _) in ports.items():
            if not into and n != register + ".d":
                equal.append(f"\\{n}a == \\{n}b ")
        # Of as many bits as V, each while its own.
        each = "{%d{%s}}" if ports[valid + ".q"][1] == 1 else "%.0s(%s)"
        text.append(f"wire may = |((\\{register}.qa ^ \\{register}.qb ) & {each % (width, f'{chr(92)}{valid}.q ')});")
        text.append(f"wire must = |((\\{register}.da ^ \\{register}.db ) & {each % (width, f'{chr(92)}{valid}.da ')});")
        text.append(f"assign ok = may || (!must && {' && '.join(equal)});")
        text.append(f"assign clears = rst_n || \\{valid}.da == 0;")
        text.append("endmodule")
        (self.folder / "both.v").write_text("\n".join(text))
        return self.yosys("read_rtlil right.il; read_verilog both.v; hierarchy -top both; flatten; opt -full; "
                          "sat -verify -prove ok 1 -prove clears 1 both")


def prove(root, unit):
    prover = Prover(root, unit)
    proven, failed, done = 0, [], {}
    try:
        for claim in claims_of(root / "models" / "adapter" / unit / "rtl" / "equivalents.txt"):
            module = claim.file.removesuffix(".sv")
            while_ = re.fullmatch(r"(\w+) while (\w+)", claim.how)
            if while_:
                key = (module, *while_.groups())
                ok = done[key] if key in done else prover.unseen_while(*key)
                done[key] = ok
            elif claim.how == "combinational" and wrongs_of(claim):
                ok = all(prover.same_for_every_state(claim, module, w) for w in wrongs_of(claim))
            else:
                raise ValueError(f"{unit}: equivalents.txt:{claim.number}: cannot be proven so: {claim.how}")
            proven += ok
            if not ok:
                failed.append(f"{unit}: equivalents.txt:{claim.number}: not proven: {claim.file}: {claim.right} -> {claim.wrong}")
    finally:
        prover.close()
    return proven, failed


def main():
    if not shutil.which("yosys"):
        print("there is no Yosys")
        return 77
    root = pathlib.Path(sys.argv[1]).resolve()
    status = 0
    for unit in sys.argv[2:] or ["doorbell", "key_check", "context_cache", "page_walker"]:
        try:
            proven, failed = prove(root, unit)
        except (OSError, ValueError) as e:
            print(e)
            return 2
        print(f"{unit}: {proven} equivalents are proven")
        for f in failed:
            print(f)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())

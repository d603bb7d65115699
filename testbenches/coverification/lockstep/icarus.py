"""A stream once more, in a simulator that knows X: the pins that Verilator saw, cycle by cycle, drive the same RTL in Icarus Verilog.

    python3 icarus.py SOURCE_ROOT UNIT WAVEFORM [--without FILE TEXT] [--work FOLDER]

UNIT is a folder of models/adapter/; its CMakeLists.txt says which sources and pins it has. WAVEFORM is the VCD of the Verilated design
from reset on. Registers are X until they are written, and the payload of a stream that is not valid is X. Then

  - `valid` of a stream out of the RTL and `idle` must never be X after reset, nor `ready` of a stream that is offered something;
  - what is not X must be as in Verilator: these pins, and the payload of what is valid. Bits of a payload may be X: they are counted.

--without leaves a line out of a source, as a seeded fault. Status: 0 nothing found, 1 something, 2 bad input, 77 there is no Icarus.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# With the sources of these, vvp 11 does not come to rest at time 0: their processes wake each other for ever. Yosys makes
# processes of multiplexers of them first.
ELABORATED = {"key_check", "context_cache", "page_walker"}
SECONDS = 300  # of each program
RESET_CYCLES = 3  # tlm/rtl/shell.cpp; then one without reset


class Bundle:
    def __init__(self, text):
        words = text.split()
        self.into = words[0] == "in"
        self.name = words[1]
        pins = dict(w.split("=", 1) for w in words[2:])
        self.valid, self.ready, self.data = pins["valid"], pins.get("ready"), pins["data"]


class Unit:
    """What CMakeLists.txt says."""

    def __init__(self, root, name):
        self.top = name
        self.folder = root / "models" / "adapter" / name / "rtl"
        text = (self.folder / "CMakeLists.txt").read_text()
        listed = re.search(r"set\(sources ([^)]*)\)", text).group(1).split()
        self.sources = [pathlib.Path(s.replace("${PROJECT_SOURCE_DIR}", str(root))) for s in listed]
        self.sources = [s if s.is_absolute() else self.folder / s for s in self.sources]
        pins = re.findall(r'"([^"]*)"', re.search(r"set\(pins([^)]*)\)", text).group(1))
        self.bundles = [Bundle(p) for p in pins if p.startswith(("in ", "out "))]
        self.straps = [p.split()[2] for p in pins if p.startswith("strap ")]
        self.idle = next(p.split()[1] for p in pins if p.startswith("idle "))


def one_source(unit, without, folder, elaborate):
    """Icarus 11 knows the types of a package by import alone."""
    packages, modules = [], []
    for source in unit.sources:
        text = source.read_text()
        if without and source.name == without[0]:
            if text.count(without[1]) != 1:
                raise ValueError(f"{source}: has '{without[1]}' {text.count(without[1])} times, not once")
            text = text.replace(without[1], "")
        (packages if re.search(r"^package ", text, re.M) else modules).append(text)
    if elaborate:
        (folder / "whole.sv").write_text("\n".join(packages + modules))
        run(["yosys", "-q", "-p", f"read_verilog -sv whole.sv; hierarchy -check -top {unit.top}; proc; opt_clean; "
             "write_verilog -noattr elaborated.v"], folder)
        return (folder / "elaborated.v").read_text()
    names = re.findall(r"^package (\w+);", "\n".join(packages), re.M)
    body = "\n".join(modules)
    for name in names:
        body = body.replace(name + "::", "")
    return "\n".join(packages) + "".join(f"\nimport {n}::*;" for n in names) + "\n" + body


def run(command, folder):
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise ValueError(f"{command[0]} has not ended after {SECONDS} s") from None
    if done.returncode != 0:
        said = [l for l in (done.stdout + done.stderr).splitlines() if "sorry: constant selects" not in l]
        raise ValueError(f"{command[0]}: " + "\n".join(said[-10:]))
    return done.stdout


class Waveform:
    """The ports of the design, once a cycle, before its clock rises."""

    def __init__(self, file):
        self.file = file
        self.width = {}
        self.code = {}
        depth = 0
        with open(file) as f:
            for line in f:
                words = line.split()
                if not words:
                    continue
                if words[0] == "$scope":
                    depth += 1
                elif words[0] == "$upscope":
                    depth -= 1
                elif words[0] == "$var" and depth == 1:
                    self.width[words[4]] = int(words[2])
                    self.code[words[4]] = words[3]
                elif words[0] == "$enddefinitions":
                    break
        if not self.width:
            raise ValueError(f"{file}: no ports in it")

    def cycles(self, ports):
        """Yields the values of `ports`, as integers."""
        names = {}
        for p in ports + ["clk"]:
            names.setdefault(self.code[p], []).append(p)
        now = dict.fromkeys(ports + ["clk"], 0)
        begun = False
        with open(self.file) as f:
            for line in f:
                if line[0] == "#":
                    if begun and now["clk"] == 0:
                        yield [now[p] for p in ports]
                    begun = True
                elif line[0] == "b":
                    value, code = line[1:].split()
                    for p in names.get(code, ()):
                        now[p] = int(value, 2)
                elif line[0] in "01":
                    for p in names.get(line[1:].rstrip(), ()):
                        now[p] = int(line[0])


def digits(bits):
    return (bits + 3) // 4


def write_vectors(unit, waves, folder):
    """A line of hexadecimal digits a cycle: inputs, and what the outputs were. Returns the places of every pin, and the cycles."""
    inputs, outputs = list(unit.straps), [unit.idle]
    for b in unit.bundles:
        inputs += [b.valid, b.data] if b.into else [b.ready] if b.ready else []
        outputs += [b.ready] if b.into and b.ready else [] if b.into else [b.valid, b.data]
    valid_of = {b.data: b.valid for b in unit.bundles if b.into}
    ports = inputs + outputs
    number = {p: i for i, p in enumerate(ports)}
    cycles = 0
    with open(folder / "inputs.hex", "w") as to_rtl, open(folder / "outputs.hex", "w") as of_rtl:
        for values in waves.cycles(ports):
            cycles += 1
            # The first port lies lowest.
            line = ""
            for p in reversed(inputs):
                n = digits(waves.width[p])
                there = p not in valid_of or values[number[valid_of[p]]]
                line += f"{values[number[p]]:0{n}x}" if there else "x" * n
            to_rtl.write(line + "\n")
            of_rtl.write("".join(f"{values[number[p]]:0{digits(waves.width[p])}x}" for p in reversed(outputs)) + "\n")
    places = {}
    for group in (inputs, outputs):
        at = 0
        for p in group:
            places[p] = (at, waves.width[p])
            at += 4 * digits(waves.width[p])
        places[None if group is outputs else ""] = (at, 0)
    return places, cycles


def testbench(unit, places, cycles):
    def of(vector, pin):
        at, width = places[pin]
        return f"{vector}[{at}]" if width == 1 else f"{vector}[{at + width - 1}:{at}]"

    wires, ports, checks = [], [], []

    def output(pin):
        width = places[pin][1]
        wires.append(f"  wire {f'[{width - 1}:0] ' if width > 1 else ''}{pin};")
        ports.append(f".{pin}({pin})")

    def known(pin, when="1'b1"):
        was = of("was", pin)
        checks.append(f"    if ({when} && {pin} === 1'bx) found(\"{pin} is X\");")
        checks.append(f"    if ({when} && ({pin} ^ {was}) === 1'b1) found(\"{pin} is not as in Verilator\");")

    for strap in unit.straps:
        ports.append(f".{strap}({of('in', strap)})")
    output(unit.idle)
    known(unit.idle)
    for b in unit.bundles:
        if b.into:
            ports += [f".{b.valid}({of('in', b.valid)} && driven)", f".{b.data}({of('in', b.data)})"]
            if b.ready:
                output(b.ready)
                known(b.ready, of("in", b.valid))
            continue
        if b.ready:
            ports.append(f".{b.ready}({of('in', b.ready)} && driven)")
        output(b.valid)
        output(b.data)
        known(b.valid)
        was = of("was", b.data)
        checks += [
            f"    if ({b.valid} === 1'b1) begin",
            "      offered = offered + 1;",
            f"      if ((^{b.data}) === 1'bx) unknown = unknown + 1;",
            f"      if ((|({b.data} ^ {was})) === 1'b1) found(\"{b.data} is not as in Verilator\");",
            "    end",
        ]
    newline = "\n"
    return f"""module testbench;
  reg clk = 0, rst_n = 0, driven = 0;
  reg [{places[''][0] - 1}:0] inputs[0:{cycles - 1}];
  reg [{places[None][0] - 1}:0] outputs[0:{cycles - 1}];
  reg [{places[''][0] - 1}:0] in;
  reg [{places[None][0] - 1}:0] was;
  integer cycle, offered = 0, unknown = 0, wrong = 0;
{newline.join(wires)}
  {unit.top} dut (.clk(clk), .rst_n(rst_n), {', '.join(ports)});
  task found(input [8 * 80 - 1:0] what);
    begin
      wrong = wrong + 1;
      if (wrong <= 5) $display("cycle %0d: %0s", cycle, what);
    end
  endtask
  initial begin
    $readmemh("inputs.hex", inputs);
    $readmemh("outputs.hex", outputs);
    in = inputs[0];
    for (cycle = 0; cycle < {RESET_CYCLES + 1}; cycle = cycle + 1) begin
      rst_n = cycle >= {RESET_CYCLES};
      #1 clk = 1;
      #1 clk = 0;
    end
    driven = 1;
    for (cycle = 0; cycle < {cycles} && wrong < 100; cycle = cycle + 1) begin
      in = inputs[cycle];
      was = outputs[cycle];
      #1;
{newline.join(checks)}
      clk = 1;
      #1 clk = 0;
    end
    $display("%0d cycles, %0d payloads offered, %0d of them with an X in it, %0d findings", cycle, offered, unknown, wrong);
    $finish(0);
  end
endmodule
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("unit")
    parser.add_argument("waveform")
    parser.add_argument("--without", nargs=2, metavar=("FILE", "TEXT"))
    parser.add_argument("--work", type=pathlib.Path)
    a = parser.parse_args()
    if not shutil.which("iverilog"):
        print("there is no Icarus Verilog (iverilog)")
        return 77
    folder = a.work or pathlib.Path(tempfile.mkdtemp(prefix="icarus_"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        unit = Unit(a.root.resolve(), a.unit)
        elaborate = unit.top in ELABORATED
        if elaborate and not shutil.which("yosys"):
            print("there is no Yosys (yosys)")
            return 77
        (folder / "rtl.sv").write_text(one_source(unit, a.without, folder, elaborate))
        places, cycles = write_vectors(unit, Waveform(a.waveform), folder)
        if cycles == 0:
            raise ValueError(f"{a.waveform}: no cycle in it")
        (folder / "testbench.v").write_text(testbench(unit, places, cycles))
        run(["iverilog", "-g2012", "-s", "testbench", "-o", "testbench.vvp", "rtl.sv", "testbench.v"], folder)
        said = run(["vvp", "-n", "testbench.vvp"], folder)
        print(said, end="")
        last = said.splitlines()[-1:] or [""]
        if " findings" not in last[0]:
            raise ValueError("vvp: no word at its end")
        return 0 if last[0].endswith(" 0 findings") else 1
    except (OSError, ValueError, KeyError) as e:
        print(e)
        return 2
    finally:
        if not a.work:
            shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())

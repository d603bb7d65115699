"""Recorded streams of the units (docs/coverification.md, "The file of a stream") in Python 3 alone, for testbenches in Python.

    import stream
    s = stream.read("traces/streams/key_check.stream")
    for item in s.items:
        if item["kind"] == "check":
            drive(item["key"], item["va"], item["length"])
"""

from dataclasses import dataclass, field

WORDS = 10
_CONTEXTS = ["fetch", "write", "drop", "replace", "set_area", "put", "set_read", "update", "more", "renew"]
KINDS = {
    "key_check": ["check", "element", "drain", "change", "set_mrc", "set_line"],
    "context_cache": _CONTEXTS,
    "qpc_cache": _CONTEXTS,  # entries of 256 bytes: those behind the first 64 are `more` before their item
    "page_walker": ["walk", "drop", "remap", "set_read"],
    "doorbell": ["sq", "rq", "cq", "eq", "blueflame", "broken_blueflame", "bad", "qp"],
}

# name: (word, lowest bit, bits)
_CHECK = {"gap": (0, 8, 16), "hold": (0, 24, 16), "remote": (0, 48, 1), "privileged": (0, 49, 1), "aimed": (0, 50, 1),
          "key": (1, 0, 32), "rights": (1, 32, 32), "pd": (2, 0, 32), "qpn": (2, 32, 32),
          "generation": (3, 0, 32), "function": (3, 32, 16), "va": (4, 0, 64), "length": (5, 0, 64)}
_FETCH = {"gap": (0, 8, 16), "hold": (0, 24, 16), "tries_again": (0, 40, 1), "index": (1, 0, 32), "value": (2, 0, 64)}
_WALK = {"gap": (0, 8, 16), "write": (0, 24, 1), "races": (0, 25, 1), "map": (0, 32, 32), "va": (1, 0, 64), "last": (2, 0, 64),
         "length": (3, 0, 64), "index": (4, 0, 32), "levels": (4, 32, 8), "page_shift": (4, 40, 8), "null": (4, 48, 1),
         "indirect": (4, 49, 1), "on_demand": (4, 50, 1), "table": (5, 0, 64), "table_va": (6, 0, 64), "version": (7, 0, 32),
         "changed_level": (7, 32, 8)}
_WRITE = {"gap": (0, 8, 16), "page": (0, 24, 16), "offset": (1, 0, 16), "blocks": (1, 16, 8), "bytes": (1, 32, 32),
          "number": (2, 0, 32), "value": (2, 32, 32)}
_BYTES = {f"bytes_{i}": (2 + i, 0, 64) for i in range(8)}
_TABLE = {"failed": (0, 48, 1), "index": (1, 0, 32), "entries": (1, 32, 32), **_BYTES}
_MEMORY = {"failed": (0, 48, 1), "address": (1, 0, 64), **_BYTES}

_OTHERWISE = {"key_check": _CHECK, "context_cache": _FETCH, "qpc_cache": _FETCH, "page_walker": _WALK, "doorbell": _WRITE}
_CONTEXT = {
    "set_area": {**_FETCH, "index": None, "entries": (1, 0, 64), "base": (3, 0, 64)},
    "put": {"gap": (0, 8, 16), "hold": (0, 24, 16), "index": (1, 0, 32), **_BYTES},
    "set_read": _MEMORY,
    "more": {"line": (0, 48, 8), **_BYTES},
}
_FIELDS = {
    ("key_check", "change"): {"gap": (0, 8, 16), "key": (1, 0, 32), "seed": (4, 0, 64)},
    ("key_check", "set_mrc"): _TABLE,
    ("key_check", "set_line"): _TABLE,
    **{(unit, kind): fields for unit in ("context_cache", "qpc_cache") for kind, fields in _CONTEXT.items()},
    ("page_walker", "set_read"): _MEMORY,
    ("doorbell", "qp"): {"record": (1, 0, 64), "number": (2, 0, 32), "first": (2, 32, 16), "fails": (2, 48, 1)},
}


def fields_of(unit, kind):
    """Where the fields of an item lie: name -> (word, lowest bit, bits)."""
    table = _FIELDS.get((unit, kind), _OTHERWISE[unit])
    return {name: at for name, at in table.items() if at}


def decode(unit, words):
    """The fields of an item, of ten words."""
    kind = KINDS[unit][words[0] & 0xFF]
    item = {"kind": kind}
    for name, (word, low, bits) in fields_of(unit, kind).items():
        item[name] = words[word] >> low & (1 << bits) - 1
    return item


def encode(unit, item):
    """The ten words of an item."""
    words = [0] * WORDS
    words[0] = KINDS[unit].index(item["kind"])
    for name, (word, low, bits) in fields_of(unit, item["kind"]).items():
        value = item.get(name, 0)
        if value >> bits:
            raise ValueError(f"{item['kind']}: {name} has {bits} bits, {value:#x} has more")
        words[word] |= value << low
    return words


@dataclass
class Stream:
    unit: str
    mode: str = "random"
    seed: int = 1
    stall: str = "0"
    fault: int = 0
    storms: bool = False
    items: list = field(default_factory=list)


def read(path):
    """Raises ValueError that names file and line."""
    with open(path, encoding="ascii") as file:
        lines = file.read().splitlines()
    head = lines[0].split() if lines else []
    names = head[2:10:2]
    if len(head) < 10 or head[0] != "lockstep" or names != ["mode", "seed", "stall", "fault"]:
        raise ValueError(f"{path}:1: not a stream: 'lockstep UNIT mode MODE seed N stall P fault N' is expected")
    if head[1] not in KINDS:
        raise ValueError(f"{path}:1: there is no unit '{head[1]}'; units are {', '.join(KINDS)}")
    stream = Stream(head[1], head[3], int(head[5]), head[7], int(head[9]), head[10:] == ["storms"])
    for number, line in enumerate(lines[1:], 2):
        try:
            words = [int(word, 16) for word in line.split()]
        except ValueError:
            words = []
        if len(words) != WORDS or any(word >> 64 for word in words):
            raise ValueError(f"{path}:{number}: {WORDS} words of 64 bits are expected, in hexadecimal")
        if words[0] & 0xFF >= len(KINDS[stream.unit]):
            raise ValueError(f"{path}:{number}: {stream.unit} has no items of kind {words[0] & 0xFF}")
        stream.items.append(decode(stream.unit, words))
    return stream


def write(path, stream):
    """What hcasim run lockstep --stream reads."""
    with open(path, "w", encoding="ascii") as file:
        storms = " storms" if stream.storms else ""
        file.write(f"lockstep {stream.unit} mode {stream.mode} seed {stream.seed} stall {stream.stall} fault {stream.fault}{storms}\n")
        for item in stream.items:
            file.write(" ".join(f"{word:x}" for word in encode(stream.unit, item)) + "\n")

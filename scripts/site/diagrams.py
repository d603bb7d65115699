"""Draws the diagrams of the pages: the part of Mermaid that they use becomes a graph for Graphviz.

Understood are `stateDiagram-v2` and `flowchart LR|TB`, a statement a line: `a --> b : text`, `a -->|text| b`, chains, `---`, `<-->`,
nodes `a[text]`, `a["text"]`, `a[(text)]`, and `subgraph a [text]` to `end`."""
import html
import re
import subprocess

ARROW = re.compile(r"\s*(<-->|-->|---)\s*(?:\|([^|]*)\|)?\s*")
NODE = re.compile(r"^(\w+|\[\*\])(?:\[\((.+)\)\]|\[\"(.+)\"\]|\[(.+)\])?$")
DIRECTIONS = {"-->": "forward", "<-->": "both", "---": "none"}


class not_understood(Exception):
    pass


def quoted(text):
    """Returns a label for Graphviz; <br/> and \\n break its lines, other tags go."""
    lines = re.sub(r"<br\s*/?>|\\n", "\n", text)
    plain = html.unescape(re.sub(r"</?b>", "", lines))
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def node(text, lines):
    """Returns the name of a node, and adds its label and form to `lines`."""
    match = NODE.match(text.strip())
    if not match:
        raise not_understood(text)
    name, store, words, plain = match.groups()
    if name == "[*]":
        lines.append('"[*]" [shape=point, width=0.15]')
    elif store:
        lines.append(f'"{name}" [label={quoted(store)}, shape=cylinder]')
    elif words or plain:
        lines.append(f'"{name}" [label={quoted(words or plain)}]')
    return f'"{name}"'


def edges(statement, lines):
    statement, _, said = statement.partition(" : ")
    parts = ARROW.split(statement)
    if len(parts) < 4:
        raise not_understood(statement)
    names = [node(text, lines) for text in parts[::3]]
    for i, (kind, label) in enumerate(zip(parts[1::3], parts[2::3])):
        lines.append(f"{names[i]} -> {names[i + 1]} [dir={DIRECTIONS[kind]}, label={quoted(said or label or '')}]")


def graph_of(text):
    """Returns the text of a diagram as one for Graphviz. Throws not_understood."""
    first, *statements = [line.strip() for line in text.strip().split("\n")]
    kind = re.fullmatch(r"stateDiagram-v2|flowchart (LR|TB)", first)
    if not kind:
        raise not_understood(first)
    lines = [f"rankdir={kind[1] or 'LR'}", 'bgcolor="white"', 'fontname="sans-serif"', 'node [shape=box, style=rounded, fontname="sans-serif", fontsize=11]',
             'edge [fontname="sans-serif", fontsize=9]']
    for statement in statements:
        group = re.fullmatch(r"subgraph (\w+)(?: \[(.+)\])?", statement)
        if group:
            lines.append(f"subgraph cluster_{group[1]} {{ label={quoted(group[2] or group[1])}")
        elif statement == "end":
            lines.append("}")
        elif ARROW.search(statement):
            edges(statement, lines)
        elif statement:
            node(statement, lines)
    return "digraph {\n" + "\n".join(lines) + "\n}\n"


def words_of(text):
    """Returns the diagram in words, as the picture's alternative."""
    first, *statements = [line.strip() for line in text.strip().split("\n")]
    kind = "states" if first.startswith("state") else "parts"
    plain = "; ".join(re.sub(r"<[^>]*>|[\[\]\"|]", " ", s) for s in statements)
    return re.sub(r"\s+", " ", f"{kind} and arrows: {plain}")


def draw(text, svg):
    made = subprocess.run(["dot", "-Tsvg", "-o", str(svg)], input=graph_of(text), text=True, check=False, capture_output=True)
    if made.returncode != 0 or made.stderr:
        raise not_understood(made.stderr)

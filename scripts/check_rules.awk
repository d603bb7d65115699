# Reads the page of the rules, the table of cases and the sources (paths relative to the project's root); see check_rules.
# With fix=1 it writes the page, its last column filled in, and says nothing else.

# The ids in `text`, in order, into found[1..n]; "S1..S13", "S4 - S6" and "E1 to E8" name what lies between as well.
function ids_of(text, found,   n, id, gap, before, k, last) {
  n = 0
  while (match(text, /([A-Z]+\.?|o)[0-9]+(-[0-9]+)?(\.[0-9]+)*[a-z]?/)) {
    before = RSTART > 1 ? substr(text, RSTART - 1, 1) : " "
    gap = substr(text, 1, RSTART - 1)
    id = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH)
    if (before ~ /[A-Za-z0-9_-]/ || text ~ /^[A-Za-z0-9_]/) {
      last = ""
      continue
    }
    if (last != "" && (gap == ".." || gap == " - " || gap == " to ") && series(id) == series(last)) {
      for (k = number(last) + 1; k < number(id); k++) found[++n] = series(id) k
    }
    found[++n] = id
    last = id
  }
  return n
}
function series(id) {
  sub(/[0-9]+[a-z]?$/, "", id)
  return id
}
function number(id) {
  match(id, /[0-9]+[a-z]?$/)
  return substr(id, RSTART) + 0
}
function is_id(text) {
  return text ~ /^([A-Z]+\.?|o)[0-9]+(-[0-9]+)?(\.[0-9]+)*[a-z]?$/
}
function trimmed(text) {
  gsub(/^ +| +$/, "", text)
  return text
}

function complain(place, text) {
  if (fix) return
  print place ": " text > "/dev/stderr"
  faults++
}

# A place that cites: "file:line" of a source, or the name of a case.
function cite(id, place, shown, kind) {
  if (!((id, shown) in seen)) {
    seen[id, shown] = 1
    if (kind == "code") code[id] = code[id] (code[id] == "" ? "" : ", ") "`" shown "`"
    if (kind == "test") test[id] = test[id] (test[id] == "" ? "" : ", ") "`" shown "`"
    if (kind == "case") row[id] = row[id] (row[id] == "" ? "" : ", ") shown
  }
  citations++
  cited_id[citations] = id
  cited_at[citations] = place
}

# What the last column must say: code or, without any, tests; then cases. "": the rule is not cited.
function where(id,   files) {
  files = code[id] != "" ? code[id] : test[id]
  return files (files != "" && row[id] != "" ? "; " : "") row[id]
}

# The part of a line that is comment.
function comment_of(line,   text, at) {
  text = ""
  while (line != "") {
    if (in_block) {
      at = index(line, "*/")
      if (at == 0) return text line
      text = text substr(line, 1, at - 1)
      line = substr(line, at + 2)
      in_block = 0
    } else {
      if (!match(line, /\/\/|\/\*/)) return text
      if (substr(line, RSTART, 2) == "//") return text substr(line, RSTART + 2)
      line = substr(line, RSTART + 2)
      in_block = 1
    }
  }
  return text
}

# Brackets that begin with an id cite it and the ids that follow in them; they may go on in the next line.
function read_comment(text, kind,   bracket, n, i, found, opens) {
  if (open_bracket) {
    sub(/^[ *]*/, "", text)
    text = "[" text
  }
  opens = open_bracket
  open_bracket = 0
  while (match(text, /\[[^][]*(\]|$)/)) {
    bracket = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH)
    n = ids_of(bracket, found)
    if (n > 0 && (opens || bracket ~ /^\[(semantics )?[A-Zo]+\.?[0-9]/)) {
      for (i = 1; i <= n; i++) cite(found[i], FILENAME ":" FNR, FILENAME, kind)
      open_bracket = bracket !~ /\]$/
    }
    opens = 0
  }
}

FILENAME == page {
  lines++
  line_text[lines] = $0
  if ($0 ~ /^##+ /) {
    if (is_id($2)) define($2, 0)
  } else if ($0 ~ /^\| /) {
    cells = split($0, cell, "|")
    if (is_id(trimmed(cell[2]))) define(trimmed(cell[2]), cells - 2)
  }
  next
}
function define(id, columns) {
  if (id in defined_at) complain(page ":" FNR, id " stands there twice, first in line " defined_at[id])
  defined_at[id] = FNR
  defined[FNR] = id
  if (columns == 0 || id ~ /-/) return
  if (columns != 4) complain(page ":" FNR, id " needs the cells id, rule, source, where")
  else if (trimmed(cell[3]) == "" || trimmed(cell[4]) == "") complain(page ":" FNR, id " needs a rule and a source")
  is_rule[FNR] = columns == 4
}

FILENAME == cases {
  if ($0 ~ /^#/ || $0 ~ /^open;/) next
  columns = split($0, column, "; ")
  if (columns < 5) next
  n = ids_of(column[5], found)
  for (i = 1; i <= n; i++) cite(found[i], FILENAME ":" FNR, column[1], "case")
  next
}

FNR == 1 {
  in_block = open_bracket = 0
  kind = FILENAME ~ /^testbenches\// || FILENAME ~ /_test\.cpp$/ ? "test" : "code"
}
{
  text = in_block || index($0, "//") || index($0, "/*") ? comment_of($0) : ""
  if (text != "") read_comment(text, kind)
  else open_bracket = 0
}

END {
  for (i = 1; i <= citations; i++) {
    if (!(cited_id[i] in defined_at)) complain(cited_at[i], cited_id[i] " is no rule of " page ": state it there, or cite another one")
  }
  for (i = 1; i <= lines; i++) {
    text = line_text[i]
    if (i in defined && text ~ /^\|/) {
      split(text, cell, "|")
      n = ids_of(cell[3] "|" cell[4], found)
      for (k = 1; k <= n; k++) {
        if (!(found[k] in defined_at)) complain(page ":" i, "refers to " found[k] ", which is no rule: name another one")
      }
    }
    if (is_rule[i]) {
      says = trimmed(cell[5])
      wanted = where(defined[i])
      if (wanted == "") {
        if (says !~ /^none: ./) {
          complain(page ":" i, defined[i] " is cited by no code and no case: cite it where it is kept, or write \"none: \" and why")
        }
      } else if (says != wanted) {
        complain(page ":" i, defined[i] " is cited by " wanted ", and the page says " (says == "" ? "nothing" : says) \
                             ": scripts/check_rules --fix puts it right")
        text = "|" cell[2] "|" cell[3] "|" cell[4] "| " wanted " |"
      }
    }
    if (fix) print text
  }
  if (faults) {
    print "check_rules: " faults " fault(s); the rules are in " page > "/dev/stderr"
    exit 1
  }
}

# awk -v source=FOLDER -v out=FOLDER -f leave_out.awk checks.txt: copies of the files that the list names, in each of which any one
# check can be left out by its number, and out/checks.inc, the table of them. A text that is not in its file exactly once ends it.
function fail(what) {
  print FILENAME ":" FNR ": " what >"/dev/stderr"
  failed = 1
  exit 1
}
function read_file(name, line, text) {
  text = ""
  while ((got = (getline line <name)) > 0) text = text line "\n"
  if (got < 0) fail("cannot be read: " name)
  close(name)
  return text
}
function write_copy(to) {
  if (file == "") return
  to = out "/" file
  sub(/\/[^\/]*$/, "", to)
  system("mkdir -p '" to "'")
  printf "#include \"testbenches/checks/hostile/left_out/left_out.h\"\n%s", copy >(out "/" file)
  close(out "/" file)
}
function quoted(text) {
  gsub(/["\\]/, "\\\\&", text)
  return "\"" text "\""
}
function end_check() {
  if (name == "") return
  if (!replaced) fail("nothing stands for '" name "'")
  if (test != "" && reason == "") fail("'" name "': a test, but no reason")
  if (!told[number]++) table = table "{" number ", " quoted(name) ", " quoted(file) ", " quoted(reason) ", " quoted(test) "},\n"
  name = reason = test = ""
}
function replace(wrong, at, rest) {
  at = index(copy, right)
  if (name == "" || right == "") fail("no check, or no text, to replace")
  if (!at) fail("'" name "': " file " does not contain: " right)
  rest = substr(copy, at + length(right))
  if (index(rest, right)) fail("'" name "': " file " contains more than once: " right)
  copy = substr(copy, 1, at - 1) wrong rest
  replaced = 1
}
{ text = substr($0, 3); gsub(/\\n/, "\n", text) }
/^#/ || /^$/ { next }
/^@ / { end_check(); write_copy(); file = text; copy = read_file(source "/" file); next }
/^! / {
  end_check()
  name = text
  right = ""
  replaced = 0
  if (!(name in numbers)) numbers[name] = ++checks
  number = numbers[name]
  condition = "hcasim::left_out(" number ")"
  next
}
/^- / { right = text; next }
/^\+ / { replace("(" condition " ? (" text ") : (" right "))"); next }
/^= / {
  if (!sub(/LEFT_OUT/, condition, text)) fail("no LEFT_OUT: " text)
  replace(text)
  next
}
/^\? / { reason = text; next }
/^& / { test = text; next }
{ fail("not understood: " $0) }
END {
  if (failed) exit 1
  end_check()
  write_copy()
  printf "%s", table >(out "/checks.inc")
}

# Reads C and C++ files (paths relative to the project's root) and checks their includes; see check_floors.

# The house, lowest floor first; a file stands on the last one whose folder it lies in, and includes nothing higher.
function build(  names, i) {
  floors = split("firmware/abi firmware/control tlm/base tlm models/protection models models/hca models/driver models/system " \
                 "testbenches testbenches/runner/results testbenches/runner/description testbenches/runner/processes " \
                 "testbenches/runner/recording testbenches/runner/explanation testbenches/runner/execution " \
                 "testbenches/runner/study testbenches/runner/report testbenches/runner/command_line " \
                 "testbenches/applications/channel testbenches/applications/preload testbenches/applications/connection_manager " \
                 "testbenches/applications/simulator", folder, " ")
  for (i = 1; i <= floors; i++) height[folder[i]] = i
}

# The floor of a file: the deepest listed folder that it lies in, or "".
function place(file) {
  while (sub(/\/[^\/]*$/, "", file)) {
    if (file in height) return file
  }
  return ""
}

# "models/<unit>" of a unit's file, otherwise "".
function unit_of(file, part) {
  if (place(file) != "models" || split(file, part, "/") < 3) return ""
  return part[1] "/" part[2]
}

# Why `file` may not include `header`; "" when it may.
function objection(file, header, from, to) {
  from = place(file)
  to = place(header)
  if (from ~ /^testbenches\/applications\/(channel|preload)$/ && to != from && to != "testbenches/applications/channel")
    return from " is loaded into programs: it includes nothing of the simulator"
  if (to == "testbenches/applications/preload" && from != to) return "only programs use the preload library"
  if (from == "testbenches/applications/simulator" && to ~ /^testbenches/ && to !~ /^testbenches\/applications/ &&
      file !~ /_test\.cpp$/) return from " stands below " to
  if (from == to) {
    if (from != "models" || unit_of(file) == unit_of(header)) return ""
    return "a unit never includes another unit's header: units meet only in tlm"
  }
  # Room by room within the program; its tests and the testbenches may use any room.
  if (from == "testbenches" || (file ~ /_test\.cpp$/ && to ~ /^testbenches/)) return ""
  if (height[to] > height[from] && !(to == "testbenches" && from ~ /^testbenches/)) return from " stands below " to
  if (from == "models/driver" && to == "models" && unit_of(header) != "models/host")
    return "the driver touches hardware only through firmware/abi, tlm and models/host"
  if (from == "models/driver" && to ~ /^models\/(hca|protection)$/)
    return "the driver touches hardware only through firmware/abi, tlm and models/host"
  if (to != "firmware/control" || from ~ /^(models\/hca|models\/system|testbenches.*)$/) return ""
  if (unit_of(file) == "models/command_unit" || file ~ /^models\/driver\/testing\//) return ""  # they run the firmware
  return "only command_unit runs the firmware"
}

function complain(file, line, text) {
  print file ":" line ": " text > "/dev/stderr"
  faults++
}

# What must do without SystemC: 2 models/protection, all the way down; 1 rules, all the way down but for the payload types of tlm.
function plainness(file) {
  if (file ~ /_test\.cpp$/ || file ~ /_fuzz\.cpp$/) return 0
  if (file ~ /^models\/protection\//) return 2
  return file ~ /_rules\.(h|cpp)$/ ? 1 : 0
}

# Resolves an include of `file` to a project file, or "".
function resolve(file, name, dir) {
  if (name in known) return name
  dir = file
  sub(/[^\/]*$/, "", dir)
  name = dir name
  while (sub(/[^\/]+\/\.\.\//, "", name)) {}
  gsub(/\/\.\//, "/", name)
  return name in known ? name : ""
}

# The chain by which include `n` of `file` reaches a SystemC header, or "".
function systemc_chain(file, n, plain, to, i, chain) {
  if (is_systemc[file, n]) return "<" raw[file, n] ">"
  to = target[file, n]
  if (to == "" || (plain == 1 && place(to) ~ /^tlm$/)) return ""
  if (!((to, plain) in chain_of)) {
    chain_of[to, plain] = ""  # ends include cycles
    for (i = 1; i <= includes[to] && chain == ""; i++) chain = systemc_chain(to, i, plain)
    chain_of[to, plain] = chain
  }
  return chain_of[to, plain] == "" ? "" : to " -> " chain_of[to, plain]
}

BEGIN {
  build()
  for (i = 1; i < ARGC; i++) known[ARGV[i]] = 1
}

/^[ \t]*#[ \t]*include[ \t]*["<]/ {
  name = $0
  sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", name)
  sub(/[">].*$/, "", name)
  n = ++includes[FILENAME]
  raw[FILENAME, n] = name
  line_of[FILENAME, n] = FNR
  target[FILENAME, n] = resolve(FILENAME, name)
  is_systemc[FILENAME, n] = (name ~ /^(systemc|tlm)(\.h)?$/ || name ~ /^(sysc|tlm_core|tlm_utils)\//) && target[FILENAME, n] == ""
}

END {
  for (i = 1; i < ARGC; i++) {
    file = ARGV[i]
    from = place(file)
    if (from == "") complain(file, 1, "this folder has no place in docs/architecture.md")
    for (n = 1; n <= includes[file]; n++) {
      to = target[file, n]
      if (from ~ /^firmware/ && is_systemc[file, n])
        complain(file, line_of[file, n], "firmware is freestanding C11: no SystemC")
      if (from != "" && to != "") {
        why = objection(file, to)
        if (why != "") complain(file, line_of[file, n], "includes " to ": " why)
      }
      plain = plainness(file)
      if (plain && (chain = systemc_chain(file, n, plain)) != "")
        complain(file, line_of[file, n], "plain C++ without SystemC, but this include reaches it: " chain)
    }
  }
  if (faults) {
    print "check_floors: " faults " fault(s); the floors are in docs/architecture.md" > "/dev/stderr"
    exit 1
  }
}

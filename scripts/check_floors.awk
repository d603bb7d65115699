# Reads C and C++ files (paths relative to the project's root) and checks their includes; see check_floors.

# The place a file belongs to: "abi", "base", "tlm", "protection", "control", "unit:<name>", "hca", "driver", "system",
# "testbenches", or "" for a folder that has no floor.
function place(file, part) {
  split(file, part, "/")
  if (part[1] == "firmware" && part[2] ~ /^(abi|control|driver)$/) return part[2]
  if (part[1] == "tlm" || part[1] == "testbenches") return part[1]
  if (part[1] != "models" || part[3] == "") return ""
  if (part[2] ~ /^(base|protection|hca|system)$/) return part[2]
  return "unit:" part[2]
}

# Why `from` may not include `to` (places); "" when it may.
function objection(from, to, file) {
  if (from == to || from == "testbenches") return ""
  if (from == "abi") return "firmware/abi is the contract with software: it includes nothing above itself"
  if (from == "base") return to == "abi" ? "" : "models/base stands on firmware/abi only"
  if (from == "tlm") return to ~ /^(abi|base)$/ ? "" : "tlm stands on firmware/abi and models/base only"
  if (from == "protection")
    return to ~ /^(abi|base|tlm)$/ ? "" : "models/protection stands on firmware/abi, models/base and tlm only"
  if (from == "control") {
    if (to == "abi") return ""
    if (file ~ /\.cpp$/ && to ~ /^(base|tlm|protection)$/) return ""  # the C++ beside the firmware is tests
    return "firmware/control is freestanding C11 over firmware/abi and its own hal.h"
  }
  if (from ~ /^unit:/) {
    if (to ~ /^(abi|base|tlm|protection)$/) return ""
    if (from == "unit:command_unit" && to == "control") return ""  # it runs the firmware
    if (to ~ /^unit:/) return "a unit never includes another unit's header: units meet only in tlm"
    return "a unit stands on firmware/abi, models/base, tlm and models/protection only"
  }
  if (from == "hca") return to ~ /^(driver|system|testbenches)$/ ? "models/hca may not include what stands above it" : ""
  if (from == "driver" && to == "control" && file ~ /^firmware\/driver\/testing\//) return ""  # its tests run the real firmware
  if (from == "driver")
    return to ~ /^(abi|base|tlm|unit:host)$/ ? "" : "firmware/driver touches hardware only through firmware/abi, tlm and models/host"
  if (from == "system") return to == "testbenches" ? "models/system may not include what stands above it" : ""
  return "this folder has no floor"
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
  if (to == "" || (plain == 1 && place(to) == "tlm")) return ""
  if (!((to, plain) in chain_of)) {
    chain_of[to, plain] = ""  # ends include cycles
    for (i = 1; i <= includes[to] && chain == ""; i++) chain = systemc_chain(to, i, plain)
    chain_of[to, plain] = chain
  }
  return chain_of[to, plain] == "" ? "" : to " -> " chain_of[to, plain]
}

BEGIN {
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
    if (from == "") complain(file, 1, "this folder has no floor in docs/architecture.md")
    for (n = 1; n <= includes[file]; n++) {
      to = target[file, n]
      if (from == "control" && file !~ /\.cpp$/ && is_systemc[file, n])
        complain(file, line_of[file, n], "firmware/control is freestanding C11: no SystemC")
      if (from != "" && to != "") {
        why = objection(from, place(to), file)
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

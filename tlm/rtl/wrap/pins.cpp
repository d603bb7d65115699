#include "pins.h"

#include <algorithm>
#include <utility>

#include "endpoint.h"
#include "text.h"

namespace hcasim::wrap {
namespace {

std::string flag(bool b) {
  return b ? "true" : "false";
}

// Splits "KEY=VALUE"; false = there is no '='.
bool is_field(const std::string& word, std::string& key, std::string& value) {
  const std::size_t at = word.find('=');
  if (at == std::string::npos || at + 1 == word.size()) return false;
  key = word.substr(0, at);
  value = word.substr(at + 1);
  return true;
}

// Returns a number, or N/M, as C++ has it: each part is a floating-point number.
std::string ratio(const std::string& text, const std::string& where) {
  const std::vector<std::string> parts = split(text, '/');
  std::vector<std::string> made;
  for (const std::string& p : parts) {
    const std::size_t dot = p.find('.');
    const bool whole = dot == std::string::npos;
    const bool good = is_number(p.substr(0, dot)) && (whole || is_number(p.substr(dot + 1)));
    const bool divides_by_zero = !made.empty() && p.find_first_not_of("0.") == std::string::npos;
    if (parts.size() > 2 || !good || divides_by_zero)
      throw refusal(text_of({where, ": '", text, "' is no number, and no N/M"}));
    made.push_back(whole ? p + "." : p);
  }
  return join(made, "/");
}

}  // namespace

void pins::read(const std::vector<std::string>& all) {
  for (const std::string& pin : all) {  // others may name a clock
    std::vector<std::string> words = words_of(pin);
    if (words.size() > 1 && words[0] == "clock") read_clock(words[1], {words.begin() + 2, words.end()});
  }
  for (const std::string& pin : all) read_pin(pin);
  if (clocks_.empty()) throw refusal("PINS names no clock");
  if (resets_.empty()) throw refusal("PINS names no reset");
  check_driven();
}

void pins::read_pin(const std::string& pin) {
  const std::vector<std::string> all = words_of(pin);
  const std::string kind = all.empty() ? "" : all[0];
  const std::string name = all.size() > 1 ? all[1] : "";
  const std::vector<std::string> words(all.begin() + std::min<std::ptrdiff_t>(2, std::ssize(all)), all.end());
  const std::string rest = join(words, " ");
  if (kind == "clock") return;
  if (kind == "idle") {
    if (std::exchange(has_idle_, true)) throw refusal("PINS names a second idle, " + name);
    take(name, true, 1, "idle");
    lines_ += "    set_idle(\"" + name + "\");\n";
  } else if (kind == "reset") {
    read_reset(name, words);
  } else if (kind == "strap") {
    take(rest, false, 0, "strap " + name);
    lines_ += "    add_strap(\"" + name + "\", \"" + rest + "\");\n";
  } else if (kind == "side") {
    const port* const p = ports_.find(rest.substr(0, rest.find('[')));
    take(rest, p && p->output, 0, "side " + name);
    lines_ += "    add_side(\"" + name + "\", \"" + rest + "\");\n";
  } else if (kind == "in" || kind == "out") {
    read_bundle(kind == "in", name, words);
  } else if (endpoint::is_kind(kind)) {
    endpoint(*this, kind, name).read(words);
  } else {
    throw refusal("PINS \"" + pin + "\": '" + kind +
                  "' is none of clock, reset, idle, strap, side, in, out, axi4, axi_lite, axis, tlp");
  }
}

// "clock PORT [period=N/M] [phase=N/M]"
void pins::read_clock(const std::string& name, const std::vector<std::string>& words) {
  const std::string where = "clock " + name;
  std::map<std::string, std::string> fields{{"period", "1."}, {"phase", "0."}};
  for (const std::string& word : words) {
    std::string key, value;
    if (!is_field(word, key, value) || !fields.contains(key))
      throw refusal(text_of({where, ": '", word, "' is not period= or phase="}));
    fields[key] = ratio(value, where);
  }
  const std::string& period = fields["period"];
  if (has(clocks_, name)) throw refusal("PINS names clock " + name + " twice");
  if (clocks_.empty() && period != "1.")
    throw refusal(where + ": it is the first, whose period is that of the shell; periods of others are in that of it");
  if (period.substr(0, period.find('/')).find_first_not_of("0.") == std::string::npos) throw refusal(where + ": a period of 0");
  take(name, false, 1, "clock");
  lines_ += "    add_clock(\"" + name + "\", " + period + ", " + fields["phase"] + ");\n";
  clocks_.push_back(name);
}

// "reset PORT [active_low] [clock=PORT]"
void pins::read_reset(const std::string& name, const std::vector<std::string>& words) {
  const std::string where = "reset " + name;
  take(name, false, 1, "reset");
  bool low = false;
  std::string clock = "-1";
  for (const std::string& word : words) {
    if (word == "active_low") {
      low = true;
    } else if (word.starts_with("clock=") && word.size() > 6) {
      clock = std::to_string(clock_number(word.substr(6), where));
    } else {
      throw refusal(text_of({where, ": '", word, "' is not active_low or clock="}));
    }
  }
  lines_ += "    add_reset(\"" + name + "\", " + flag(low) + ", " + clock + ");\n";
  resets_.push_back(name);
}

// "in|out NAME valid=PORT [ready=PORT | credit=PORT credits=N] [data=PORT,...] [fifo] [late] [clock=PORT]"
void pins::read_bundle(bool into, const std::string& name, const std::vector<std::string>& words) {
  const std::string where = "bundle " + name;
  std::map<std::string, std::string> fields{{"valid", ""}, {"ready", ""}, {"data", ""}, {"credit", ""}, {"credits", "0"}};
  bool busy = false, inverted = false, fifo = false, late = false;
  std::size_t clock = 0;
  for (const std::string& word : words) {
    std::string key, value;
    if (word == "fifo" || word == "late") {
      (word == "fifo" ? fifo : late) = true;
      continue;
    }
    if (is_field(word, key, value) && key == "clock") {
      clock = clock_number(value, where);
      continue;
    }
    const bool turned = value.starts_with('!');
    if (turned) value.erase(0, 1);
    if (!fields.contains(key) || value.empty() || !is_of_names(value, "[],:"))
      throw refusal(text_of({where, ": '", word, "' is not valid=, ready=, data=, credit=, credits=, clock=, fifo or late"}));
    if (turned && key != "ready" && key != "valid")
      throw refusal(text_of({where, ": only valid and ready can be inverted: ", word}));
    if (turned) (key == "ready" ? busy : inverted) = true;
    fields[key] = value;
  }
  const std::string &valid = fields["valid"], &ready = fields["ready"], &credit = fields["credit"],
                    &credits = fields["credits"];
  if (valid.empty()) throw refusal(where + " needs valid=");
  if (late && into) throw refusal(where + ": only what comes out of the RTL can be late");
  if ((fifo || late) && ready.empty()) throw refusal(where + ": fifo and late need ready=, the enable or the full of the FIFO");
  take(valid, !into, 1, where);
  if (into) offers_.push_back(valid);
  if (!credit.empty()) {
    if (!ready.empty() || !is_number(credits) || credits.starts_with('0'))
      throw refusal(where + ": credit= needs credits=N (how many there are after reset) and no ready=");
    take(credit, into, 1, where);
  }
  if (!ready.empty()) take(ready, into, 1, where);
  unsigned bits = 0;
  std::string list;
  for (const std::string& piece : fields["data"].empty() ? std::vector<std::string>() : split(fields["data"], ',')) {
    bits += take(piece, !into, 0, where).bits;
    list += "\"" + piece + "\", ";
  }
  bundles_[name] = {into, bits};
  lines_ += "    add_bundle({.into = " + flag(into) + ", .inverted = " + flag(inverted) + ", .busy = " + flag(busy) +
            ", .fifo = " + flag(fifo) + ", .late = " + flag(late) + ", .credits = " + credits +
            ", .clock = " + std::to_string(clock) + "}, \"" + name + "\", \"" + valid + "\", \"" + ready + "\", {" + list +
            "}, \"" + credit + "\");\n";
}

pins::use pins::take(const std::string& text, bool output, unsigned bits, const std::string& where) {
  const std::size_t open = text.find('[');
  const std::string name = text.substr(0, open);
  const port* const p = ports_.find(name);
  if (!p) throw refusal(where + ": " + top_ + " has no port '" + name + "'. It has: " + known());
  if (p->output != output)
    throw refusal(where + ": port " + name + " is an " + (p->output ? "OUT" : "IN") + "put, an " + (output ? "OUT" : "IN") +
                  "put is needed");
  unsigned width = p->bits;
  if (open != std::string::npos && text.ends_with(']')) {
    const std::vector<std::string> ends = split(text.substr(open + 1, text.size() - open - 2), ':');
    const bool good = ends.size() <= 2 &&
                      std::all_of(ends.begin(), ends.end(), [](const std::string& e) { return is_number(e) && e.size() < 7; });
    const unsigned long high = good ? std::stoul(ends.front()) : 0, low = good ? std::stoul(ends.back()) : 1;
    if (low > high || high >= width)
      throw refusal(where + ": " + text + " is not a slice of " + name + ", which has " + std::to_string(width) + " bits");
    width = static_cast<unsigned>(high - low + 1);
  }
  if (bits != 0 && bits != width)
    throw refusal(where + ": port " + text + " is " + std::to_string(width) + " bits wide, " + std::to_string(bits) +
                  " are needed");
  used_.push_back(name);
  return {name, width};
}

std::size_t pins::clock_number(const std::string& port, const std::string& where) const {
  const auto found = std::find(clocks_.begin(), clocks_.end(), port);
  if (found == clocks_.end()) throw refusal(where + ": '" + port + "' is none of the clocks: " + join(clocks_, ", "));
  return static_cast<std::size_t>(found - clocks_.begin());
}

std::string pins::known() const {
  return join(ports_.names(), ", ");
}

void pins::check_driven() const {
  std::vector<std::string> inputs, undriven;
  for (const port& p : ports_.all()) {
    if (p.output) continue;
    inputs.push_back(p.name);
    if (!has(used_, p.name)) undriven.push_back(p.name);
  }
  if (undriven.empty()) return;
  throw refusal("nothing drives these inputs: " + join(undriven, ", ") + "; name them in PINS. Inputs of " + top_ + ": " +
                join(inputs, ", "));
}

// The bundles of the units, as their shells in models/adapter/<unit>/rtl use them.
std::vector<pins::interface_bundle> pins::bundles_of(const std::string& interface) const {
  constexpr bool in = true, out = false;
  const std::vector<interface_bundle> memory{{in, "req", 589}, {out, "mem", 589}, {in, "mem_rsp", 518}, {out, "rsp", 518}};
  const std::map<std::string, std::vector<interface_bundle>> units{
      {"key_check",
       {{in, "req", 315},
        {out, "mrc_req", 29},
        {in, "mrc_rsp", 519},
        {out, "ext_req", 37},
        {in, "ext_rsp", 518},
        {out, "rsp", 446},
        {in, "rel", 56},
        {in, "drn", 32},
        {out, "drn_rsp", 8}}},
      {"memory_port", memory},
      {"completion", memory},
      {"doorbell",
       {{in, "wr", 153},
        {in, "line", 512},
        {out, "ring", 71},
        {out, "ring_line", 512},
        {out, "qp", 24},
        {in, "qp_rsp", 65},
        {out, "rec", 64},
        {in, "rec_rsp", 65},
        {out, "note", 14}}},
      {"page_walker", {{in, "req", 378}, {out, "rsp", 135}, {out, "mem_req", 71}, {in, "mem_rsp", 518}}},
      {"context_cache",
       {{in, "req", 135},
        {out, "rsp", 526},
        {in, "rel", 521},
        {out, "rd_req", 68},
        {in, "rd_rsp", 517},
        {out, "wr_req", 582},
        {in, "wr_rsp", 6}}},
      {"qpc_cache",
       {{in, "req", 135},
        {out, "rsp", 2062},
        {in, "rel", 2057},
        {out, "rd_req", 68},
        {in, "rd_rsp", 2053},
        {out, "wr_req", 2118},
        {in, "wr_rsp", 6}}}};
  if (const auto found = units.find(interface); found != units.end()) return found->second;
  if (interface != "device") throw refusal("there is no interface '" + interface + "'");
  std::vector<interface_bundle> device;
  if (bundles_.contains("rx_req.t")) {
    device = {{in, "rx_req.t", 0}, {out, "tx_cpl.t", 0}};
  } else if (bundles_.contains("reg.aw") || bundles_.contains("reg.ar")) {
    device = {{in, "reg.aw", 0}, {in, "reg.w", 0}, {out, "reg.b", 0}, {in, "reg.ar", 0}, {out, "reg.r", 0}};
  } else {
    device = {{in, "reg_aw", 0}, {in, "reg_w", 0}, {out, "reg_b", 2}, {in, "reg_ar", 0}, {out, "reg_r", 0}};
  }
  const std::vector<interface_bundle> master =
      bundles_.contains("rd_req.t")
          ? std::vector<interface_bundle>{{out, "rd_req.t", 0}, {out, "wr_req.t", 0}, {in, "cpl.t", 0}}
          : std::vector<interface_bundle>{
                {out, "m0.aw", 0}, {out, "m0.w", 0}, {in, "m0.b", 0}, {out, "m0.ar", 0}, {in, "m0.r", 0}};
  device.insert(device.end(), master.begin(), master.end());
  return device;
}

void pins::check_interface(const std::string& interface) const {
  const auto way = [](bool into) { return std::string(into ? "in " : "out "); };
  std::vector<std::string> missing;
  for (const interface_bundle& wanted : bundles_of(interface)) {
    const auto found = bundles_.find(wanted.name);
    if (found == bundles_.end()) {
      missing.push_back("\"" + way(wanted.into) + wanted.name + "\"");
    } else if (found->second.into != wanted.into) {
      throw refusal("interface " + interface + " needs a bundle \"" + way(wanted.into) + wanted.name + "\", PINS has \"" +
                    way(found->second.into) + wanted.name + "\"");
    } else if (wanted.bits != 0 && found->second.bits != wanted.bits) {
      throw refusal("bundle " + std::string(wanted.name) + " of interface " + interface + " carries " +
                    std::to_string(wanted.bits) + " bits, its ports have " + std::to_string(found->second.bits));
    }
  }
  if (!missing.empty())
    throw refusal("interface " + interface + " needs bundles that PINS does not have: " + join(missing, ", "));
}

}  // namespace hcasim::wrap

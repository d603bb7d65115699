#include "endpoint.h"

#include <algorithm>

#include "text.h"

namespace hcasim::wrap {
namespace {

struct signal {
  const char* name;
  unsigned bits = 0;  // 0 = any
};
struct channel {
  const char* kind;
  const char* name;
  std::vector<signal> signals;  // in the order in which they lie in the channel's payload
};

const std::vector<channel>& channels() {
  static const std::vector<signal> address{{"id"},       {"addr"},    {"len"},    {"size", 3},   {"burst", 2}, {"lock"},
                                           {"cache", 4}, {"prot", 3}, {"qos", 4}, {"region", 4}, {"user"}};
  static const std::vector<channel> all{
      {"axi4", "aw", address},
      {"axi4", "w", {{"data"}, {"strb"}, {"last", 1}, {"user"}, {"id"}}},
      {"axi4", "b", {{"id"}, {"resp", 2}, {"user"}}},
      {"axi4", "ar", address},
      {"axi4", "r", {{"id"}, {"data"}, {"resp", 2}, {"last", 1}, {"user"}}},
      {"axi_lite", "aw", {{"addr"}, {"prot", 3}}},
      {"axi_lite", "w", {{"data"}, {"strb"}}},
      {"axi_lite", "b", {{"resp", 2}}},
      {"axi_lite", "ar", {{"addr"}, {"prot", 3}}},
      {"axi_lite", "r", {{"data"}, {"resp", 2}}},
      {"axis", "t", {{"data"}, {"keep"}, {"strb"}, {"last", 1}, {"id"}, {"dest"}, {"user"}}},
      {"tlp", "t", {{"data"}, {"strb"}, {"hdr", 128}, {"error", 4}, {"bar_id", 3}, {"func_num", 8}, {"sop", 1}, {"eop", 1}}}};
  return all;
}

const channel* channel_of(std::string_view kind, std::string_view name) {
  const auto at =
      std::find_if(channels().begin(), channels().end(), [&](const channel& c) { return kind == c.kind && name == c.name; });
  return at == channels().end() ? nullptr : &*at;
}

bool has_signal(const channel* c, std::string_view name) {
  if (!c) return false;
  if (name == "valid" || name == "ready") return true;
  return std::any_of(c->signals.begin(), c->signals.end(), [&](const signal& s) { return name == s.name; });
}

bool is_power_of_two_within(unsigned bits, unsigned least, unsigned most) {
  return bits >= least && bits <= most && (bits & (bits - 1)) == 0;
}

}  // namespace

bool endpoint::is_kind(std::string_view kind) {
  return std::any_of(channels().begin(), channels().end(), [&](const channel& c) { return kind == c.kind; });
}

void endpoint::read(const std::vector<std::string>& words) {
  for (const std::string& word : words) read_word(word);
  const bool into = kind_ == "axis" ? add_stream() : kind_ == "tlp" ? add_tlps() : add_axi();
  pins_.lines_ += "    add_endpoint(\"" + kind_ + "\", \"" + name_ + "\", " + (into ? "true" : "false") + ");\n";
}

void endpoint::read_word(const std::string& word) {
  if (word == "=") return;
  const std::size_t equals = word.find('=');
  const std::size_t dot = word.find('.');
  const bool gives = equals != std::string::npos && equals + 1 < word.size();
  if (gives && word.substr(0, equals) == "clock") {
    clock_ = pins_.clock_number(word.substr(equals + 1), where_);
    return;
  }
  if (gives && dot < equals) {
    const std::string of = word.substr(0, dot), name = word.substr(dot + 1, equals - dot - 1);
    if (!has_signal(channel_of(kind_, of), name))
      throw refusal(where_ + ": '" + word + "': " + kind_ + " has no signal " + key(of, name));
    named_[key(of, name)] = word.substr(equals + 1);
    return;
  }
  if (!pattern_.empty() || !read_pattern(word))
    throw refusal(where_ + ": '" + word + "' is not PREFIX*SUFFIX, channel.signal=PORT or clock=PORT");
}

// PREFIX*SUFFIX, and behind it [I/N] for the Ith of N equal slices of each port.
bool endpoint::read_pattern(const std::string& word) {
  const std::size_t open = word.find('[');
  const std::string ends = word.substr(0, open);
  const std::size_t star = ends.find('*');
  if (star == std::string::npos || !is_of_names(ends.substr(0, star) + ends.substr(star + 1), "{},")) return false;
  if (open != std::string::npos) {
    const std::vector<std::string> of = split(word.substr(open + 1, word.size() - open - 2), '/');
    if (!word.ends_with(']') || of.size() != 2 || !is_number(of[0]) || !is_number(of[1])) return false;
    lane_ = std::stoul(of[0]);
    lanes_ = std::stoul(of[1]);
    if (lane_ >= lanes_)
      throw refusal(where_ + ": " + word + ": slice " + of[0] + " of " + of[1] + ", they are counted from 0");
  }
  pattern_ = word;
  prefix_ = ends.substr(0, star);
  suffix_ = ends.substr(star + 1);
  for (const std::string& before : spellings(prefix_)) {
    for (const std::string& behind : spellings(suffix_)) ends_.emplace_back(before, behind);
  }
  return true;
}

// Returns what one end of a pattern may be: "s_{a,b}" is s_a or s_b.
std::vector<std::string> endpoint::spellings(const std::string& text) const {
  const std::size_t open = text.find('{'), close = text.find('}');
  if (text.find_first_of("{},") == std::string::npos) return {text};
  const bool good = open < close && close != std::string::npos && text.find_first_of("{},", close + 1) == std::string::npos &&
                    text.substr(0, open).find_first_of("},") == std::string::npos &&
                    text.find('{', open + 1) == std::string::npos;
  if (!good) throw refusal(where_ + ": '" + text + "': {A,B} once at either end of a pattern means A or B");
  std::vector<std::string> all;
  for (const std::string& one : split(text.substr(open + 1, close - open - 1), ','))
    all.push_back(text.substr(0, open) + one + text.substr(close + 1));
  return all;
}

std::string endpoint::port_of(std::string_view of, std::string_view signal) const {
  if (const auto given = named_.find(key(of, signal)); given != named_.end()) return given->second;
  if (pattern_.empty()) return {};
  const std::string letters(kind_ == "tlp" ? "" : of);  // streams of TLPs have no letter for their channel
  const port* p = nullptr;
  for (const auto& [before, behind] : ends_) {
    std::string name = before;
    name.append(letters).append(signal).append(behind);
    if (const port* const one = pins_.ports_.find_any_case(name)) p = one;
  }
  if (!p) return {};
  if (lanes_ == 1) return p->name;
  if (p->bits % lanes_ != 0)
    throw refusal(where_ + ": port " + p->name + " has " + std::to_string(p->bits) + " bits, which are not " +
                  std::to_string(lanes_) + " equal slices");
  const unsigned long bits = p->bits / lanes_;
  return p->name + "[" + std::to_string((lane_ + 1) * bits - 1) + ":" + std::to_string(lane_ * bits) + "]";
}

std::string endpoint::must_have(std::string_view of, std::string_view signal) const {
  std::string port = port_of(of, signal);
  if (port.empty()) missing(of, signal);
  return port;
}

void endpoint::missing(std::string_view of, std::string_view signal) const {
  const std::string way_out = "name it: " + key(of, signal) + "=PORT";
  if (pattern_.empty())
    throw refusal(where_ + ": " + pins_.top_ + " has no port for " + std::string(of) + std::string(signal) + "; " + way_out);
  const std::string wanted = prefix_ + (kind_ == "tlp" ? "" : std::string(of)) + std::string(signal) + suffix_;
  std::string hint;
  for (const char* way : {"_i", "_o", "_in", "_out"}) {
    if (const port* const p = pins_.ports_.find_any_case(wanted + way))
      hint = " There is '" + p->name + "': write " + prefix_ + "*" + suffix_ + "{_i,_o}, or as its ports are called.";
  }
  throw refusal(where_ + ": " + pins_.top_ + " has no port '" + wanted + "'; if it is called otherwise, " + way_out + "." +
                hint + " It has: " + pins_.known());
}

bool endpoint::goes_in(const std::string& valid) const {
  const std::string name = valid.substr(0, valid.find('['));
  const port* const p = pins_.ports_.find(name);
  if (!p) throw refusal(where_ + ": " + pins_.top_ + " has no port '" + name + "'. It has: " + pins_.known());
  return !p->output;
}

// Adds one channel, a bundle NAME.CHANNEL.
void endpoint::add_channel(std::string_view of, bool into) {
  const std::string valid = must_have(of, "valid");
  pins_.take(valid, !into, 1, where_);
  if (into) pins_.offers_.push_back(valid);
  const std::string ready = kind_ == "axis" ? port_of(of, "ready") : must_have(of, "ready");
  if (!ready.empty()) pins_.take(ready, into, 1, where_);
  std::string ports, names;
  for (const signal& s : channel_of(kind_, of)->signals) {
    const std::string text = port_of(of, s.name);
    if (text.empty()) {
      const std::string_view name = s.name;
      const bool data = name == "data" && kind_ != "axis" && kind_ != "tlp";
      if (data || name == "addr" || name == "hdr" || name == "sop" || name == "eop") missing(of, name);
      continue;
    }
    found_[key(of, s.name)] = {text, pins_.take(text, !into, s.bits, where_).bits};
    ports += "\"" + text + "\", ";
    names += "\"" + std::string(s.name) + "\", ";
  }
  const std::string bundle = key(name_, of);
  pins_.lines_ += "    add_bundle({.into = " + std::string(into ? "true" : "false") + ", .clock = " + std::to_string(clock_) +
                  ", .names = {" + names + "}}, \"" + bundle + "\", \"" + valid + "\", \"" + ready + "\", {" + ports +
                  "}, \"\");\n";
  pins_.bundles_[bundle] = {into, 0};
}

endpoint::found endpoint::at(std::string_view of, std::string_view signal) const {
  const auto there = found_.find(key(of, signal));
  return there == found_.end() ? found() : there->second;
}

void endpoint::alike(const char* of, const char* signal, const char* other_of, const char* other, unsigned wanted) const {
  const found one = at(of, signal), second = at(other_of, other);
  if (one.bits == 0) missing(of, signal);
  if (second.bits == 0) missing(other_of, other);
  if (second.bits != wanted)
    throw refusal(where_ + ": port " + second.port + " has " + std::to_string(second.bits) + " bits, " +
                  std::to_string(wanted) + " are needed beside " + one.port);
}

bool endpoint::add_stream() {
  const bool into = goes_in(must_have("t", "valid"));
  add_channel("t", into);
  const found data = at("t", "data");
  if (data.bits % 8 != 0)
    throw refusal(where_ + ": port " + data.port + " has " + std::to_string(data.bits) +
                  " bits, which are no bytes; name it as a bundle of its own");
  for (const char* signal : {"keep", "strb"}) {
    if (at("t", signal).bits != 0) alike("t", "data", "t", signal, data.bits / 8);
  }
  return into;
}

// Adds one stream of TLPs, whose valid gives the direction. A stream without data is for read requests.
bool endpoint::add_tlps() {
  const bool into = goes_in(must_have("t", "valid"));
  add_channel("t", into);
  const found data = at("t", "data");
  if (data.bits == 0) {
    if (into) missing("t", "data");
  } else if (!is_power_of_two_within(data.bits, 64, 512)) {
    throw refusal(where_ + ": port " + data.port + " has " + std::to_string(data.bits) +
                  " bits, a stream of TLPs has 64, 128, 256 or 512");
  } else if (at("t", "strb").bits != 0) {
    alike("t", "data", "t", "strb", data.bits / 32);
  }
  return into;
}

bool endpoint::add_axi() {
  const std::string aw = port_of("aw", "valid"), ar = port_of("ar", "valid");
  if (aw.empty() && ar.empty()) missing("aw", "valid");
  const bool writes = !aw.empty(), reads = !ar.empty();
  const bool into = goes_in(writes ? aw : ar);
  if (writes && reads && goes_in(ar) != into)
    throw refusal(where_ + ": port " + ar + " is an " + (into ? "out" : "in") + "put and " + aw + " an " +
                  (into ? "in" : "out") + "put: master and slave at once");
  if (writes) {
    add_channel("aw", into);
    add_channel("w", into);
    add_channel("b", !into);
  }
  if (reads) {
    add_channel("ar", into);
    add_channel("r", !into);
  }
  check_axi(writes, reads);
  return into;
}

unsigned endpoint::axi_data(const char* of) const {
  const found data = at(of, "data");
  if (!is_power_of_two_within(data.bits, 8, 1024))
    throw refusal(where_ + ": port " + data.port + " has " + std::to_string(data.bits) +
                  " bits, AXI has 8 to 1024, a power of two");
  return data.bits;
}

void endpoint::check_axi(bool writes, bool reads) const {
  for (const char* of : {"aw", "ar"}) {
    for (const auto& [signal, most] : {std::pair("addr", 64U), {"len", 8U}}) {
      const found f = at(of, signal);
      if (f.bits > most)
        throw refusal(where_ + ": port " + f.port + " has " + std::to_string(f.bits) + " bits, " + std::to_string(most) +
                      " are the most");
    }
  }
  const auto with_ids = [this](const char* there, const char* back) {
    const unsigned bits = at(there, "id").bits;
    if (bits != 0 || at(back, "id").bits != 0) alike(there, "id", back, "id", bits);
  };
  if (writes) {
    const unsigned bits = axi_data("w");
    if (at("w", "strb").bits != 0) alike("w", "data", "w", "strb", bits / 8);
    with_ids("aw", "b");
  }
  if (reads) {
    axi_data("r");
    with_ids("ar", "r");
    if (writes) alike("w", "data", "r", "data", at("w", "data").bits);
  }
}

}  // namespace hcasim::wrap

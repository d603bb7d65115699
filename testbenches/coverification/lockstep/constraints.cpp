#include "testbenches/coverification/lockstep/constraints.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace hcasim::lockstep {
namespace {

constexpr std::uint64_t most_drawn = 128;  // items drawn for each wanted item

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(trimmed(part));
  return parts;
}

}  // namespace

constraints::constraints(const std::string& unit, const std::string& text) : unit_(unit) {
  std::stringstream whole;
  if (text.starts_with("@")) {
    std::ifstream in(text.substr(1));
    if (!in) throw std::invalid_argument("constrain: " + text.substr(1) + " cannot be read");
    whole << in.rdbuf();
  } else {
    whole << text;
  }
  for (std::string line; std::getline(whole, line);) {
    for (const std::string& t : split(line.substr(0, line.find('#')), ';')) {
      if (!t.empty()) add(t);
    }
  }
}

void constraints::add(const std::string& text) {
  term t;
  t.text = text;
  const std::size_t equals = text.find('=');
  const std::string name = trimmed(text.substr(0, equals));
  if (equals == std::string::npos)
    throw std::invalid_argument("constrain: '" + text + "': write FIELD = VALUES, as gap = 0..3");
  std::string names = "kind";
  if (name == "kind") {
    t.field = {"kind", 0, 0, 8, ~std::uint32_t{0}};
  } else {
    for (const item_field& f : item_fields(unit_)) {
      names += ", " + std::string(f.name);
      if (f.name == name) t.field = f;
    }
    if (t.field.name.empty())
      throw std::invalid_argument("constrain: '" + text + "': items of " + unit_ + " have no field '" + name + "'; they have " +
                                  names);
  }
  for (const term& other : terms_) {
    if (other.field.name == t.field.name)
      throw std::invalid_argument("constrain: '" + text + "': " + name + " is there already");
  }
  for (const std::string& part : split(text.substr(equals + 1), ',')) {
    t.ranges.push_back(range_of(part, t));
    t.heaviest = std::max(t.heaviest, t.ranges.back().weight);
  }
  if (t.ranges.empty()) throw std::invalid_argument("constrain: '" + text + "': it has no values");
  terms_.push_back(t);
}

constraints::range constraints::range_of(const std::string& text, const term& of) const {
  const std::size_t star = text.find('*');
  range r{0, 0, 1};
  if (star != std::string::npos) {
    const std::string weight = trimmed(text.substr(star + 1));
    const auto [end, failed] = std::from_chars(weight.data(), weight.data() + weight.size(), r.weight);
    if (failed != std::errc() || end != weight.data() + weight.size() || !(r.weight > 0))
      throw std::invalid_argument("constrain: '" + of.text + "': '" + weight + "' is not a weight above 0");
  }
  const std::string values = trimmed(text.substr(0, star));
  const std::size_t dots = values.find("..");
  r.low = value_of(trimmed(values.substr(0, dots)), of);
  r.high = dots == std::string::npos ? r.low : value_of(trimmed(values.substr(dots + 2)), of);
  if (r.low > r.high) throw std::invalid_argument("constrain: '" + of.text + "': " + values + " begins above its end");
  return r;
}

std::uint64_t constraints::value_of(const std::string& text, const term& of) const {
  if (of.field.name == "kind") {
    const auto kinds = item_kinds(unit_);
    const auto found = std::find(kinds.begin(), kinds.end(), text);
    if (found != kinds.end()) return static_cast<std::uint64_t>(found - kinds.begin());
    std::string names;
    for (const std::string_view k : kinds) names += (names.empty() ? "" : ", ") + std::string(k);
    throw std::invalid_argument("constrain: '" + of.text + "': " + unit_ + " has no items of kind '" + text + "'; kinds are " +
                                names);
  }
  std::uint64_t v = 0;
  const bool hexadecimal = text.starts_with("0x");
  const char* const begin = text.data() + (hexadecimal ? 2 : 0);
  const auto [end, failed] = std::from_chars(begin, text.data() + text.size(), v, hexadecimal ? 16 : 10);
  if (failed != std::errc() || end != text.data() + text.size())
    throw std::invalid_argument("constrain: '" + of.text + "': '" + text + "' is not a number");
  if (v > of.field.most())
    throw std::invalid_argument("constrain: '" + of.text + "': " + text + " does not fit into the " +
                                std::to_string(of.field.bits) + " bits of " + std::string(of.field.name));
  return v;
}

const constraints::range* constraints::holds(const term& t, std::uint64_t value) {
  const auto found =
      std::find_if(t.ranges.begin(), t.ranges.end(), [&](const range& r) { return value >= r.low && value <= r.high; });
  return found == t.ranges.end() ? nullptr : &*found;
}

bool constraints::allow(const item& i) const {
  const unsigned kind = kind_of(i);
  if (kinds_of_memory(unit_) >> kind & 1) return true;
  return std::all_of(terms_.begin(), terms_.end(),
                     [&](const term& t) { return !t.field.of(kind) || holds(t, t.field.get(i)) != nullptr; });
}

bool constraints::take(item& i, random_stream& random, std::vector<tally>& tallies) const {
  const unsigned kind = kind_of(i);
  if (kinds_of_memory(unit_) >> kind & 1) return true;
  for (std::size_t n = 0; n < terms_.size(); ++n) {
    const term& t = terms_[n];
    if (!t.field.of(kind)) continue;
    if (t.field.free) {
      double sum = 0;
      for (const range& r : t.ranges) sum += r.weight;
      double at = random.unit() * sum;
      const range* drawn = &t.ranges.back();
      for (const range& r : t.ranges) {
        if ((at -= r.weight) < 0) {
          drawn = &r;
          break;
        }
      }
      t.field.set(i, drawn->low + random.below(drawn->high - drawn->low + 1));
      continue;
    }
    const std::uint64_t value = t.field.get(i);
    const range* const r = holds(t, value);
    tallies[n].least = std::min(tallies[n].least, value);
    tallies[n].most = std::max(tallies[n].most, value);
    tallies[n].fit += r != nullptr;
    if (r && (r->weight == t.heaviest || random.chance(r->weight / t.heaviest))) continue;
    tallies[n].rejected += r == nullptr;
    return false;
  }
  return true;
}

item_stream constraints::generate(const options& o) const {
  const std::unique_ptr<bench> b = make_bench(unit_);
  if (terms_.empty()) return b->generate(o);
  for (std::uint64_t each = 2; each <= most_drawn; each *= 2) {
    options more = o;
    more.requests = o.requests * each;
    random_stream random(o.seed, "constraints");
    std::vector<tally> tallies(terms_.size());
    item_stream kept;
    const item_stream drawn = b->generate(more);
    for (item i : drawn) {
      if (take(i, random, tallies)) kept.push_back(i);
      if (kept.size() == o.requests) break;
    }
    const bool none = std::any_of(tallies.begin(), tallies.end(), [](const tally& t) { return t.rejected > 0 && t.fit == 0; });
    if (kept.size() == o.requests && !none) return kept;
    if (each == most_drawn) throw std::invalid_argument(why_few(tallies, kept.size(), drawn.size()));
  }
  return {};
}

std::string mostly_events(const std::string& unit) {
  const std::uint32_t events = kinds_of_events(unit);
  if (events == 0) return "";
  const auto kinds = item_kinds(unit);
  std::string text;
  for (unsigned k = 0; k < kinds.size(); ++k) {
    if (kinds_of_memory(unit) >> k & 1) continue;
    text.append(text.empty() ? "kind = " : ", ").append(kinds[k]).append((events >> k & 1) != 0 ? "*80" : "");
  }
  return text;
}

item_stream draw(const std::string& unit, const options& o) {
  return constraints(unit, o.events ? mostly_events(unit) : "").generate(o);
}

std::string constraints::why_few(const std::vector<tally>& tallies, std::size_t kept, std::size_t drawn) const {
  const auto worst = static_cast<std::size_t>(
      std::max_element(tallies.begin(), tallies.end(), [](const tally& a, const tally& b) { return a.rejected < b.rejected; }) -
      tallies.begin());
  const tally& t = tallies[worst];
  std::ostringstream text;
  text << "constrain: of " << drawn << " items that were drawn " << kept << " fit; " << t.rejected << " were left out by '"
       << terms_[worst].text << "'";
  if (terms_[worst].field.name != "kind") text << ", where they have 0x" << std::hex << t.least << " to 0x" << t.most;
  return text.str();
}

}  // namespace hcasim::lockstep

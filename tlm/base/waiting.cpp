#include "tlm/base/waiting.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace hcasim {
namespace {

bool is_at(const waiting_note& n, const std::string& place) {
  if (!n.at.starts_with(place)) return false;
  return n.at.size() == place.size() || n.at[place.size()] == ' ';
}

const waiting_note* oldest_at(const std::vector<waiting_note>& notes, const std::string& place) {
  const waiting_note* oldest = nullptr;
  for (const waiting_note& n : notes) {
    if (is_at(n, place) && (!oldest || n.since < oldest->since)) oldest = &n;
  }
  return oldest;
}

std::string time_text(ps t) {
  struct scale {
    double of;
    const char* name;
  };
  constexpr std::array scales{scale{1e12, "s"}, scale{1e9, "ms"}, scale{1e6, "us"}, scale{1e3, "ns"}};
  std::array<char, 32> text{};
  for (const scale& s : scales) {
    const double v = static_cast<double>(t.count()) / s.of;
    if (v < 1 && s.of > 1e3) continue;
    std::snprintf(text.data(), text.size(), "%.6g %s", v, s.name);
    break;
  }
  return text.data();
}

std::string padded(std::string s, std::size_t width) {
  s.resize(std::max(s.size(), width), ' ');
  return s;
}

std::string one(const waiting_note& n) {
  return n.kind + " (" + n.text + ") at " + n.at;
}

}  // namespace

std::string hex_text(std::uint64_t v) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(v));
  return text.data();
}

std::string waiting_list::without_prefix(std::string place) const {
  if (place.starts_with(prefix_)) place.erase(0, prefix_.size());
  return place;
}

void waiting_list::add(waiting_note n) {
  n.at = without_prefix(std::move(n.at));
  for (std::string& w : n.waits_for) w = without_prefix(std::move(w));
  notes_.push_back(std::move(n));
}

std::string waiting_list::far(std::uint16_t lid, const char* unit) const {
  const std::string adapter = lid < adapters_.size() ? adapters_[lid] : std::string();
  return (adapter.empty() ? std::string("the port with LID ") + std::to_string(lid) : adapter) + "." + unit;
}

std::vector<const waiting_note*> oldest_of_each_kind(const std::vector<waiting_note>& notes) {
  std::vector<const waiting_note*> out;
  for (const waiting_note& n : notes) {
    if (n.since == never) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const waiting_note* o) { return o->kind == n.kind; });
    if (same == out.end()) {
      out.push_back(&n);
    } else if (n.since < (*same)->since) {
      *same = &n;
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const waiting_note* a, const waiting_note* b) { return a->since < b->since; });
  return out;
}

waiting_chain chain_from(const std::vector<waiting_note>& notes, const waiting_note& first) {
  waiting_chain c;
  const waiting_note* here = &first;
  for (;;) {
    const auto seen = std::find(c.links.begin(), c.links.end(), here);
    if (seen != c.links.end()) {
      c.circle = static_cast<std::size_t>(seen - c.links.begin());
      return c;
    }
    c.links.push_back(here);
    const waiting_note* next = nullptr;
    for (const std::string& place : here->waits_for) {
      next = oldest_at(notes, place);
      if (next) break;
    }
    if (!next) {
      if (!here->waits_for.empty()) c.end = here->waits_for.front();
      return c;
    }
    here = next;
  }
}

std::string waiting_report(const std::vector<waiting_note>& notes, ps now) {
  const auto oldest = oldest_of_each_kind(notes);
  if (oldest.empty()) return {};
  std::size_t kind_width = 0;
  std::size_t time_width = 0;
  const waiting_note* first = oldest.front();
  for (const waiting_note* n : oldest) {
    kind_width = std::max(kind_width, n->kind.size());
    time_width = std::max(time_width, time_text(now - n->since).size());
    if (n->kind == "work request") first = n;
  }
  std::string text = "the oldest of what waits\n";
  for (const waiting_note* n : oldest) {
    const auto all = std::count_if(notes.begin(), notes.end(), [&](const waiting_note& o) { return o.kind == n->kind; });
    text += "  " + padded(n->kind, kind_width) + "  for " + padded(time_text(now - n->since), time_width) + "  " + n->text +
            ", at " + n->at + (all > 1 ? std::string("; there are ") + std::to_string(all) : "") + "\n";
  }
  const waiting_chain c = chain_from(notes, *first);
  text += "what waits for what\n";
  for (std::size_t i = 0; i < c.links.size(); ++i) {
    text += std::string("  ") + std::to_string(i + 1) + "  " + one(*c.links[i]);
    if (i + 1 < c.links.size()) {
      text += ", which waits for\n";
    } else if (c.circle) {
      text += std::string(", which waits for ") + std::to_string(*c.circle + 1) + ": a circle\n";
    } else if (!c.end.empty()) {
      text += ", which waits for " + c.end + ", where nothing stands\n";
    } else {
      text += "\n";
    }
  }
  return text;
}

}  // namespace hcasim

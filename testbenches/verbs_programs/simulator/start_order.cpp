#include "testbenches/verbs_programs/simulator/start_order.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

namespace hcasim::applications {
namespace {

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Finds the name as a word of its own, also within the words of a script.
bool mentions(const std::string& text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_word_character(text[at - 1]);
    if (begins && (end == text.size() || !is_word_character(text[end]))) return true;
  }
  return false;
}

bool names_node_of(const placed_program& client, const placed_program& other) {
  const std::string node = fmt::format("node{}", other.node);
  return std::any_of(client.words.begin(), client.words.end(), [&](const std::string& w) { return mentions(w, node); });
}

}  // namespace

std::vector<bool> find_clients(std::span<const placed_program> programs) {
  std::vector<bool> out;
  for (const placed_program& p : programs) {
    out.push_back(std::any_of(programs.begin(), programs.end(),
                              [&](const placed_program& q) { return &p != &q && !q.by_rank && names_node_of(p, q); }));
  }
  return out;
}

std::vector<bool> find_group(std::span<const placed_program> programs, common_start rule) {
  std::vector<bool> out = find_clients(programs);
  const auto servers = std::count(out.begin(), out.end(), false);
  for (std::size_t i = 0; i < programs.size(); ++i) out[i] = out[i] && !programs[i].own_start;
  const auto clients = std::count(out.begin(), out.end(), true);
  if (rule == common_start::always && clients < 2) {
    throw std::invalid_argument(
        "together: fewer than two programs name the node of another one (node0, node1 ...) and have no start of their own; "
        "leave it out, or name the servers' nodes");
  }
  const bool paired = clients >= 2 && servers >= clients;
  if (rule == common_start::never || (rule == common_start::paired && !paired)) out.assign(programs.size(), false);
  return out;
}

}  // namespace hcasim::applications

#include "testbenches/program/description/resolved.h"

#include "testbenches/program/results/report.h"

namespace hcasim {
namespace {

using nlohmann::ordered_json;

std::string scalar(const knob_tree::leaf& l) {
  const std::string text = l.text();
  const bool free_text = l.kind == knob_kind::text || l.kind == knob_kind::path || text == "null" || text == "~";
  return free_text ? compact(ordered_json(text)) : text;
}

void write_node(std::string& out, const knob_tree& tree, const knob_tree::node& n, int indent) {
  for (const std::size_t c : n.children) {
    const knob_tree::node& child = tree.at(c);
    if (child.leaf < 0 && child.children.empty()) continue;
    out.append(static_cast<std::size_t>(indent), ' ');
    out += child.name + ":";
    if (child.leaf >= 0) {
      out += fmt::format(" {}\n", scalar(tree.leaves()[static_cast<std::size_t>(child.leaf)]));
    } else {
      out += "\n";
      write_node(out, tree, child, indent + 2);
    }
  }
}

ordered_json value(const knob_tree::leaf& l) {
  const std::string text = l.text();
  switch (l.kind) {
    case knob_kind::count:
      return ordered_json::parse(text);
    case knob_kind::ratio:
      return *std::get<double*>(l.value);
    case knob_kind::flag:
      return text == "true";
    default:
      return text;
  }
}

ordered_json group(const knob_tree& tree, const knob_tree::node& n) {
  ordered_json out = roomy_object(n.children.size());
  for (const std::size_t c : n.children) {
    const knob_tree::node& child = tree.at(c);
    if (child.leaf >= 0) {
      out[child.name] = value(tree.leaves()[static_cast<std::size_t>(child.leaf)]);
    } else if (!child.children.empty()) {
      out[child.name] = group(tree, child);
    }
  }
  return out;
}

}  // namespace

std::string resolved_yaml(const knob_tree& tree, const std::string& testbench, std::uint64_t seed, const std::string& version) {
  std::string out = fmt::format("{}{}: every value this run was made with.\ntestbench: {}\nseed: {}\n", resolved_mark, version,
                                testbench, seed);
  write_node(out, tree, tree.root(), 0);
  return out;
}

ordered_json resolved_json(const knob_tree& tree) {
  return group(tree, tree.root());
}

}  // namespace hcasim

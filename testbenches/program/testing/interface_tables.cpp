#include "testbenches/program/testing/interface_tables.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <regex>
#include <stdexcept>
#include <vector>

namespace hcasim::testing {
namespace {

const std::map<std::string, unsigned> basic_types{
    {"uint8_t", 1}, {"uint16_t", 2}, {"uint32_t", 4}, {"uint64_t", 8}, {"hca_pte", 8}};

std::string strip(const std::string& s) {
  const auto from = s.find_first_not_of(" \t");
  if (from == std::string::npos) return {};
  return s.substr(from, s.find_last_not_of(" \t") - from + 1);
}

// Lines of code with their comments joined: {code, comment}. A comment that goes on belongs to the line it began on.
struct source_line {
  std::string code;
  std::string comment;
};

std::vector<source_line> read(const std::filesystem::path& header) {
  std::ifstream in(header);
  std::vector<source_line> lines;
  bool open = false;
  for (std::string text; std::getline(in, text);) {
    if (open) {
      const auto end = text.find("*/");
      std::string part = strip(text.substr(0, end));
      if (part.starts_with("*")) part = strip(part.substr(1));
      lines.back().comment += " " + part;
      open = end == std::string::npos;
      continue;
    }
    source_line l;
    const auto begin = text.find("/*");
    l.code = strip(text.substr(0, begin));
    if (begin != std::string::npos) {
      const auto end = text.find("*/", begin);
      l.comment = strip(text.substr(begin + 2, end == std::string::npos ? end : end - begin - 2));
      open = end == std::string::npos;
    }
    if (!lines.empty() && lines.back().code.ends_with("=")) {
      lines.back().code += " " + l.code;  // a value on a line of its own
      lines.back().comment = l.comment;
    } else if (!l.code.empty() || !l.comment.empty()) {
      lines.push_back(l);
    }
  }
  return lines;
}

std::string cell(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(\|)"), R"(\|)");
}

class writer {
 public:
  void header(const std::filesystem::path& path) {
    const auto lines = read(path);
    std::string before;  // the comment above a declaration
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const source_line& l = lines[i];
      std::smatch m;
      if (l.code.empty()) {
        before = i == 0 ? "" : l.comment;
        if (i == 0) out_ += fmt::format("## {}\n\n{}\n\n", path.filename().string(), l.comment);
        continue;
      }
      if (std::regex_match(l.code, m, std::regex(R"(struct (\w+) \{)"))) {
        i = structure(m[1], before.empty() ? l.comment : before, lines, i + 1);
      } else if (std::regex_search(l.code, m, std::regex(R"(^enum ?(\w*) \{)"))) {
        i = enumeration(m[1], before, lines, i);
      } else if (std::regex_match(l.code, m, std::regex(R"(HCA_LAYOUT\(struct (\w+), (\d+)\);)"))) {
        if (sizes_.at(m[1]) != std::stoul(m[2])) throw std::runtime_error(m[1].str() + " has padding between its fields");
      }
      before.clear();
    }
  }
  std::string text() const { return out_; }

 private:
  std::size_t structure(const std::string& name, const std::string& about, const std::vector<source_line>& lines,
                        std::size_t i) {
    std::string rows;
    unsigned at = 0;
    for (; i < lines.size() && !lines[i].code.starts_with("}"); ++i) {
      const source_line& l = lines[i];
      if (l.code.empty()) {
        rows += fmt::format("| | | *{}* | |\n", cell(l.comment));
        continue;
      }
      std::smatch m;
      if (!std::regex_match(l.code, m, std::regex(R"((?:struct )?(\w+) (\w+)(?:\[(\w+)\])?;)"))) {
        throw std::runtime_error(fmt::format("{}: cannot read the field '{}'", name, l.code));
      }
      const std::string type = m[1];
      const unsigned each = basic_types.contains(type) ? basic_types.at(type) : sizes_.at(type);
      const unsigned bytes = each * (m[3].matched ? static_cast<unsigned>(std::stoul(m[3])) : 1);
      rows += fmt::format("| {} | {} | `{}` | {} |\n", at, bytes, m[2].str(), cell(l.comment));
      at += bytes;
    }
    sizes_[name] = at;
    out_ += fmt::format("### struct {} ({} bytes)\n\n", name, at);
    if (!about.empty()) out_ += about + "\n\n";
    out_ += "| byte | bytes | field | meaning |\n|---|---|---|---|\n" + rows + "\n";
    return i;
  }

  std::size_t enumeration(const std::string& name, const std::string& about, const std::vector<source_line>& lines,
                          std::size_t i) {
    std::string rows;
    bool done = false;
    for (std::size_t from = i; !done; ++i) {
      const source_line& l = lines.at(i);
      static const std::regex item(R"((\w+)(?: = ([^,}]+))?[ ]*(?=[,}]|$))");
      std::string code = i == from ? l.code.substr(l.code.find('{') + 1) : l.code;
      done = code.find('}') != std::string::npos;
      code = code.substr(0, code.find('}'));
      if (strip(code).empty() && !l.comment.empty()) rows += fmt::format("| | | *{}* |\n", cell(l.comment));
      for (std::sregex_iterator n(code.begin(), code.end(), item), end; n != end; ++n) {
        rows += fmt::format("| `{}` | {} | {} |\n", (*n)[1].str(), strip((*n)[2].str()), cell(l.comment));
      }
    }
    out_ += name.empty() ? "### Constants\n\n" : fmt::format("### enum {}\n\n", name);
    if (!about.empty()) out_ += about + "\n\n";
    out_ += "| name | value | meaning |\n|---|---|---|\n" + rows + "\n";
    return i - 1;
  }

  std::string out_ = "\n";
  std::map<std::string, unsigned> sizes_;
};

}  // namespace

std::string interface_tables(const std::filesystem::path& abi) {
  writer w;
  for (const char* name :
       {"registers.h", "keys.h", "access.h", "route.h", "mrc.h", "wqe.h", "cqe.h", "context.h", "command.h"}) {
    w.header(abi / name);
  }
  return w.text();
}

}  // namespace hcasim::testing

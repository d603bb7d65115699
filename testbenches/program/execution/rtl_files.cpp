#include "testbenches/program/execution/rtl_files.h"

#include <filesystem>
#include <functional>

namespace hcasim {
namespace {

void change_each(knob_tree& tree, const std::function<std::string(const std::string& folder)>& change) {
  const place own{"the run", 0, 0};
  for (const knob_tree::leaf& l : tree.leaves()) {
    if (!l.path.ends_with(".rtl.trace") && !l.path.ends_with(".rtl.coverage")) continue;
    if (const std::string text = l.text(); !text.empty()) tree.set(l.path, change(text), own);
  }
}

}  // namespace

void write_no_rtl_files(knob_tree& tree) {
  change_each(tree, [](const std::string&) { return std::string(); });
}

void write_rtl_files_into(knob_tree& tree, const std::string& part) {
  change_each(tree, [&](const std::string& folder) {
    const std::filesystem::path whole(folder);
    const bool named = whole.filename().string().starts_with("*");  // FOLDER/*.fst
    return (named ? whole.parent_path() / part / whole.filename() : whole / part).string();
  });
}

}  // namespace hcasim

#include "testbenches/program/execution/output_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "testbenches/program/description/errors.h"
#include "testbenches/program/description/system_errors.h"

namespace hcasim {
namespace fs = std::filesystem;

output_folder::output_folder(const fs::path& final_place, bool replace)
    : final_(fs::absolute(final_place).lexically_normal()), replace_(replace) {
  if (!final_.has_filename()) final_ = final_.parent_path();
  check_final_place();
  std::error_code ec;
  for (fs::path p = final_.parent_path(); !fs::exists(p, ec) && p.has_relative_path(); p = p.parent_path()) made_ = p;
  temporary_ = beside(final_, ".", ".partial");
  claim();
  try {
    check_final_place();  // another run may have ended meanwhile
  } catch (...) {
    discard();
    throw;
  }
}

void output_folder::check_final_place() const {
  std::error_code ec;
  const bool there = fs::exists(fs::symlink_status(final_, ec));
  if (ec == std::errc::filename_too_long) cannot_write(final_, ec.value());
  if (there && !fs::is_directory(final_, ec)) {
    throw input_error(fmt::format("'{}' is not a folder; choose another with -o", final_.string()));
  }
  const bool result = there && fs::exists(final_ / "result.json", ec);
  const bool empty = there && fs::is_empty(final_, ec) && !ec;
  if (result && !replace_) {
    throw folder_taken(fmt::format("'{}' already holds a result; add --force to replace it or choose another folder with -o",
                                   final_.string()));
  }
  if (there && !result && !empty) {
    throw input_error(fmt::format(
        "'{}' exists and is not a result of hcasim, so it is not replaced; choose another folder with -o", final_.string()));
  }
}

void output_folder::claim() {
  std::error_code ec;
  fs::create_directories(temporary_.parent_path(), ec);
  try {
    if (ec) throw std::system_error(ec);
    guard_.emplace(temporary_, made_, [this] { claim_.emplace(temporary_); });
    recover();
    for (const fs::directory_entry& left : fs::directory_iterator(temporary_)) fs::remove_all(left);
    if (::access(temporary_.c_str(), W_OK) != 0) throw std::system_error(errno, std::generic_category());
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_would_block) {
      throw folder_taken(
          fmt::format("another run is writing '{}'; wait for its end or choose another folder with -o", final_.string()));
    }
    discard();
    throw input_error(fmt::format("cannot write into '{}': {}", final_.parent_path().string(),
                                  cause(e.code().value(), "choose another folder with -o")));
  }
}

// Completes a commit() that was interrupted: the earlier result goes once the new one is in its place.
void output_folder::recover() const {
  const fs::path old = beside(final_, ".", ".old");
  std::error_code ec;
  if (!fs::exists(old, ec)) return;
  if (fs::exists(final_, ec)) {
    fs::remove_all(old);
  } else {
    fs::rename(old, final_);
  }
}

output_folder::~output_folder() {
  if (!committed_) discard();
}

void output_folder::discard() noexcept {
  std::error_code ec;
  if (claim_ && !fs::remove(temporary_, ec)) fs::remove_all(temporary_, ec);  // an empty one takes no descriptor
  if (made_.empty()) return;
  // Take back the parents that were made for nothing, unless something else has moved in.
  for (fs::path p = temporary_.parent_path(); fs::remove(p, ec) && p != made_;) p = p.parent_path();
}

void output_folder::save(const std::string& name, const std::string& content) const {
  write_file(temporary_ / name, content);
}

void output_folder::commit() {
  check_final_place();  // something else may have moved in during the run
  std::error_code ec;
  if (fs::exists(final_, ec)) {
    // The old result goes only when the new one is in its place.
    const fs::path old = beside(final_, ".", ".old");
    fs::rename(final_, old, ec);
    if (!ec) fs::rename(temporary_, final_, ec);
    if (ec) {
      std::error_code ignored;
      fs::rename(old, final_, ignored);
    } else {
      fs::remove_all(old, ec);
      ec.clear();
    }
  } else {
    fs::rename(temporary_, final_, ec);
  }
  if (ec)
    throw input_error(
        fmt::format("cannot move the result to '{}': {}", final_.string(), cause(ec.value(), "choose another with -o")));
  committed_ = true;
}

void claim_numbered(const fs::path& parent, const std::string& name, std::optional<output_folder>& out) {
  unsigned last = 0;
  std::error_code ec;
  for (const fs::directory_entry& e : fs::directory_iterator(parent, ec)) {
    const std::string other = e.path().filename();
    if (!other.starts_with(name + "-")) continue;
    unsigned number = 0;
    const char* const end = other.data() + other.size();
    if (std::from_chars(other.data() + name.size() + 1, end, number).ptr == end) last = std::max(last, number);
  }
  while (!out) {
    try {
      out.emplace(parent / fmt::format("{}-{:03}", name, ++last), false);
    } catch (const folder_taken&) {
      // The number is another run's.
    }
  }
}

nlohmann::ordered_json read_result(const fs::path& place) {
  std::error_code ec;
  const fs::path file = fs::is_directory(place, ec) ? place / "result.json" : place;
  errno = 0;
  std::ifstream in(file);
  if (!in && errno != ENOENT && errno != ENOTDIR)
    throw input_error(fmt::format("cannot read '{}': {}", file.string(), cause(errno, "check its permissions")));
  if (!in) throw input_error(fmt::format("'{}' holds no result; name a folder that 'hcasim run -o' wrote", place.string()));
  nlohmann::ordered_json j = nlohmann::ordered_json::parse(in, nullptr, false);
  for (const char* part : {"hcasim", "testbench", "figures", "measured"}) {
    if (!j.is_object() || !j.contains(part)) {
      throw input_error(fmt::format("'{}' is not a result of hcasim, or it is damaged", file.string()));
    }
  }
  return j;
}

}  // namespace hcasim

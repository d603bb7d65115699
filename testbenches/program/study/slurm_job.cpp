#include "testbenches/program/study/slurm_job.h"
#include "testbenches/program/places/places.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "testbenches/program/study/point_pool.h"

namespace hcasim {

namespace fs = std::filesystem;

namespace {

std::string first_line(const study& s) {
  return fmt::format("{} {:016x}", places::version, std::hash<std::string>{}(s.fingerprint()));
}

}  // namespace

void write_text(const fs::path& file, const std::string& content) {
  std::ofstream out(file, std::ios::binary);
  out << content;
  out.close();
  if (!out) {
    throw input_error(fmt::format("cannot write '{}': {}; nothing that was finished is lost: mend it and go on with --resume",
                                  file.string(), std::strerror(errno)));
  }
}

void slurm_job_folder::begin(const study& s, const task_list& tasks) const {
  remove();
  std::error_code ec;
  fs::create_directories(folder_, ec);
  std::string text = first_line(s) + "\n";
  for (const auto& points : tasks) {
    for (const std::uint64_t id : points) text += fmt::format("{} ", id);
    text += "\n";
  }
  write_text(folder_ / "tasks", text);
}

std::optional<slurm_job_folder::task_list> slurm_job_folder::tasks(const study& s) const {
  std::ifstream in(folder_ / "tasks");
  std::string line;
  if (!std::getline(in, line) || line != first_line(s)) return std::nullopt;
  task_list tasks;
  while (std::getline(in, line)) {
    std::istringstream numbers(line);
    tasks.emplace_back();
    for (std::uint64_t id = 0; numbers >> id;) tasks.back().push_back(id);
  }
  return tasks;
}

fs::path slurm_job_folder::record(std::uint64_t id) const {
  return folder_ / fmt::format("{}.record", id);
}

void slurm_job_folder::put(point_record& r) const {
  const fs::path file = record(r.id);
  fs::path unfinished = file;
  unfinished += ".part";
  write_text(unfinished, encode(r));
  fs::rename(unfinished, file);
  if (!r.catalogue.empty()) write_text(folder_ / ("catalogue-" + r.catalogue_hash), "");
}

bool slurm_job_folder::has(std::uint64_t id) const {
  std::error_code ec;
  return fs::exists(record(id), ec);
}

bool slurm_job_folder::knows_catalogue(const std::string& hash) const {
  std::error_code ec;
  return fs::exists(folder_ / ("catalogue-" + hash), ec);
}

std::set<std::uint64_t> slurm_job_folder::ended() const {
  std::set<std::uint64_t> ids;
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(folder_, ec)) {
    const std::string name = e.path().filename();
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error == std::errc{} && std::string_view(end) == ".record") ids.insert(id);
  }
  return ids;
}

void slurm_job_folder::forget(std::uint64_t id) const {
  std::error_code ec;
  fs::resize_file(record(id), 0, ec);
}

std::optional<point_record> slurm_job_folder::take(std::uint64_t id) const {
  std::ifstream in(record(id), std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  point_record r;
  if (!decode(text.str(), r) || r.id != id) return std::nullopt;
  return r;
}

bool slurm_job_folder::begun(std::uint64_t id) const {
  std::error_code ec;
  return fs::exists(point_pool::scratch(folder_, id), ec);
}

void slurm_job_folder::remove() const {
  std::error_code ec;
  fs::remove_all(folder_, ec);
}

}  // namespace hcasim

// Waveform files read back, for tests: VCD by a parser of its own, FST by GTKWave's reader.
#pragma once

#include <fstapi.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace hcasim {

using change_list = std::vector<std::pair<std::int64_t, std::string>>;

struct parsed_signal {
  std::string full_name;
  unsigned width = 0;
  change_list changes;  // without the initial x
  bool starts_unknown = false;
};

struct parsed {
  std::map<std::string, parsed_signal> by_id;
  std::int64_t begin = -1;
  std::int64_t end = 0;
  bool times_increase = true;

  const parsed_signal& named(const std::string& name) const {
    for (const auto& [id, s] : by_id) {
      if (s.full_name == name) return s;
    }
    throw std::runtime_error("no signal " + name);
  }
};

inline parsed parse_vcd(const std::filesystem::path& file) {
  parsed out;
  std::ifstream in(file);
  std::string word;
  std::vector<std::string> scope;
  std::int64_t time = -1;
  bool dumping = false;
  while (in >> word) {
    if (word == "$scope") {
      std::string kind, name, end;
      in >> kind >> name >> end;
      scope.push_back(name);
    } else if (word == "$upscope") {
      scope.pop_back();
      in >> word;
    } else if (word == "$var") {
      std::string kind, width, id, name;
      in >> kind >> width >> id >> name;
      std::string full;
      for (const auto& s : scope) full += s + ".";
      out.by_id[id] = {full + name, static_cast<unsigned>(std::stoul(width)), {}, false};
      while (word != "$end") in >> word;
    } else if (word == "$dumpvars") {
      dumping = true;
    } else if (word == "$end") {
      dumping = false;
    } else if (word[0] == '$') {
      while (word != "$end") in >> word;
    } else if (word[0] == '#') {
      const std::int64_t t = std::stoll(word.substr(1));
      // The closing time may repeat the last one.
      if (t < time) out.times_increase = false;
      if (out.begin < 0) out.begin = t;
      time = out.end = t;
    } else {
      std::string id = word.substr(1);
      std::string value = word.substr(0, 1);
      if (word[0] == 'b') {
        value = id;
        in >> id;
      }
      parsed_signal& s = out.by_id.at(id);
      if (dumping) {
        s.starts_unknown = value == "x";
      } else {
        s.changes.emplace_back(time, value);
      }
    }
  }
  EXPECT_TRUE(scope.empty());
  return out;
}

// Values as a VCD writes them: without leading zeros.
inline parsed parse_fst(const std::filesystem::path& file) {
  parsed out;
  void* const reader = fstReaderOpen(file.c_str());
  if (!reader) throw std::runtime_error("not an FST file: " + file.string());
  std::vector<std::string> scope;
  std::map<fstHandle, parsed_signal*> by_handle;
  while (const fstHier* h = fstReaderIterateHier(reader)) {
    if (h->htyp == FST_HT_SCOPE) scope.emplace_back(h->u.scope.name);
    if (h->htyp == FST_HT_UPSCOPE) scope.pop_back();
    if (h->htyp != FST_HT_VAR) continue;
    std::string full;
    for (const auto& s : scope) full += s + ".";
    const std::string name = h->u.var.name;
    parsed_signal& s = out.by_id[std::to_string(h->u.var.handle)];
    s = {full + name.substr(0, name.find(' ')), h->u.var.length, {}, false};
    by_handle[h->u.var.handle] = &s;
  }
  EXPECT_TRUE(scope.empty());
  EXPECT_EQ(fstReaderGetTimescale(reader), -12);
  out.begin = static_cast<std::int64_t>(fstReaderGetStartTime(reader));
  out.end = static_cast<std::int64_t>(fstReaderGetEndTime(reader));
  struct collector {
    std::map<fstHandle, parsed_signal*>& signals;
    parsed& out;
    std::int64_t last = 0;
    static void take(void* self, std::uint64_t time, fstHandle handle, const unsigned char* value) {
      auto& c = *static_cast<collector*>(self);
      const auto t = static_cast<std::int64_t>(time);
      if (t < c.last) c.out.times_increase = false;
      c.last = t;
      parsed_signal& s = *c.signals.at(handle);
      std::string digits(reinterpret_cast<const char*>(value));
      EXPECT_EQ(digits.size(), s.width);
      if (digits == std::string(s.width, 'x')) {
        EXPECT_TRUE(s.changes.empty());
        s.starts_unknown = true;
        return;
      }
      digits.erase(0, std::min(digits.find('1'), digits.size() - 1));
      s.changes.emplace_back(t, digits);
    }
  } c{by_handle, out};
  fstReaderSetFacProcessMaskAll(reader);
  EXPECT_EQ(fstReaderIterBlocks(reader, collector::take, &c, nullptr), 1);
  fstReaderClose(reader);
  return out;
}

inline std::map<std::string, change_list> changes_by_name(const parsed& p) {
  std::map<std::string, change_list> out;
  for (const auto& [id, s] : p.by_id) {
    EXPECT_TRUE(out.emplace(s.full_name, s.changes).second) << s.full_name;
  }
  return out;
}

}  // namespace hcasim

// Reads waveform files: VCD (also of other tools) and FST.
#pragma once

#include <filesystem>
#include <string_view>

#include "testbenches/program/recording/waves.h"

namespace hcasim {

class wave_listener {
 public:
  virtual ~wave_listener() = default;
  // First; `version` is what the file says of its writer.
  virtual void defined(const std::vector<wave_signal>& signals, const std::string& version) = 0;
  // In ascending order of time. `digits`: as many of 0, 1, x and z as the signal is wide; of an event "1", for each trigger.
  virtual void time(ps at) = 0;
  virtual void value(std::size_t signal, std::string_view digits) = 0;
};

bool is_fst(const std::filesystem::path& file);
// Throws input_error, with the line of a VCD, when the file cannot be read, is damaged or holds real numbers or strings.
void read_waves(const std::filesystem::path& file, wave_listener& listener);

}  // namespace hcasim

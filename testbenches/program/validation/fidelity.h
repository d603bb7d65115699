// The comparison of all experiments: as text, as JSON, and as the page docs/fidelity.md with its pictures.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "testbenches/program/validation/comparison.h"
#include "testbenches/program/validation/preset_marks.h"

namespace hcasim {

struct fidelity {
  const published_data* data = nullptr;
  std::vector<compared_experiment> experiments{};
  std::vector<preset_marks> presets{};
};

std::string fidelity_text(const fidelity& f);
nlohmann::ordered_json fidelity_json(const fidelity& f);
// Writes the sections of the experiments anew between the page's marks, and their pictures into the folder `fidelity` beside
// it. Sections of other experiments stay. Throws input_error when the page has no marks.
void write_page(const fidelity& f, const std::filesystem::path& page);

}  // namespace hcasim

#include "listed.h"

#include <sstream>
#include <stdexcept>

namespace hcasim::mutation {
namespace {

class reader {
 public:
  reader(const std::string& name, std::map<std::string, std::string>& texts) : name_(name), texts_(texts) {}

  void read(const std::string& line) {
    if (line.empty() || line[0] == '#') return;
    const std::string mark = line.substr(0, 2), rest = line.size() > 2 ? line.substr(2) : "";
    if (mark == "+ ") {
      choice_ += "hca_mutant::number == " + std::to_string(++number_) + " ? (" + rest + ") : ";
      return;
    }
    end_choice();
    if (mark == "@ ") {
      file_ = rest;
      if (!texts_.contains(file_)) refuse("'" + file_ + "' is not among the sources");
    } else if (mark == "- ") {
      right_ = rest;
    } else if (mark == "> ") {
      add_line(rest);
    } else {
      refuse("a line begins with '@ ' (file), '- ' (right), '+ ' (wrong), '> ' (more of the module) or '#': " + line);
    }
  }
  // Puts the choice between the last right expression and its wrong ones into its file.
  void end_choice() {
    if (choice_.empty()) return;
    std::string& text = text_of();
    const std::size_t at = text.find(right_);
    const std::string where = "fault " + std::to_string(number_) + ": " + file_;
    if (at == std::string::npos) refuse(where + " does not contain: " + right_);
    if (text.rfind(right_) != at) refuse(where + " contains more than once: " + right_);
    text.replace(at, right_.size(), "(" + choice_ + "(" + right_ + "))");
    choice_.clear();
  }
  [[nodiscard]] unsigned number() const { return number_; }

 private:
  [[noreturn]] void refuse(const std::string& why) const { throw std::runtime_error(name_ + ": " + why); }
  std::string& text_of() {
    if (file_.empty()) refuse("no line '@ ' says which file is meant");
    return texts_[file_];
  }
  void add_line(const std::string& line) {
    std::string& text = text_of();
    const std::string end = "\nendmodule", more = "\n  " + line + end;
    for (std::size_t at = text.find(end); at != std::string::npos; at = text.find(end, at + more.size()))
      text.replace(at, end.size(), more);
  }

  const std::string& name_;
  std::map<std::string, std::string>& texts_;
  std::string file_;
  std::string right_;
  std::string choice_;
  unsigned number_ = 0;
};

}  // namespace

unsigned put_listed(const std::string& name, const std::string& list, std::map<std::string, std::string>& texts) {
  reader r(name, texts);
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) r.read(line);
  r.end_choice();
  return r.number();
}

}  // namespace hcasim::mutation

// What simdjson needs for the same file: the whole document parsed (DOM), and only the fields of events looked at (on demand).
// usage: simdjson_peer FILE; prints "dom SECONDS" and "ondemand SECONDS", processor time without loading the file.
#include <simdjson.h>

#include <cstdio>
#include <ctime>

static double processor_time() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  auto text = simdjson::padded_string::load(argv[1]);
  if (text.error()) return 1;
  {
    double from = processor_time(), sum = 0;
    simdjson::ondemand::parser parser;
    auto document = parser.iterate(text.value());
    size_t n = 0;
    for (auto event : document["traceEvents"].get_array()) {
      for (auto field : event.get_object()) {
        std::string_view key = field.unescaped_key().value(), word;
        if (key == "ts" || key == "dur") sum += field.value().get_double().value();
        else if (key == "name" || key == "cat")
          if (!field.value().get_string().get(word)) sum += double(word.size());
      }
      n++;
    }
    std::printf("ondemand %.6f\n", processor_time() - from);
    if (n == 0 || sum < 0) return 1;
  }
  {
    double from = processor_time();
    simdjson::dom::parser parser;
    simdjson::dom::element document;
    if (parser.parse(text.value()).get(document)) return 1;
    std::printf("dom %.6f\n", processor_time() - from);
  }
  return 0;
}

// The lower bound for a metrics library: its data structures, without its checks and its interface.
//
//   metrics [PAGE]
//
// Prints a line per case: its name, a tab, and nanoseconds of processor time per operation (milliseconds for pages). With
// PAGE, a file, also the time that zlib takes to compress it at level 1.

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

static double cpu() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

template <typename Body>
static void measure(const char *name, long count, double unit, Body body) {
  double began = cpu();
  body(count);
  std::printf("%s\t%.3f\n", name, (cpu() - began) / double(count) * unit);
  std::fflush(stdout);
}

static constexpr int kBounds = 12;
static const double kBound[kBounds] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30};

struct Counter {
  std::atomic<uint64_t> value{0};
  void increment() { value.fetch_add(1, std::memory_order_relaxed); }
};

struct Histogram {
  std::atomic<uint64_t> buckets[kBounds + 1]{};
  std::atomic<double> sum{0};

  void observe(double value) {
    int index = 0;
    for (int i = 0; i < kBounds; i++) index += kBound[i] < value;
    buckets[index].fetch_add(1, std::memory_order_relaxed);
    double old = sum.load(std::memory_order_relaxed);
    while (!sum.compare_exchange_weak(old, old + value, std::memory_order_relaxed)) {
    }
  }
};

// Label values hashed in place; open addressing; the values of a series behind each other.
struct Table {
  struct Entry {
    uint64_t hash;
    std::string labels;
    Counter counter;
  };
  std::vector<std::unique_ptr<Entry>> entries;
  std::vector<std::atomic<Entry *>> slots;

  explicit Table(size_t size) : slots(size) {}

  static uint64_t mix(uint64_t hash, std::string_view text) {
    const char *bytes = text.data();
    size_t rest = text.size();
    hash ^= rest * 0x9E3779B97F4A7C15;
    for (; rest >= 8; bytes += 8, rest -= 8) {
      uint64_t word;
      std::memcpy(&word, bytes, 8);
      __uint128_t product = __uint128_t(hash ^ word) * 0xD6E8FEB86659FD93;
      hash = uint64_t(product) ^ uint64_t(product >> 64);
    }
    uint64_t word = 0;
    for (size_t i = 0; i < rest; i++) word |= uint64_t(uint8_t(bytes[i])) << (8 * i);
    __uint128_t product = __uint128_t(hash ^ word) * 0xD6E8FEB86659FD93;
    return uint64_t(product) ^ uint64_t(product >> 64);
  }

  Counter &with(std::string_view a, std::string_view b, std::string_view c) {
    uint64_t hash = mix(mix(mix(1, a), b), c);
    for (size_t slot = hash & (slots.size() - 1);; slot = (slot + 1) & (slots.size() - 1)) {
      Entry *entry = slots[slot].load(std::memory_order_acquire);
      if (!entry) return add(slot, hash, a, b, c);
      if (entry->hash == hash && matches(*entry, a, b, c)) return entry->counter;
    }
  }

  static bool matches(const Entry &entry, std::string_view a, std::string_view b, std::string_view c) {
    const char *bytes = entry.labels.data();
    return entry.labels.size() == a.size() + b.size() + c.size() && !std::memcmp(bytes, a.data(), a.size()) &&
           !std::memcmp(bytes + a.size(), b.data(), b.size()) &&
           !std::memcmp(bytes + a.size() + b.size(), c.data(), c.size());
  }

  Counter &add(size_t slot, uint64_t hash, std::string_view a, std::string_view b, std::string_view c) {
    entries.push_back(std::make_unique<Entry>());
    Entry *entry = entries.back().get();
    entry->hash = hash;
    entry->labels.append(a).append(b).append(c);
    slots[slot].store(entry, std::memory_order_release);
    return entry->counter;
  }
};

// A page: constant text is copied, numbers are formatted two digits at a time.
struct Page {
  std::vector<char> bytes;
  char *end;

  explicit Page(size_t size) : bytes(size), end(bytes.data()) {}

  // The page is read, so that the compiler keeps it.
  void finish() { asm volatile("" : : "r"(bytes.data()), "r"(end) : "memory"); }

  void put(std::string_view text) {
    std::memcpy(end, text.data(), text.size());
    end += text.size();
  }
  void put(uint64_t value) { end = std::to_chars(end, end + 20, value).ptr; }
  void put(double value) { end = std::to_chars(end, end + 24, value).ptr; }
  void line(std::string_view name, std::string_view labels, uint64_t value) {
    put(name);
    put(labels);
    put(std::string_view("} "));
    put(value);
    *end++ = '\n';
  }
};

static const char *kMethods[] = {"GET", "PUT", "POST", "DELETE"};
static const char *kCodes[] = {"200", "201", "404", "503"};

int main(int argc, char **argv) {
  {
    Counter counter;
    measure("increment", 50'000'000, 1e9, [&](long count) {
      for (long i = 0; i < count; i++) counter.increment();
    });
  }
  {
    Table table(256);
    std::vector<std::string> routes;
    for (int i = 0; i < 4; i++) routes.push_back("/api/v1/items/" + std::to_string(i));
    measure("lookup", 20'000'000, 1e9, [&](long count) {
      for (long i = 0; i < count; i++)
        table.with(kMethods[i & 3], routes[size_t(i >> 2 & 3)], kCodes[i >> 4 & 3]).increment();
    });
  }
  {
    Histogram histogram;
    double values[16];
    for (int i = 0; i < 16; i++) values[i] = 0.003 * double(1 << i);
    measure("observe", 30'000'000, 1e9, [&](long count) {
      for (long i = 0; i < count; i++) histogram.observe(values[i & 15]);
    });
  }
  {
    Counter counter;
    measure("contention", 40'000'000, 1e9, [&](long count) {
      auto work = [&] {
        for (long i = 0; i < count / 2; i++) counter.increment();
      };
      std::thread other(work);
      work();
      other.join();
    });
  }
  {
    struct Series {
      std::string labels;
      Histogram histogram;
      Counter first, second;
    };
    std::vector<Series> all(1000);
    for (size_t i = 0; i < all.size(); i++) {
      all[i].labels = "{route=\"/api/v1/items/" + std::to_string(i) + "\",method=\"GET\"";
      for (int k = 0; k < 100; k++) all[i].histogram.observe(0.003 * double((i + size_t(k) * 37) % 9973));
      for (size_t k = 0; k < i; k++) all[i].first.increment();
    }
    std::vector<std::string> bounds;
    for (double bound : kBound) {
      char text[32];
      *std::to_chars(text, text + 31, bound).ptr = 0;
      bounds.push_back(",le=\"" + std::string(text) + "\"");
    }
    bounds.push_back(",le=\"+Inf\"");
    Page page(8 << 20);
    measure("scrape", 100, 1e3, [&](long count) {
      for (long i = 0; i < count; i++) {
        page.end = page.bytes.data();
        for (Series &series : all) {
          uint64_t total = 0;
          for (int k = 0; k <= kBounds; k++) {
            total += series.histogram.buckets[k].load(std::memory_order_relaxed);
            page.put(std::string_view("request_duration_seconds_bucket"));
            page.put(series.labels);
            page.line(bounds[size_t(k)], "", total);
          }
          page.put(std::string_view("request_duration_seconds_sum"));
          page.put(series.labels);
          page.put(std::string_view("} "));
          page.put(series.histogram.sum.load(std::memory_order_relaxed));
          *page.end++ = '\n';
          page.line("request_duration_seconds_count", series.labels, total);
        }
        for (Series &series : all) page.line("requests_total", series.labels, series.first.value.load());
        for (Series &series : all) page.line("failures_total", series.labels, series.second.value.load());
        page.finish();
      }
    });
  }
  {
    std::vector<std::pair<std::string, std::unique_ptr<Counter>>> all(100'000);
    for (size_t i = 0; i < all.size(); i++) {
      all[i] = {"{user=\"user-" + std::to_string(i) + "\"", std::make_unique<Counter>()};
      all[i].second->value = i;
    }
    Page page(16 << 20);
    measure("large", 50, 1e3, [&](long count) {
      for (long i = 0; i < count; i++) {
        page.end = page.bytes.data();
        for (auto &[labels, counter] : all) page.line("users_total", labels, counter->value.load());
        page.finish();
      }
    });
  }
  {
    Table table(1 << 18);
    std::vector<std::string> users;
    for (int i = 0; i < 100'000; i++) users.push_back("user-" + std::to_string(i));
    measure("register", 100'000, 1e9, [&](long count) {
      for (long i = 0; i < count; i++) table.with(users[size_t(i)], "", "").increment();
    });
  }
  if (argc > 1) {
    FILE *file = std::fopen(argv[1], "rb");
    if (!file) return std::perror(argv[1]), 1;
    std::vector<unsigned char> input(16 << 20), output(16 << 20);
    input.resize(std::fread(input.data(), 1, input.size(), file));
    std::fclose(file);
    measure("gzip", 50, 1e3, [&](long count) {
      for (long i = 0; i < count; i++) {
        z_stream stream{};
        deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
        stream.next_in = input.data();
        stream.avail_in = uInt(input.size());
        stream.next_out = output.data();
        stream.avail_out = uInt(output.size());
        deflate(&stream, Z_FINISH);
        deflateEnd(&stream);
      }
    });
  }
}

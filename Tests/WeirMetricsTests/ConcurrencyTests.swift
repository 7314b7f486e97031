import Glibc
import Synchronization
import Testing

@testable import WeirMetrics

/// Threads of their own: tasks would wait for each other on few cores.
@Suite struct ConcurrencyTests {
  /// Writers count while pages are read: each page is consistent in itself, and nothing is lost in the end.
  @Test func writersDuringSnapshots() async throws {
    let registry = Registry(seriesLimit: 40)
    let held = try registry.counter("held_total", help: "")
    let family = try registry.counter("by_key_total", help: "", labels: "key", "number")
    let wait = try registry.histogram("wait_seconds", help: "", buckets: [1, 2, 3, 5, 8], labels: "key")
    let depth = try registry.gauge("depth", help: "")
    let running = Running()
    let rounds = 5_000
    await withTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask {
          await onThread {
            for round in 0..<rounds {
              held.increment()
              depth.increment()
              // More keys than there is room for: the rest folds.
              family.with("key-\(round % 60)", "\(writer % 2)").increment(by: 2)
              wait.with("key-\(round % 7)").observe(Double(round % 10), traceID: "\(round)")
              depth.decrement()
            }
            running.count.subtract(1, ordering: .relaxed)
          }
        }
      }
      group.addTask {
        await onThread {
          var page = ExpositionPage()
          var last = 0.0
          repeat {
            page.removeAll()
            registry.write(Exposition(.openMetrics), to: &page)
            let samples = Samples(page.withBytes { String(decoding: $0, as: UTF8.self) })
            #expect(samples["held_total"] ?? 0 >= last)
            last = samples["held_total"] ?? 0
            for key in 0..<7 {
              let count = samples["wait_seconds_count{key=\"key-\(key)\"}"]
              #expect(count == samples["wait_seconds_bucket{key=\"key-\(key)\",le=\"+Inf\"}"])
            }
          } while running.count.load(ordering: .relaxed) > 0
        }
      }
    }
    let samples = Samples(registry.text())
    #expect(samples["held_total"] == Double(4 * rounds))
    #expect(samples["depth"] == 0)
    #expect(samples.sum("by_key_total{") == Double(8 * rounds))
    #expect(samples.sum("wait_seconds_count{") == Double(4 * rounds))
    #expect(samples.sum("wait_seconds_sum{") == Double(4 * rounds) * 4.5)
    #expect(samples["weir_metrics_series{metric=\"by_key_total\"}"] == 41)
  }

  /// Removal, which ends lock-free reading, while others look up: nothing dangles, and the survivors are right.
  @Test func removalDuringLookups() async throws {
    for _ in 0..<20 {
      let registry = Registry()
      let family = try registry.counter("a_total", help: "", labels: "x")
      for key in 0..<20 { family.with("\(key)").increment() }
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<3 {
          group.addTask {
            await onThread { for round in 0..<2_000 { family.with("\(round % 20)").increment() } }
          }
        }
        group.addTask {
          await onThread {
            for round in 0..<500 {
              family.remove("\(round % 10)")
              if round % 50 == 0 { _ = registry.text() }
            }
          }
        }
      }
      for key in 10..<20 { #expect(family.with("\(key)").value == 301) }
    }
  }

  /// The same series asked for by many at once is made once.
  @Test func racesToMakeASeries() async throws {
    for _ in 0..<50 {
      let registry = Registry()
      let family = try registry.counter("a_total", help: "", labels: "x")
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask { await onThread { for key in 0..<50 { family.with("\(key)").increment() } } }
        }
      }
      for key in 0..<50 { #expect(family.with("\(key)").value == 4) }
    }
  }

  /// Metrics and series by text that many ask for at once, beside removals and pages, are made once.
  @Test func racesToMakeSeriesByText() async throws {
    for _ in 0..<20 {
      let registry = Registry(seriesLimit: 30)
      await withTaskGroup(of: Void.self) { group in
        for writer in 0..<4 {
          group.addTask {
            await onThread {
              for key in 0..<400 {
                let labels = ["k": "\(key % 20)", "a long name of a label".replacing(" ", with: "_"): "\(key % 2)"]
                let name = "m\(key % 7)_total"
                try? registry.counter(name, help: "", labels: labels).increment()
                guard key % 10 == writer else { continue }
                try? registry.counter("gone_total", help: "", labels: ["k": "\(key % 3)"]).increment()
                registry.remove("gone_total", labels: ["k": "\(key % 3)"])
                if key % 100 == writer { _ = registry.unregister("gone_total") }
                if key % 50 == writer { _ = registry.text() }
              }
            }
          }
        }
      }
      let samples = Samples(registry.text())
      #expect(samples.sum("m") == 4 * 400)
      #expect(samples.sum("weir_metrics_registration_errors_total{") == 0)
    }
  }
}

private final class Running: Sendable {
  let count = Atomic<Int>(4)
}

private func onThread(_ body: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
    final class Job: Sendable {
      let run: @Sendable () -> Void
      init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    let job = Job {
      body()
      continuation.resume()
    }
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<Job>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      }, Unmanaged.passRetained(job).toOpaque())
    #expect(status == 0)
    pthread_detach(thread)
  }
}

/// A page's samples.
private struct Samples {
  private var values: [String: Double] = [:]

  init(_ page: String) {
    for line in page.split(separator: "\n") where !line.hasPrefix("#") {
      let sample = line.split(separator: " # ")[0]
      guard let space = sample.lastIndex(of: " ") else { continue }
      values[String(sample[..<space])] = Double(sample[space...].dropFirst())
    }
  }

  subscript(name: String) -> Double? { values[name] }

  func sum(_ prefix: String) -> Double {
    values.filter { $0.key.hasPrefix(prefix) }.values.reduce(0, +)
  }
}

import Foundation
import WeirExporter
import WeirMetrics

/// Serves the pages of many simulated targets, each at a port of its own, until it is ended.
///
///     scale PAGE TARGETS REGISTRIES FILE
///
/// PAGE is a real gateway's page: the targets have its metrics, labels and buckets. Their counts grow as if it had come
/// to be within a minute. Each registry has counts of its own; if there are fewer than targets, some targets show the
/// same ones. FILE gets the targets' addresses for Prometheus' `file_sd_configs`.
@main struct Scale {
  /// Between two moves of all counts; less than a scrape interval.
  static let interval = 5.0

  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 5, let targets = Int(arguments[2]), let registries = Int(arguments[3]),
      targets > 0, registries > 0
    else { throw Failure(text: "usage: scale PAGE TARGETS REGISTRIES FILE") }
    let template = try Template(page: String(contentsOfFile: arguments[1], encoding: .utf8))
    var models = try (0..<min(targets, registries)).map { try Model(template, seed: UInt64($0)) }
    let exporters = try (0..<targets).map { try start(models[$0 % models.count].registry) }
    let group = ["targets": exporters.compactMap(\.address)]
    try JSONEncoder().encode([group]).write(to: URL(fileURLWithPath: arguments[4]), options: .atomic)
    FileHandle.standardError.write(Data("targets=\(targets)\n".utf8))
    while true {
      Thread.sleep(forTimeInterval: interval)
      for index in models.indices { models[index].advance(by: interval) }
    }
  }

  private static func start(_ registry: Registry) throws -> Exporter {
    var options = Exporter.Options()
    // The template has them.
    options.registersProcessMetrics = false
    return try Exporter(registry: registry, listenAddress: "127.0.0.1:0", options: options).start()
  }
}

struct Failure: Error, CustomStringConvertible {
  let text: String

  var description: String { text }
}

import Foundation
import Glibc
import Weir
import WeirOTLP

/// The attributes that tell which process the telemetry is of (OpenTelemetry's conventions for resources).
enum TelemetryResource {
  /// The facts about this process.
  struct Facts: Sendable {
    var host: String
    var processID: Int
    /// Drawn once: two processes never have the same one, also if they follow each other with the same number.
    var instance: String
    /// The name of the program's file.
    var program: String

    static let process = Facts(
      host: hostName, processID: Int(getpid()), instance: UUID().uuidString.lowercased(),
      program: CommandLine.arguments.first.map { URL(filePath: $0).lastPathComponent } ?? "")

    private static var hostName: String {
      var name = [CChar](repeating: 0, count: 256)
      guard gethostname(&name, name.count - 1) == 0 else { return "" }
      return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }

  /// Attributes in the order of their names. The settings' own come before those of the process.
  ///
  /// - Parameters:
  ///   - service: The service's name and version where the settings have none; nil for a program that is not ours, whose
  ///     name is then `unknown_service`, with that of its file.
  static func attributes(
    _ settings: TelemetrySettings, service: (name: String, version: String)?, of facts: Facts = .process
  ) -> [Attribute] {
    var texts: [String: String] = [
      "service.name": facts.program.isEmpty ? "unknown_service" : "unknown_service:\(facts.program)",
      "service.instance.id": facts.instance, "telemetry.sdk.name": "weir", "telemetry.sdk.language": "swift",
      "telemetry.sdk.version": WeirInfo.version,
    ]
    if !facts.host.isEmpty { texts["host.name"] = facts.host }
    if let service { (texts["service.name"], texts["service.version"]) = (service.name, service.version) }
    texts.merge(settings.resource) { _, own in own }
    if let name = settings.serviceName { texts["service.name"] = name }
    let process = settings.resource["process.pid"] == nil ? [Attribute("process.pid", facts.processID)] : []
    return (texts.map { Attribute($0.key, $0.value) } + process).sorted { $0.key < $1.key }
  }
}

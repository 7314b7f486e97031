import WeirHTTP

/// The log lines of one probe, shown with `debug=true`.
struct ProbeLog: Sendable {
  private(set) var text = ""
  private let common: LogFields

  init(module: String, target: String) {
    common = ["module": .string(module), "target": .string(target)]
  }

  mutating func note(_ message: String, _ fields: LogFields = [:], level: LogLevel = .info) {
    text += String(decoding: LogFormatter(.logfmt).line(at: .now, level, message, common, fields), as: UTF8.self)
  }

  mutating func fail(_ message: String, _ fields: LogFields = [:]) {
    note(message, fields, level: .error)
  }
}

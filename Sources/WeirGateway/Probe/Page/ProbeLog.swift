/// The log lines of one probe, shown with `debug=true`.
struct ProbeLog: Sendable {
  private(set) var text = ""
  private let common: LogFields

  init(module: String, target: String) {
    common = ["module": .string(module), "target": .string(target)]
  }

  mutating func note(_ message: String, _ fields: LogFields = [:], level: LogLevel = .info) {
    var all = common
    for (key, value) in fields { all.add(key, value) }
    text += String(decoding: LogFormatter(.logfmt).line(at: .now, level, message, all), as: UTF8.self)
  }

  mutating func fail(_ message: String, _ fields: LogFields = [:]) {
    note(message, fields, level: .error)
  }
}

import Glibc
import WeirHTTP
import WeirIO

// The access log.

extension ConfigurationReader {
  func accessLog() -> AccessLogSettings? {
    mapping(orOff: true, on: "write { to: stderr }, or the path of a file") { keys in
      let to = keys.take("to", required: "give /path/of/a/file, stderr or stdout")
      var settings = to.flatMap { $0.accessLogTarget() }.map { AccessLogSettings(to: $0) }
      let formats = AccessLogSettings.Format.allCases.map(\.rawValue)
      let format = keys.take("format").flatMap { $0.word(among: formats) }.flatMap(AccessLogSettings.Format.init)
      if let format { settings?.format = format }
      if let fields = keys.take("fields").flatMap({ $0.accessLogFields(in: format ?? .json) }) {
        settings?.fields = fields
      }
      if let share = keys.take("sampleSuccesses", within: 0...1) { settings?.sampleSuccesses = share }
      return settings
    }
  }

  /// A route can only leave its requests out.
  func keepsAccessLog() -> Bool {
    if isOff { return false }
    report("can only be off in a route; where and how lines are written is said beside routes")
    return true
  }

  private func accessLogTarget() -> AccessLogSettings.Target? {
    guard let text = read(as: .string) else { return nil }
    switch text {
    case "stderr": return .standardError
    case "stdout": return .standardOutput
    case _ where text.hasPrefix("/"):
      guard let problem = Self.problem(logFile: text) else { return .file(text) }
      report(problem)
      return nil
    default:
      report("expected the absolute path of a file, stderr or stdout")
      return nil
    }
  }

  /// The reason why a file can't be appended to, or made.
  private static func problem(logFile path: String) -> String? {
    if path.utf8.contains(0) { return "a path has no NUL" }
    if let status = try? FileSystem.status(ofFile: path, followsLink: true) {
      if status.kind == .directory { return "is a directory; give the path of a file in it" }
      return access(path, W_OK) == 0 ? nil : "can't be written: \(Errno.current)"
    }
    let end = path.lastIndex(of: "/") ?? path.startIndex
    let directory = end == path.startIndex ? "/" : String(path[..<end])
    return access(directory, W_OK | X_OK) == 0 ? nil : "can't be made in \(quoted(directory)): \(Errno.current)"
  }

  private func accessLogFields(in format: AccessLogSettings.Format) -> [AccessLogSettings.Field]? {
    guard let list = elements() else { return nil }
    if list.count > AccessLogSettings.mostFields {
      report("holds \(list.count) fields; give at most \(AccessLogSettings.mostFields)")
    }
    var keys: Set<String> = []
    return list.compactMap { element in
      guard let text = element.read(as: .string) else { return nil }
      guard let field = AccessLogSettings.Field(text), FieldSyntax.isToken(field.name ?? "query") else {
        element.report("give query, user_agent, referer, or header and a name, such as header X-Tenant")
        return nil
      }
      if format == .combined, case .header = field {
        element.report("has no place in combined; write format: json")
      } else if !keys.insert(field.key).inserted {
        element.report("is there twice, as \(field.key)")
      }
      return field
    }
  }
}

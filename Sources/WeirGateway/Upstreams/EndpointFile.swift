import WeirIO
import WeirTransport

/// The endpoints of a file in the form of Prometheus' `file_sd`: a list of groups, each with `targets` and `labels`, in
/// JSON or YAML. Of the labels only `weir_weight` and `weir_priority` mean something here.
struct EndpointFile {
  let endpoints: [EndpointSpec]

  /// - Parameter file: Only a name, for the error text.
  init(parsing bytes: [UInt8], file: String) throws(ConfigurationError) {
    endpoints = try ConfigurationFile.parse(bytes, file: file) { root in
      guard let groups = root.elements() else { return nil }
      let endpoints = groups.compactMap(Self.group.read).flatMap(\.self)
      if endpoints.isEmpty, root.findings.problems.isEmpty { root.report("holds no target") }
      return endpoints
    }
  }

  private static let group: ConfigurationForm<[EndpointSpec]> = ConfigurationMapping((weight: 1, priority: 0)) {
    Key("labels", .entries(of: .text(nil), 0...Int.max)) { reader, read in
      for (name, value) in reader.entries() ?? [] {
        switch name {
        case "weir_weight": read.weight = value.number(in: EndpointSpec.weights) ?? read.weight
        case "weir_priority": read.priority = value.number(in: EndpointSpec.priorities) ?? read.priority
        default: break
        }
      }
      return true
    }
    Key(
      late: "targets", .list(of: .text(nil), 0...Int.max), missing: .required("a list such as [\"10.0.0.7:8443\"]"))
  }.form { read, given in
    given["targets"]?.elements()?.compactMap { endpoint($0, weight: read.weight, priority: read.priority) }
  }

  private static func endpoint(_ reader: ConfigurationReader, weight: Int, priority: Int) -> EndpointSpec? {
    guard let text = reader.read(as: .string) else { return nil }
    do {
      let endpoint = try EndpointSpec(parsing: text, weight: weight, priority: priority)
      if endpoint.isAddress { return endpoint }
      reader.report("must be an address; names are looked up only for endpoints and srv")
    } catch {
      reader.report(error.description)
    }
    return nil
  }
}

extension ConfigurationReader {
  /// A number of a label, which Prometheus has as text.
  fileprivate func number(in range: ClosedRange<Int>) -> Int? {
    if case .scalar(let scalar) = node.content, case .integer = scalar.value { return count(within: range) }
    let text = read(as: .string) {
      Int($0).map(range.contains) ?? false ? nil : "must be \"\(range.lowerBound)\" to \"\(range.upperBound)\""
    }
    return text.flatMap { Int($0) }
  }
}

/// A look at a file of endpoints.
enum EndpointFileLook: Sendable {
  /// The file is not read, since it has not changed.
  case same
  /// The file is being written, and has to be read again even if what was there looked whole.
  case changing(FileMark?)
  case read(FileMark?, [EndpointSpec])
  case unusable(FileMark?, problem: String)

  /// Reads the file if it has changed. It may take as long as the file system keeps its callers waiting.
  ///
  /// - Parameters:
  ///   - before: The file as it was read last; nil if there was none.
  ///   - isDue: Whether the file is read even if it has not changed.
  init(at path: String, after before: FileMark?, isDue: Bool, mark reader: FileMark.Reader) {
    let mark = reader(path)
    guard isDue || mark != before else {
      self = .same
      return
    }
    do throws(ConfigurationError) {
      let file = try EndpointFile(parsing: try ConfigurationFile.bytes(of: path), file: path)
      self = reader(path) == mark ? .read(mark, file.endpoints) : .changing(mark)
    } catch {
      self = .unusable(mark, problem: error.lines.first ?? "the file can't be read")
    }
  }
}

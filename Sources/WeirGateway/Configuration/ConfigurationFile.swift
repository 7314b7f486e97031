import WeirCurl
import WeirExporter
package import WeirIO

/// Reads the text of configuration files, and makes a value of it.
enum ConfigurationFile {
  /// Parses a document and has `build` read it. Returns the value of `build` if there were no problems. `file` is only
  /// a name, for the error text.
  /// - Parameters:
  ///   - acceptsEmpty: whether an empty file counts as a mapping without keys.
  ///   - quotesValues: whether error texts may repeat values.
  ///   - readsAsGo: whether scalars are read as Go's yaml.v3 reads them, for files that Go's programs read too.
  ///   - reads: notes files that the document names and that are read with it.
  ///   - environment: the proxies that `environment` stands for.
  ///   - telemetry: the settings of the export that variables hold.
  static func parse<Value>(
    _ bytes: [UInt8], file: String, acceptsEmpty: Bool = false, quotesValues: Bool = true, readsAsGo: Bool = false,
    noting reads: FilesRead? = nil, environment: ProxyEnvironment = .process,
    telemetry: TelemetryEnvironment = .process,
    _ build: (ConfigurationReader) -> Value?
  ) throws(ConfigurationError) -> Value {
    let yaml: YAMLDocument
    do {
      yaml = try YAMLDocument(parsing: bytes, acceptsEmpty: acceptsEmpty)
    } catch {
      throw ConfigurationError(file: file, problems: [error])
    }
    let findings = ConfigurationFindings(
      of: file, readsAsGo: readsAsGo, reads: reads, environment: environment, telemetry: telemetry)
    let root = ConfigurationReader(
      node: yaml.root, path: ConfigurationPath(), findings: findings, quotesValues: quotesValues)
    let value = build(root)
    let problems = yaml.problems + findings.unknownKeys + findings.problems
    guard let value, problems.isEmpty else { throw ConfigurationError(file: file, problems: problems) }
    return value
  }

  /// Reads a file of at most 1 MiB, and one byte of a longer one, which the parser then refuses.
  ///
  /// - Parameter reads: notes the file.
  static func bytes(of file: String, noting reads: FilesRead? = nil) throws(ConfigurationError) -> [UInt8] {
    reads?.note(file)
    do {
      return try SmallFile.bytes(of: file, limit: YAMLLimits().bytes + 1)
    } catch {
      let problem = ConfigurationProblem(at: nil, path: ConfigurationPath(), error.text)
      throw ConfigurationError(file: file, problems: [problem])
    }
  }
}

extension ConfigurationReader {
  /// The bytes of a file that this value names, as ``ConfigurationFile`` reads them; nil if it can't be read, of which a
  /// problem tells.
  func bytes(ofFile path: String) -> [UInt8]? {
    do {
      return try ConfigurationFile.bytes(of: path, noting: findings.reads)
    } catch {
      report("\(quoted(path)) \(error.problems.first?.message ?? "can't be read")")
      return nil
    }
  }
}

/// Notes which files are read for a configuration, each with its mark from before that. So a file that changes while it
/// is read looks changed afterwards. For one reader at a time.
package final class FilesRead {
  /// The paths, of missing files too.
  package private(set) var paths: Set<String> = []
  /// The marks of the files that were there, by their paths.
  package private(set) var marks: [String: FileMark] = [:]

  func note(_ path: String) { note(path, FileMark(ofFile: path)) }

  /// The first mark of a file counts.
  func note(_ path: String, _ mark: FileMark?) {
    guard paths.insert(path).inserted else { return }
    marks[path] = mark
  }
}

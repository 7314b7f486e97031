import WeirIO
import WeirTransport

/// A look at a file of endpoints, which reads it if it has changed. It may take as long as the file system keeps its
/// callers waiting.
struct EndpointFileLook: Sendable {
  enum Result: Sendable {
    /// The file is not read, since it has not changed.
    case same
    /// The file is being written, and has to be read again even if what was there looked whole.
    case changing(FileMark?)
    case read(FileMark?, [EndpointSpec])
    case unusable(FileMark?, problem: String)
  }

  let path: String
  /// The file as it was read last; nil if there was none.
  let markBefore: FileMark?
  /// Whether the file is read even if it has not changed.
  let isDue: Bool
  let mark: FileMark.Reader

  func result() -> Result {
    let mark = mark(path)
    guard isDue || mark != markBefore else { return .same }
    do throws(ConfigurationError) {
      let file = try EndpointFile(parsing: try ConfigurationFile.bytes(of: path), file: path)
      return self.mark(path) == mark ? .read(mark, file.endpoints) : .changing(mark)
    } catch {
      return .unusable(mark, problem: error.lines.first ?? "the file can't be read")
    }
  }
}

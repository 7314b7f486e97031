import Glibc
import WeirIO

/// Encodes a form for an upload, to memory or to a file.
package struct MultipartEncoding {
  /// An encoded form.
  package enum Encoded: Sendable {
    case data(Data)
    /// A temporary file; the caller removes it.
    case file(URL)
  }

  /// Encodes a form to memory if the bodies of its parts are less than `threshold` bytes, else to a temporary file:
  /// `<temporary directory>/weir/multipart.form.data/<UUID>`. Reads and writes files.
  ///
  /// - Parameter temporaryDirectory: Nil means the one of the form's file manager.
  package static func encode(
    _ form: MultipartFormData, usingThreshold threshold: UInt64, in temporaryDirectory: URL? = nil
  ) throws -> Encoded {
    if form.contentLength < threshold { return .data(try form.encode()) }
    let directory = try directory(in: temporaryDirectory ?? form.fileManager.temporaryDirectory)
    let file = directory.appendingPathComponent(UUID().uuidString, isDirectory: false)
    try form.writeEncodedData(to: file)
    return .file(file)
  }

  /// The directory of temporary forms, made if it is missing. It lies in the directory of all users' temporary files.
  /// If `weir` there belongs to another user, that user could exchange our files, or would be shut out by ours. Then
  /// the user ID is added to the name.
  private static func directory(in temporary: URL) throws -> URL {
    for name in ["weir", "weir-\(geteuid())"] {
      let outer = temporary.appendingPathComponent(name, isDirectory: true)
      let inner = outer.appendingPathComponent("multipart.form.data", isDirectory: true)
      let place = PrivateDirectory(inner.path, isReadable: true)
      guard (try? PrivateDirectory(outer.path, isReadable: true).make()) != nil,
        let descriptor = try? place.open(makingIt: true)
      else { continue }
      defer { FileSystem.close(descriptor) }
      place.sweepOnce(descriptor) { UUID(uuidString: $0) != nil }
      return inner
    }
    throw WeirError.multipartEncodingFailed(
      reason: .outputStreamCreationFailed(
        for: temporary.appendingPathComponent("weir/multipart.form.data", isDirectory: true)))
  }
}

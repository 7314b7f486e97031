/// A body that was made, with its file's size.
struct UploadBody: Sendable {
  let uploadable: UploadRequest.Uploadable
  /// The size of a file when the attempt began; that many bytes of it are sent.
  var fileSize: Int64 = 0
  /// The content coding in which the body is sent; nil: none.
  var coding: RequestCoding?
  /// The compressed body of a stream, which can be read once; other bodies are compressed anew for each hop.
  var coded: UploadRequest.Uploadable?

  /// The body in memory; nil for a file or a stream.
  var data: Data? { if case .data(let data) = uploadable { data } else { nil } }
}

/// The bodies that a request has made: the present attempt's, and the files to be removed when the request has ended.
struct UploadBodies {
  /// The present attempt's body; nil until it is made, also for each retry.
  var present: UploadBody?
  private var files: Set<URL> = []
  private(set) var isOver = false

  /// Takes a file over, to be removed at the end. False: the request has ended, so the caller has to remove the file.
  mutating func keep(_ file: URL) -> Bool {
    if !isOver { files.insert(file) }
    return !isOver
  }

  /// The files to be removed; empty on the second call.
  mutating func end() -> Set<URL> {
    isOver = true
    defer { files = [] }
    return files
  }
}

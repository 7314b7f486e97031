/// A body that was made and looked at.
struct UploadBody: Sendable {
  let uploadable: UploadRequest.Uploadable
  /// Of a file, when it was looked at; that much is sent of it.
  var fileSize: Int64 = 0
  /// The content coding that it is sent in; nil: as it is.
  var coding: RequestCoding?
  /// The compressed body of a stream, which there is one of as there is one stream; others are made for each hop.
  var coded: UploadRequest.Uploadable?

  /// Nil unless it is in memory.
  var data: Data? { if case .data(let data) = uploadable { data } else { nil } }
}

/// The bodies that a request has made: the present attempt's, and the files that go when the request has ended.
struct UploadBodies {
  /// Nil before it is made, and from a retry on until it is made again.
  var present: UploadBody?
  private var files: Set<URL> = []
  private(set) var isOver = false

  /// Takes a file over; false: the request has ended, and nobody else will remove it.
  mutating func keep(_ file: URL) -> Bool {
    if !isOver { files.insert(file) }
    return !isOver
  }

  /// The files to be removed; none the second time.
  mutating func end() -> Set<URL> {
    isOver = true
    defer { files = [] }
    return files
  }
}

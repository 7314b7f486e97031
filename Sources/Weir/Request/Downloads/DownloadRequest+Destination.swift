extension DownloadRequest {
  /// A destination in one of the user's directories, under the name that the response suggests: by its
  /// `Content-Disposition`, else by its URL. Path separators and control characters are removed from the name, so that
  /// it stays in that directory. If the response suggests no name, or the system has no such directory, the file stays
  /// where it is.
  ///
  /// - Parameters:
  ///   - directory: Default: the documents directory.
  ///   - domain: Default: the user's own domain.
  ///   - options: Default: none, so that an existing file of that name makes the download fail.
  public static func suggestedDownloadDestination(
    for directory: FileManager.SearchPathDirectory = .documentDirectory,
    in domain: FileManager.SearchPathDomainMask = .userDomainMask, options: Options = []
  ) -> Destination {
    // Looked up here, since the loop must not read from disk.
    let directory = FileManager.default.urls(for: directory, in: domain).first
    return { temporaryURL, response in
      guard let directory, let name = SuggestedFileName(response) else { return (temporaryURL, options) }
      return (directory.appending(path: name.text, directoryHint: .notDirectory), options)
    }
  }

  /// A destination beside the temporary file, under a name that can't be mistaken for a temporary file's.
  static let defaultDestination: Destination = { temporaryURL, _ in
    let name = "Weir_\(temporaryURL.lastPathComponent)"
    let directory = temporaryURL.deletingLastPathComponent()
    return (directory.appending(path: name, directoryHint: .notDirectory), [])
  }
}

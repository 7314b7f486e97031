extension DownloadRequest {
  /// A destination in one of the user's directories, under the name that the response suggests: by its
  /// `Content-Disposition`, else by its URL. Path separators and control characters are taken out of the name, so that it
  /// leads nowhere else. A response without a name, or a system without such a directory, leaves the file where it is.
  ///
  /// - Parameters:
  ///   - directory: The documents' by default.
  ///   - domain: The user's own by default.
  ///   - options: None by default: a file of that name makes the download fail.
  public static func suggestedDownloadDestination(
    for directory: FileManager.SearchPathDirectory = .documentDirectory,
    in domain: FileManager.SearchPathDomainMask = .userDomainMask, options: Options = []
  ) -> Destination {
    // Looked up here: on the loop nothing is read.
    let directory = FileManager.default.urls(for: directory, in: domain).first
    return { temporaryURL, response in
      guard let directory, let name = SuggestedFileName(response) else { return (temporaryURL, options) }
      return (directory.appending(path: name.text, directoryHint: .notDirectory), options)
    }
  }

  /// Beside the temporary file, under a name that can't be taken for one.
  static let defaultDestination: Destination = { temporaryURL, _ in
    let name = "Weir_\(temporaryURL.lastPathComponent)"
    let directory = temporaryURL.deletingLastPathComponent()
    return (directory.appending(path: name, directoryHint: .notDirectory), [])
  }
}

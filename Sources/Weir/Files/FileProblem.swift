import WeirIO

/// A failed call on a download's file.
struct FileProblem: Error, Sendable {
  let path: String
  let errno: Errno
  /// A text in place of the system's message for `errno`.
  let text: String?

  init(_ path: String, _ errno: Errno, _ text: String? = nil) {
    self.path = path
    self.errno = errno
    self.text = text
  }

  /// The error of an attempt whose body can't be written.
  var unwritable: URLError {
    Self.error(
      .cannotWriteToFile,
      "the download can't be written to \(path): \(text ?? errno.description); \(remedy)set TMPDIR")
  }

  private var remedy: String { errno == .noSpace || errno == .quotaExceeded ? "make room there, or " : "" }

  /// The error for resume data from which no download can be resumed.
  var unusable: URLError { Self.unusable("\(path): \(text ?? errno.description)") }

  static func unusable(_ reason: String) -> URLError {
    error(.cannotOpenFile, "the resume data can't be used (\(reason)); download from the beginning")
  }

  private static func error(_ code: URLError.Code, _ text: String) -> URLError {
    URLError(code, userInfo: [NSLocalizedDescriptionKey: text])
  }

  /// The error of a move, in the form of Foundation's own file errors.
  var moveError: CocoaError {
    CocoaError(
      code,
      userInfo: [
        NSFilePathErrorKey: path, NSLocalizedDescriptionKey: text ?? errno.description,
        NSUnderlyingErrorKey: NSError(domain: NSPOSIXErrorDomain, code: Int(errno.rawValue)),
      ])
  }

  private var code: CocoaError.Code {
    switch errno {
    case .noSuchFile: .fileNoSuchFile
    case .exists, .isDirectory: .fileWriteFileExists
    case .noSpace, .quotaExceeded: .fileWriteOutOfSpace
    case .permissionDenied, .notPermitted: .fileWriteNoPermission
    case .readOnlyFileSystem: .fileWriteVolumeReadOnly
    case .nameTooLong, .invalidArgument: .fileWriteInvalidFileName
    default: .fileWriteUnknown
    }
  }
}

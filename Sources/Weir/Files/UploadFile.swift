import Glibc
import WeirIO

/// Operations on files for uploads. Each may take long and runs on a worker.
enum UploadFile {
  /// The size of a readable regular file. Other kinds are not opened: opening a FIFO waits for a writer, and opening a
  /// device may have effects.
  static func size(of url: URL) throws(URLError) -> Int64 {
    guard url.isFileURL else { throw error(.unsupportedURL, url, "is not a file URL") }
    let path = url.path
    guard !path.isEmpty, !path.utf8.contains(0) else { throw error(.badURL, url, "has no file path") }
    do throws(Errno) {
      try FileSystem.status(ofFile: path, followsLink: true).expectRegular()
      // Opening checks the permission, and the kind again, which may have changed since.
      let (descriptor, size) = try FileSystem.openRegular(path)
      FileSystem.close(descriptor)
      return size
    } catch {
      throw Self.error(error, url)
    }
  }

  /// Opens a regular file for reading.
  static func open(_ url: URL) throws(URLError) -> CInt {
    do throws(Errno) {
      return try FileSystem.openRegular(url.path).descriptor
    } catch {
      throw Self.error(error, url)
    }
  }

  /// Removes a file, but not a directory that the caller took for a file.
  static func remove(_ url: URL, by fileManager: FileManager) {
    guard url.isFileURL, let status = try? FileSystem.status(ofFile: url.path, followsLink: true),
      status.kind != .directory
    else { return }
    try? fileManager.removeItem(at: url)
  }

  private static func error(_ cause: Errno, _ url: URL) -> URLError {
    switch cause.rawValue {
    case Errno.isDirectory.rawValue:
      error(.fileIsDirectory, url, "is a directory; upload its files one by one, or an archive")
    case Errno.notRegular.rawValue: error(.cannotOpenFile, url, "is not a regular file; upload it as a stream")
    case ENOENT, ENOTDIR: error(.fileDoesNotExist, url, "is not there")
    case EACCES, EPERM: error(.noPermissionsToReadFile, url, "may not be read by this process")
    default: error(.cannotOpenFile, url, "can't be opened: \(cause)")
    }
  }

  static func error(_ code: URLError.Code, _ url: URL, _ text: String) -> URLError {
    URLError(
      code,
      userInfo: [
        NSLocalizedDescriptionKey: "\(url.isFileURL ? url.path : Redaction.url(url).absoluteString) \(text)",
        NSURLErrorFailingURLErrorKey: Redaction.url(url),
      ])
  }
}

import Foundation
import Glibc
import WeirIO

/// Files that are to be uploaded. All of it may take long, and is for workers.
enum UploadFile {
  /// The size of a regular file that can be read. Others are not opened: a FIFO would make its reader wait, and opening a
  /// device may do something.
  static func size(of url: URL) throws(URLError) -> Int64 {
    guard url.isFileURL else { throw error(.unsupportedURL, url, "is no file URL") }
    let path = url.path
    guard !path.isEmpty, !path.utf8.contains(0) else { throw error(.badURL, url, "has no path that a file could have") }
    do throws(Errno) {
      try expectRegular(try status(of: path))
      let (descriptor, size) = try openRegular(path)
      close(descriptor)
      return size
    } catch {
      throw Self.error(error, url)
    }
  }

  /// Opens a regular file for reading.
  static func open(_ url: URL) throws(URLError) -> CInt {
    do throws(Errno) {
      return try openRegular(url.path).descriptor
    } catch {
      throw Self.error(error, url)
    }
  }

  /// Removes a file, not a directory that somebody took for one.
  static func remove(_ url: URL, by fileManager: FileManager) {
    guard url.isFileURL, let status = try? status(of: url.path), !isDirectory(status) else { return }
    try? fileManager.removeItem(at: url)
  }

  private static func status(of path: String) throws(Errno) -> stat {
    var status = stat()
    _ = try systemCall { stat(path, &status) }
    return status
  }

  /// Also says whether it may be read. It may have become something else since it was looked at.
  private static func openRegular(_ path: String) throws(Errno) -> (descriptor: CInt, size: Int64) {
    let descriptor = try systemCall { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    do throws(Errno) {
      var status = stat()
      _ = try systemCall { fstat(descriptor, &status) }
      try expectRegular(status)
      return (descriptor, Int64(status.st_size))
    } catch {
      close(descriptor)
      throw error
    }
  }

  private static func isDirectory(_ status: stat) -> Bool { status.st_mode & S_IFMT == S_IFDIR }

  private static func expectRegular(_ status: stat) throws(Errno) {
    if isDirectory(status) { throw Errno(rawValue: EISDIR) }
    if status.st_mode & S_IFMT != S_IFREG { throw Errno(rawValue: ESPIPE) }
  }

  private static func error(_ cause: Errno, _ url: URL) -> URLError {
    switch cause.rawValue {
    case EISDIR: error(.fileIsDirectory, url, "is a directory; upload its files one by one, or an archive")
    case ESPIPE: error(.cannotOpenFile, url, "is no regular file; upload it as a stream")
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

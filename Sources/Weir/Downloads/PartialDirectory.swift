import Foundation
import Glibc
import Synchronization
import WeirIO

/// Where bodies are kept until they are complete: a directory that nobody else may look into.
///
/// Its place is always the same, so that resume data has to name a file only and can lead nowhere else. In the directory of
/// all users' temporary files somebody else may have taken that place; then it is in the one for this user's caches.
struct PartialDirectory: Sendable {
  /// So many seconds after its last byte a partial file that nobody holds is taken for one that nobody will resume.
  static let lifetime: Int64 = 7 * 86_400

  /// In the order in which they are tried.
  private let places: [PrivateDirectory]

  /// - Parameter path: nil: one of this user's in the system's temporary directory.
  init(_ path: String?) {
    self.init(
      path, temporary: FileManager.default.temporaryDirectory,
      caches: FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first)
  }

  init(_ path: String?, temporary: URL, caches: URL?) {
    let name = "weir.downloads.\(geteuid())"
    let places = path.map { [$0] } ?? [temporary, caches].compactMap { $0?.appendingPathComponent(name).path }
    self.places = places.map { PrivateDirectory($0) }
  }

  /// The first choice.
  var path: String { places[0].path }

  func path(of name: String) -> String { "\(path)/\(name)" }

  /// A descriptor of the directory and its path; it is made where it is not there. The caller closes it.
  func make() throws(FileProblem) -> (descriptor: CInt, path: String) {
    var problem: FileProblem?
    for place in places {
      do throws(Errno) {
        let descriptor = try place.open(makingIt: true)
        if Self.isFirst(place.path) { Self.sweep(place.path, descriptor, now: Int64(Date().timeIntervalSince1970)) }
        return (descriptor, place.path)
      } catch {
        problem = problem ?? Self.problem(place, error)
      }
    }
    throw problem ?? FileProblem(path, .noSuchFile)
  }

  /// What `find` makes of the first of the directories that has such a file, given a descriptor of it and its path.
  func search<Found>(
    _ find: (CInt, String) throws(Errno) -> Found
  ) throws(FileProblem) -> Found {
    var problem: FileProblem?
    for place in places {
      do throws(Errno) {
        let descriptor = try place.open(makingIt: false)
        defer { FileSystem.close(descriptor) }
        return try find(descriptor, place.path)
      } catch {
        let isMissing = problem == nil || problem?.errno == .noSuchFile
        if isMissing { problem = Self.problem(place, error) }
      }
    }
    throw problem ?? FileProblem(path, .noSuchFile)
  }

  private static func problem(_ place: PrivateDirectory, _ error: Errno) -> FileProblem {
    FileProblem(place.path, error, error == .notPermitted ? "it is not this user's alone; remove it" : nil)
  }

  // MARK: What nobody resumed

  /// Paths that this process has swept: once is enough, and it may take long.
  private static let swept = Mutex<Set<String>>([])

  private static func isFirst(_ path: String) -> Bool { swept.withLock { $0.insert(path).inserted } }

  /// Removes partial files that are too old and that nobody writes to.
  static func sweep(_ path: String, _ directory: CInt, now: Int64) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    for name in names where PartialFile.isName(name) {
      guard let file = try? FileSystem.open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, in: directory) else { continue }
      defer { FileSystem.close(file) }
      guard let status = try? FileSystem.status(of: file), status.kind == .regular, status.owner == geteuid(),
        status.modified < now - lifetime, (try? FileSystem.lock(file)) != nil
      else { continue }
      try? FileSystem.remove(name, in: directory)
    }
  }
}

import Glibc
import Synchronization
import WeirIO

/// The directory of incomplete bodies, which other users can't look into.
///
/// Its place is always the same, so resume data has to name only a file and can't lead elsewhere. In the shared
/// directory of temporary files, another user may have taken that place. Then the directory is in this user's caches
/// directory.
struct PartialDirectory: Sendable {
  /// Places, in the order in which they are tried.
  private let places: [PrivateDirectory]

  /// - Parameter path: The directory; nil means one of this user's in the system's temporary directory.
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

  /// Opens the directory, and makes it if it is missing. Returns its descriptor, which the caller closes, and its path.
  func make() throws(FileProblem) -> (descriptor: CInt, path: String) {
    var problem: FileProblem?
    for place in places {
      do throws(Errno) {
        let descriptor = try place.open(makingIt: true)
        place.sweepOnce(descriptor, PartialFile.isName)
        return (descriptor, place.path)
      } catch {
        problem = problem ?? Self.problem(place, error)
      }
    }
    throw problem ?? FileProblem(path, .noSuchFile)
  }

  /// The result of `find` for the first directory that has such a file. `find` gets a descriptor of the directory and
  /// its path.
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
}

/// Removes files left behind by processes that ended during a download; no process knows them any more, and they would
/// fill up the disk.
extension PrivateDirectory {
  /// An unlocked file counts as abandoned this many seconds after its last write.
  private static let lifetime: Int64 = 7 * 86_400
  /// Paths that this process has swept: once is enough, and it may take long.
  private static let swept = Mutex<Set<String>>([])

  /// Removes files that are too old and unlocked, on the process's first use of the directory.
  ///
  /// - Parameters:
  ///   - descriptor: The directory's descriptor.
  ///   - isOurs: Whether a file of that name may be removed.
  func sweepOnce(_ descriptor: CInt, _ isOurs: (String) -> Bool) {
    guard Self.swept.withLock({ $0.insert(path).inserted }) else { return }
    let now = Int64(Date().timeIntervalSince1970)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    for name in names where isOurs(name) {
      guard let file = try? FileSystem.open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, in: descriptor) else { continue }
      defer { FileSystem.close(file) }
      guard let status = try? FileSystem.status(of: file), status.kind == .regular, status.owner == geteuid(),
        status.modified < now - Self.lifetime, (try? FileSystem.lock(file)) != nil
      else { continue }
      try? FileSystem.remove(name, in: descriptor)
    }
  }
}

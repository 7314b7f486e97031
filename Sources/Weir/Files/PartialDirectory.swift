import Glibc
import WeirIO

/// Where bodies are kept until they are complete: a directory that nobody else may look into.
///
/// Its place is always the same, so that resume data has to name a file only and can lead nowhere else. In the directory of
/// all users' temporary files somebody else may have taken that place; then it is in the one for this user's caches.
struct PartialDirectory: Sendable {
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
        place.sweepOnce(descriptor, PartialFile.isName)
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
}

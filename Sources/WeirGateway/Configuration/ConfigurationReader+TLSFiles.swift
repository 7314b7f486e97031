import WeirIO
import WeirTLS

extension ConfigurationReader {
  /// Reports what is wrong with the files of a TLS that is served. Files that are used are looked at by that TLS itself,
  /// so only those with problems are noted.
  ///
  /// - Parameter readers: The values that name the files.
  func check(_ files: TLSFiles, _ readers: [ConfigurationReader]) {
    let problems = findings.problems.count
    let marks = files.paths.map { ($0, FileMark(ofFile: $0)) }
    defer {
      if findings.problems.count > problems { for (path, mark) in marks { findings.reads?.note(path, mark) } }
    }
    var all: [[UInt8]] = []
    for (index, reader) in readers.enumerated() {
      do {
        all.append(try files.read(index))
      } catch {
        reader.report(error.description)
      }
    }
    guard all.count == readers.count else { return }
    do throws(TLSFilesProblem) {
      let settings = try files.settings(of: all)
      do {
        _ = try TLSServerContext(settings)
      } catch {
        throw files.problem(error)
      }
    } catch {
      (error.file.map { readers[$0] } ?? self).report(error.description)
    }
  }
}

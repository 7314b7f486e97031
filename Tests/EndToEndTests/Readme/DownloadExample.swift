import Foundation
import Weir

/// The example of docs/bodies.md, compiled: what stands between the marks stands there, word for word.
func downloadExample(session: Session, url: String, file: URL) async throws -> URL {
  // Downloads begin
  let place: DownloadRequest.Destination = { _, _ in
    (file, [.createIntermediateDirectories, .removePreviousFile])
  }
  var response = await session.download(url, to: place).validate().serializingDownloadedFileURL().response
  for _ in 0..<5 {
    guard let data = response.resumeData else { break }
    response = await session.download(resumingWith: data, to: place).validate()
      .serializingDownloadedFileURL().response
  }
  return try response.result.get()
  // Downloads end
}

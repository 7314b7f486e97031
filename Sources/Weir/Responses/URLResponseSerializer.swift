public import Foundation
public import FoundationNetworking

/// Gives the URL of a downloaded file.
public struct URLResponseSerializer: DownloadResponseSerializerProtocol {
  public init() {}

  public func serializeDownload(
    request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
  ) throws -> URL {
    if let error { throw error }
    guard let fileURL else { throw WeirError.responseSerializationFailed(reason: .inputFileNil) }
    return fileURL
  }
}

extension DownloadResponseSerializerProtocol where Self == URLResponseSerializer {
  /// Gives the URL of the downloaded file.
  public static var url: URLResponseSerializer { URLResponseSerializer() }
}

// A program that imports Weir gets the types of its signatures: URLRequest, HTTPURLResponse, URLError, Data, URL. So do
// all files of this module, which need not import these three modules.
@_exported public import Foundation
@_exported public import FoundationNetworking
import WeirCurl
// Destinations, retry budgets and other values of the transport are part of this interface.
@_exported public import WeirTransport

/// Facts about this build of the library.
public enum WeirInfo {
  /// The version, as it appears in the default `User-Agent`.
  public static let version = "0.2.0"

  /// The version of libcurl that the process has loaded.
  public static var libcurlVersion: String { CurlLibrary.version }
}

/// A result whose failure is a ``WeirError``.
public typealias WeirResult<Success> = Result<Success, WeirError>

/// A data response whose failure is a ``WeirError``.
public typealias WeirDataResponse<Success: Sendable> = DataResponse<Success, WeirError>

/// A download response whose failure is a ``WeirError``.
public typealias WeirDownloadResponse<Success: Sendable> = DownloadResponse<Success, WeirError>

public import Foundation
@_exported public import Weir

// Names under which people who come from Alamofire know what Weir offers. Aliases only.

/// The default session.
public let AF = Session.default

/// `WeirError`.
public typealias AFError = WeirError
/// `WeirResult`.
public typealias AFResult<Success> = WeirResult<Success>
/// `WeirDataResponse`.
public typealias AFDataResponse<Success> = WeirDataResponse<Success> where Success: Sendable
/// `WeirDownloadResponse`.
public typealias AFDownloadResponse<Success> = WeirDownloadResponse<Success> where Success: Sendable
/// `WeirInfo`.
public typealias AFInfo = WeirInfo
/// `WeirNotifications`.
public typealias AlamofireNotifications = WeirNotifications

extension Error {
  /// This error as a `WeirError`, or nil when it is another one.
  public var asAFError: WeirError? { asWeirError }

  /// This error as a `WeirError`; traps with the message when it is another one.
  public func asAFError(
    orFailWith message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
  ) -> WeirError {
    asWeirError(orFailWith: message(), file: file, line: line)
  }
}

extension CharacterSet {
  /// What stands unescaped in a query.
  public static var afURLQueryAllowed: CharacterSet { .weirURLQueryAllowed }
}

extension SessionConfiguration {
  /// The namespace of `SessionConfiguration.af.default`.
  public static var af: SessionConfiguration.Type { SessionConfiguration.self }
}

// What is not offered, so that the compiler says why.

/// Not offered.
@available(*, unavailable, message: "A server's network is there, or its requests fail.")
public typealias NetworkReachabilityManager = Never
/// Not offered.
@available(*, unavailable, message: "A server's network is there, or its requests fail: use RetryPolicy.")
public typealias OfflineRetrier = Never
/// Not offered.
@available(*, unavailable, message: "The engine is libcurl: use EventMonitor, RedirectHandler and the like.")
public typealias SessionDelegate = Never
/// Not offered.
@available(*, unavailable, message: "WebSocket is out of weir's scope.")
public typealias WebSocketRequest = Never
/// Not offered.
@available(*, unavailable, message: "Use CustomCATrustEvaluator or PublicKeysTrustEvaluator.")
public typealias PinnedCertificatesTrustEvaluator = Never
/// Not offered.
@available(*, unavailable, message: "Revocation was looked up by Security.framework.")
public typealias RevocationTrustEvaluator = Never

public import Foundation
@_exported public import Weir

// Alamofire's names for types of Weir, for people who come from Alamofire. They are only aliases.

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
  /// This error as a `WeirError`, or nil if it is not one.
  public var asAFError: WeirError? { asWeirError }

  /// This error as a `WeirError`; traps with the message if it is not one.
  public func asAFError(
    orFailWith message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
  ) -> WeirError {
    asWeirError(orFailWith: message(), file: file, line: line)
  }
}

extension CharacterSet {
  /// The characters that stay unescaped in a query.
  public static var afURLQueryAllowed: CharacterSet { .weirURLQueryAllowed }
}

extension SessionConfiguration {
  /// The namespace of `SessionConfiguration.af.default`.
  public static var af: SessionConfiguration.Type { SessionConfiguration.self }
}

// Alamofire's types that have no counterpart. Each says why in a compiler message.

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

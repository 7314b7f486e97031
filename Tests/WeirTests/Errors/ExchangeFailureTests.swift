import Foundation
import FoundationNetworking
import Testing
import WeirCurl
import WeirTransport

@testable import Weir

/// What the transport says of a failure, and what the errors say that are made of it, is one and the same.
@Suite struct ExchangeFailureTests {
  private static let texts = [
    "Connection refused", "", "at http://u:secret@h/p?key=1 and on", "why? because (timeoutIntervalForRequest)",
  ]

  private static let rejections: [Rejection] =
    [.circuitOpen(retryAfter: nil), .circuitOpen(retryAfter: 4.25), .queueFull, .admissionTimeout, .noEndpoint]
    + ShedReason.allCases.map { .overloaded(reason: $0, retryAfter: 1) }

  private static let failures: [ExchangeFailure] =
    FailureCode.allCases.flatMap { code in texts.map { .transfer(TransferFailure(code, $0)) } }
    + rejections.map { .rejected($0) } + [.cancelled, .ended]

  private static func error(of failure: ExchangeFailure) -> WeirError {
    switch failure {
    case .transfer(let failure): .sessionTaskFailed(error: URLError(failure, url: URL(string: "http://h/")))
    case .rejected(let rejection): .requestRejected(reason: .init(rejection))
    // Only forwarded requests fail so.
    case .unauthenticated: .requestAdaptationFailed(error: AuthenticationError.missingCredential)
    case .cancelled: .explicitlyCancelled
    case .ended: .sessionInvalidated(error: nil)
    }
  }

  @Test(arguments: failures)
  func anErrorSaysWhatTheFailureSays(failure: ExchangeFailure) {
    let error = Self.error(of: failure)
    #expect(error.label == failure.label)
    #expect(error.cause == failure.cause)
    for status in [nil, 200, 503] {
      #expect(RequestOutcome(error: error, status: status) == RequestOutcome(failure, status: status))
    }
  }

  @Test func whatIsKnownOfATransferIsKnownOfItsError() throws {
    for code in FailureCode.allCases {
      for (isRefused, isDefect) in [(false, false), (true, false), (false, true)] {
        var failure = TransferFailure(code, "no luck")
        if isRefused { failure.facts.formUnion([.destinationRefused, .ofProxy]) }
        if isDefect { failure.facts.insert(.ownDefect) }
        failure.proxyKind = isDefect ? .proxyRefused : nil
        let error = URLError(failure, url: nil)
        #expect(error.failureCode == code)
        #expect(error.isDestinationRefused == isRefused)
        #expect(error.isOwnDefect == failure.isOwnDefect)
        #expect(error.proxyLabel == failure.proxyLabel && error.isOfProxy == failure.isOfProxy)
        #expect(WeirError.sessionTaskFailed(error: error).label == ExchangeFailure.transfer(failure).label)
      }
    }
  }

  // MARK: Codes

  /// The names are those of Foundation's codes, in snake case.
  private static let labels: [(URLError.Code, String)] = [
    (.unknown, "unknown"), (.cancelled, "cancelled"), (.badURL, "bad_url"), (.timedOut, "timed_out"),
    (.unsupportedURL, "unsupported_url"), (.cannotFindHost, "cannot_find_host"),
    (.cannotConnectToHost, "cannot_connect_to_host"), (.networkConnectionLost, "network_connection_lost"),
    (.dnsLookupFailed, "dns_lookup_failed"), (.httpTooManyRedirects, "http_too_many_redirects"),
    (.resourceUnavailable, "resource_unavailable"), (.notConnectedToInternet, "not_connected_to_internet"),
    (.redirectToNonExistentLocation, "redirect_to_non_existent_location"), (.badServerResponse, "bad_server_response"),
    (.userCancelledAuthentication, "user_cancelled_authentication"),
    (.userAuthenticationRequired, "user_authentication_required"), (.zeroByteResource, "zero_byte_resource"),
    (.cannotDecodeRawData, "cannot_decode_raw_data"), (.cannotDecodeContentData, "cannot_decode_content_data"),
    (.cannotParseResponse, "cannot_parse_response"),
    (.appTransportSecurityRequiresSecureConnection, "app_transport_security_requires_secure_connection"),
    (.fileDoesNotExist, "file_does_not_exist"), (.fileIsDirectory, "file_is_directory"),
    (.noPermissionsToReadFile, "no_permissions_to_read_file"),
    (.dataLengthExceedsMaximum, "data_length_exceeds_maximum"), (.secureConnectionFailed, "secure_connection_failed"),
    (.serverCertificateHasBadDate, "server_certificate_has_bad_date"),
    (.serverCertificateUntrusted, "server_certificate_untrusted"),
    (.serverCertificateHasUnknownRoot, "server_certificate_has_unknown_root"),
    (.serverCertificateNotYetValid, "server_certificate_not_yet_valid"),
    (.clientCertificateRejected, "client_certificate_rejected"),
    (.clientCertificateRequired, "client_certificate_required"), (.cannotLoadFromNetwork, "cannot_load_from_network"),
    (.cannotCreateFile, "cannot_create_file"), (.cannotOpenFile, "cannot_open_file"),
    (.cannotCloseFile, "cannot_close_file"), (.cannotWriteToFile, "cannot_write_to_file"),
    (.cannotRemoveFile, "cannot_remove_file"), (.cannotMoveFile, "cannot_move_file"),
    (.downloadDecodingFailedMidStream, "download_decoding_failed_mid_stream"),
    (.downloadDecodingFailedToComplete, "download_decoding_failed_to_complete"),
    (.internationalRoamingOff, "international_roaming_off"), (.callIsActive, "call_is_active"),
    (.dataNotAllowed, "data_not_allowed"), (.requestBodyStreamExhausted, "request_body_stream_exhausted"),
    (.backgroundSessionRequiresSharedContainer, "background_session_requires_shared_container"),
    (.backgroundSessionInUseByAnotherProcess, "background_session_in_use_by_another_process"),
    (.backgroundSessionWasDisconnected, "background_session_was_disconnected"),
  ]

  @Test func codesHaveFoundationsNumbersAndNames() {
    for (code, label) in Self.labels {
      #expect(FailureCode(rawValue: code.rawValue)?.label == label)
      #expect(WeirError.sessionTaskFailed(error: URLError(code)).label == label)
    }
    #expect(Self.labels.count == FailureCode.allCases.count)
  }

  @Test func thereAreAsManyCodesAsFoundationHas() {
    let numbers = (-10_000...10_000).filter { URLError.Code(rawValue: $0) != nil }
    #expect(Set(FailureCode.allCases.map(\.rawValue)) == Set(numbers))
  }
}

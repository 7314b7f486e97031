import Foundation
import FoundationNetworking
import Testing
import WeirCurl

@testable import Weir

/// What libcurl says of TLS and tunnels, in Foundation's terms.
@Suite struct TransferErrorMappingTests {
  private let advice = TransferAdvice(configuration: SessionConfiguration())

  @Test(arguments: [
    (
      "OpenSSL SSL_read: OpenSSL/3.0.19: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0",
      URLError.Code.clientCertificateRequired as URLError.Code?
    ),
    ("OpenSSL SSL_read: error:0A000418:SSL routines::tlsv1 alert unknown ca, errno 0", .clientCertificateRejected),
    ("TLS connect error: error:0A000412:SSL routines::sslv3 alert bad certificate", .clientCertificateRejected),
    ("OpenSSL SSL_read: error:0A000415:SSL routines::sslv3 alert certificate expired", .clientCertificateRejected),
    ("TLS connect error: error:0A000410:SSL routines::sslv3 alert handshake failure", .secureConnectionFailed),
    ("OpenSSL SSL_read: error:0A00010B:SSL routines::wrong version number, errno 0", .secureConnectionFailed),
    ("OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof while reading, errno 0", nil),
    ("Recv failure: Connection reset by peer", nil),
    ("", nil),
  ])
  func textsOfTLS(text: String, code: URLError.Code?) {
    #expect(TLSFailure(text)?.code == code)
    let received = URLError(TransferError(.curl, code: .receiveError, message: text), url: nil, advice: advice)
    #expect(received.code == code ?? .networkConnectionLost)
    let connected = URLError(TransferError(.curl, code: .tlsConnect, message: text), url: nil, advice: advice)
    #expect(connected.code == code ?? .secureConnectionFailed)
  }

  @Test func aCertificateThatIsWantedHasACodeOfItsOwn() {
    let error = URLError(TransferError(.curl, code: .clientCertificateRequired, message: ""), url: nil, advice: advice)
    #expect(error.code == .clientCertificateRequired)
    #expect(RequestOutcome(error: .sessionTaskFailed(error: error), status: nil) == .tlsError)
  }

  @Test(arguments: [
    (301, URLError.Code.resourceUnavailable, false), (400, .resourceUnavailable, false),
    (403, .resourceUnavailable, false), (405, .resourceUnavailable, false),
    (407, .userAuthenticationRequired, false), (408, .cannotConnectToHost, true), (429, .cannotConnectToHost, true),
    (500, .cannotConnectToHost, true), (502, .cannotConnectToHost, true), (504, .cannotConnectToHost, true),
  ])
  func refusedTunnels(status: Int, code: URLError.Code, isRetryable: Bool) {
    let error = URLError(TransferError(.tunnelRefused(status: status), message: ""), url: nil, advice: advice)
    #expect(error.code == code)
    #expect(RetryPolicy.defaultRetryableURLErrorCodes.contains(error.code) == isRetryable)
    #expect(RequestOutcome(error: .sessionTaskFailed(error: error), status: nil) == .transportError)
  }
}

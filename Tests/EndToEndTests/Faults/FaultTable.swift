import Foundation
import Weir
import WeirCurl

/// All faults of Tests/Peers/faulty.py.
extension Fault {
  static let table = trust + handshakes + endings + http2

  /// Frames without end, which are met with in a test of their own.
  static let floods = ["window updates", "empty data", "priorities", "farewells"].map { "h2 flood of \($0)" }

  private static let trust: [Fault] = [
    .whole("certificate server"),
    .handshake("certificate expired", .serverCertificateHasBadDate),
    .handshake("certificate future", .serverCertificateNotYetValid),
    .handshake("certificate wrong-host", .serverCertificateUntrusted),
    .handshake("certificate foreign", .serverCertificateHasUnknownRoot),
    .handshake("certificate self-signed", .serverCertificateHasUnknownRoot),
    .handshake("version 1.0", .secureConnectionFailed),
    .handshake("version 1.1", .secureConnectionFailed),
    // The alert has no name of its own before TLS 1.3 (RFC 8446 section 6.2), and comes after the handshake from there on.
    .handshake("client certificate 1.2", .secureConnectionFailed),
    Fault("client certificate 1.3", .failed(.clientCertificateRequired, .tlsError)),
  ]

  private static let handshakes: [Fault] = [
    .handshake("handshake hangs", .timedOut, patience: 0.5),
    .handshake("handshake hangs within a record", .timedOut, patience: 0.5),
    .handshake("handshake garbage", .secureConnectionFailed),
    .handshake("handshake in plain HTTP", .secureConnectionFailed),
    .handshake("handshake closed", .secureConnectionFailed),
    .handshake("handshake reset", .secureConnectionFailed),
    .handshake("handshake alert", .secureConnectionFailed),
  ]

  private static let endings: [Fault] = [
    .whole("length whole, notified"),
    .whole("length whole, bare"),
    .whole("length whole, reset"),
    .whole("length whole, garbage"),
    .lost("length short, notified"),
    .lost("length short, bare"),
    .lost("length short, reset"),
    .broken("length short, garbage"),
    .whole("chunked whole, notified"),
    .whole("chunked whole, bare"),
    .whole("chunked whole, reset"),
    .whole("chunked whole, garbage"),
    .lost("chunked short, notified"),
    .lost("chunked short, bare"),
    .lost("chunked short, reset"),
    .broken("chunked short, garbage"),
    // Only close_notify tells the end from a cut (RFC 9112 section 9.8).
    .delimited("close-delimited, notified", .whole),
    .delimited("close-delimited, bare", .lost),
    .delimited("close-delimited, reset", .lost),
    .delimited("close-delimited, garbage", .failed(.secureConnectionFailed, .tlsError)),
    .lost("half a head, notified"),
    .lost("half a head, bare"),
    .lost("half a head, reset"),
    .broken("half a head, garbage"),
    .lost("nothing, notified"),
    .lost("nothing, bare"),
    .lost("nothing, reset"),
    .broken("nothing, garbage"),
  ]

  private static let http2: [Fault] = [
    .whole("h2 whole"),
    .lost("h2 reset before the head, no error"),
    .lost("h2 reset before the head, internal error"),
    .lost("h2 reset before the head, refused"),
    .lost("h2 reset before the head, cancel"),
    .lost("h2 reset in the body, no error"),
    .lost("h2 reset in the body, internal error"),
    .lost("h2 reset in the body, refused"),
    .lost("h2 reset in the body, cancel"),
    Fault("h2 reset in a body of unknown length, no error", .lost) {
      $0.isKnownIssue = true
    },
    .lost("h2 reset in a body of unknown length, internal error"),
    .lost("h2 reset in a body of unknown length, refused"),
    .lost("h2 reset in a body of unknown length, cancel"),
    Fault("h2 reset of a stream that nobody opened, in a body of unknown length", .lost) {
      $0.isKnownIssue = true
    },
    .whole("h2 reset after the whole response"),
    .whole("h2 HTTP/1.1 required before the head"),
    .whole("h2 HTTP/1.1 required after an interim head"),
    .lost("h2 HTTP/1.1 required after the head"),
    .lost("h2 HTTP/1.1 required in a body of unknown length"),
    .lost("h2 reset in a body that can be resumed"),
    .lost("h2 goaway of the request, no error"),
    .lost("h2 goaway of the request, calm down"),
    .lost("h2 goaway of the request, protocol error"),
    .lost("h2 goaway of the request, then silence"),
    .whole("h2 goaway, then the response"),
    .lost("h2 goaway in the body, then the end"),
    .lost("h2 end in the body, notified"),
    .lost("h2 end in the body, bare"),
    .lost("h2 end in the body, reset"),
    .lost("h2 end in a body of unknown length, notified"),
    .lost("h2 end in a body of unknown length, bare"),
    .lost("h2 end in a body of unknown length, reset"),
    .lost("h2 end before the head, notified"),
    .lost("h2 end before the head, bare"),
    .lost("h2 end before the head, reset"),
    .lost("h2 end of stream before the length"),
    .lost("h2 more than the length"),
    .stalled("h2 stall before the settings"),
    .stalled("h2 stall before the head"),
    .stalled("h2 stall in the head"),
    .stalled("h2 stall in the body"),
    .stalled("h2 stall without a window") { $0.sendsBody = true },
    .lost("h2 garbage for settings"),
    .lost("h2 garbage in the middle"),
    .lost("h2 frame larger than allowed"),
    .lost("h2 data of a stream that nobody opened"),
    .lost("h2 header block that is no HPACK"),
    .malformed("h2 head without a status"),
    Fault("h2 status below 100", .failed(.badServerResponse, .transportError)),
    .lost("h2 status of four digits"),
    .lost("h2 status twice"),
    .malformed("h2 status after a field"),
    .lost("h2 field name with a capital"),
    .lost("h2 field value with a line end"),
    .lost("h2 field of a connection"),
    .lost("h2 lengths that disagree"),
    .whole("h2 trailers"),
    .lost("h2 trailers with a status"),
    .whole("h2 padded"),
    .tooLarge("h2 header bomb by the dynamic table", older: .networkConnectionLost),
    .lost("h2 header bomb by continuations"),
    Fault("h2 header bomb by many responses", .failed(.dataLengthExceedsMaximum, .limitExceeded)),
    .lost("h2 trailer bomb"),
    .whole("h2 pings without end, then the response"),
    .lost("h2 push that was refused"),
  ]
}

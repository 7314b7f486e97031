import Testing
import Weir

@testable import WeirExporter

/// What servers and callers may write, and the few values that labels have.
@Suite struct LabelTests {
  @Test(
    arguments: [
      (nil, "GET"), ("GET", "GET"), ("HEAD", "HEAD"), ("POST", "POST"), ("PUT", "PUT"), ("PATCH", "PATCH"),
      ("DELETE", "DELETE"), ("OPTIONS", "OPTIONS"), ("TRACE", "TRACE"), ("CONNECT", "CONNECT"), ("get", "_OTHER"),
      ("Post", "_OTHER"), ("QUERY", "QUERY"), ("query", "_OTHER"), ("PROPFIND", "_OTHER"), ("GET ", "_OTHER"),
      ("", "_OTHER"),
      ("_OTHER", "_OTHER"),
    ] as [(String?, String)])
  func method(name: String?, label: String) {
    #expect(MethodLabel.of(name) == label)
  }

  /// The names are those of URLSession's `networkProtocolName`.
  @Test(arguments: [
    ("http/1.0", "1.0"), ("http/1.1", "1.1"), ("h2", "2"), ("h3", "3"), ("", "1.1"), ("H2", "1.1"),
  ])
  func version(name: String, label: String) {
    #expect(VersionLabel.of(name) == label)
  }

  /// What is left of a status or an error where a destination has too many of them.
  @Test(arguments: [
    ("", ""), ("200", "2xx"), ("299", "2xx"), ("503", "5xx"), ("999", "9xx"), ("100", "1xx"), ("timed_out", "_other"),
    ("cancelled", "cancelled"), ("explicitly_cancelled", "cancelled"),
  ])
  func coarse(label: String, expected: String) {
    #expect(CoarseLabel.of(label) == expected)
  }

  @Test(
    arguments: [
      (nil, "identity"), ("", "identity"), ("identity", "identity"), ("gzip", "gzip"), ("GZip", "gzip"),
      ("x-gzip", "gzip"), ("deflate", "deflate"), ("br", "br"), ("zstd", "zstd"), ("gzip, br", "_other"),
      ("compress", "_other"), (" gzip", "_other"), ("made-up-\u{1}", "_other"),
    ] as [(String?, String)])
  func encoding(value: String?, label: String) {
    #expect(EncodingLabel.of(value) == label)
  }
}
